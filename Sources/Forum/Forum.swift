public import Hermes

/// Hermes Forum: a forum for people who plan journeys. Anyone reads; members open topics, comment, and invite strangers
/// whom they meet there; friends chat. Its rules are hooks on the server's own path of writes, so they hold whichever way
/// a write takes.
public enum Forum {
    /// The application, ready to run or to start.
    public static func application() -> Hermes {
        let app = Hermes()
        app.prefers([
            "appName": "Hermes Forum", "convertEmailToLowercase": true, "caseInsensitiveLogIn": true,
            "allowClientClassCreation": false, "enforcePrivateUsers": false,
        ])
        app.notesPresence()
        app.defineClasses()
        app.atStart { request in
            try await request.makeRoles()
            try await request.seedRules()
        }
        app.language { user, database in
            try await database.pastHooks.first(
                Query(Persona.self).where(\.usuario == user.typed()).select(\.idioma))?.idioma
        }
        app.accountRules()
        app.personaRules()
        app.topicRules()
        app.commentRules()
        app.flagging()
        app.noticeRules()
        app.friendships()
        app.invitations()
        app.invitationPages()
        app.conversations()
        app.messageRules()
        app.groups()
        app.reading()
        app.jobs()
        app.web()
        return app
    }
}
