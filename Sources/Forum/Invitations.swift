import Hermes

extension Hermes {
    func invitations() {
        memberFunction("invitar") { request, member in try await request.invite(member) }
        memberFunction("aceptar") { request, member in try await request.answer(member, "aceptada") }
        memberFunction("rechazar") { request, member in try await request.answer(member, "rechazada") }
    }
}

/// Somebody whom a member invites.
private struct Guest: Sendable {
    /// nil: nobody has the address.
    var user: Pointer<Usuario>?
    var address: String
    /// The member was named; else only the address was given, and nothing may tell whose it is.
    var isNamed: Bool
}

extension FunctionRequest {
    fileprivate func invite(_ member: Pointer<Usuario>) async throws -> Value {
        let sender = try await rules.fetch(member)
        let guest = try await guest()
        let words = try optionalText("mensaje")?.trimmed
        var topic: Record<Tema>?
        if let id = try optionalText("tema") {
            topic = try await rules.first(Query(Tema.self).where(Name("objectId") == .string(id)).select(\.Tema))
            if topic == nil { throw Refusal.notFound }
        }
        guard guest.user != member, guest.address != sender.email else {
            throw Refusal(141, "No puedes invitarte.", "You cannot invite yourself.")
        }
        let language = try await language(of: guest)
        let site = siteURL
        let name = sender.username ?? ""
        let (met, text) = (topic, words)
        return try await transaction { t in
            let rules = t.asMaster.pastHooks
            try await rules.hold([member] + (guest.user.map { [$0] } ?? []))
            if let accepted = try await rules.acceptTheirs(member, guest) { return accepted }
            let silent = try await rules.checkInvitation(from: member, guest)
            let token = Secrets.token()
            var invitation = Record(
                Invitacion(
                    de: member, para: guest.isNamed ? guest.user : nil, correo: guest.isNamed ? nil : guest.address,
                    mensaje: text, tema: try met?.pointer, estado: "pendiente",
                    caduca: Date().addingTimeInterval(Limits.invitation), token: Secrets.digest(token),
                    destino: guest.user, direccion: guest.address))
            invitation.acl = ACL(publicRead: true)
            let saved = try await rules.save(invitation)
            let id = try saved.pointer.objectId
            if !silent {
                let mail = InvitationMail(
                    language: language, sender: name, topic: met?.Tema, words: text,
                    link: "\(site)/invitacion?token=\(token)")
                try await rules.sendMail(
                    to: guest.address, subject: mail.subject, text: mail.text, html: mail.html,
                    onBehalfOf: member.typed())
                if let user = guest.user {
                    var notice = Record("invitacion", of: id, to: user, from: member)
                    notice.tema = try met?.pointer
                    try await rules.save(notice)
                }
            }
            return ["invitacion": .string(id), "estado": "pendiente"]
        }
    }

    private func guest() async throws -> Guest {
        let name = params["usuario"].flatMap { $0.isNull ? nil : $0 }
        let address = params["correo"].flatMap { $0.isNull ? nil : $0 }
        guard (name == nil) != (address == nil) else { throw Refusal.wrong(["usuario", "correo"]) }
        if name != nil {
            let user = try await rules.member(try text("usuario"))
            return Guest(user: try user.pointer, address: user.email ?? "", isNamed: true)
        }
        let given = try text("correo").trimmed.lowercased()
        guard given.isMailAddress else { throw Refusal.noAddress }
        let user = try await rules.account(of: given)
        return Guest(user: user, address: given, isNamed: false)
    }

    /// The guest's, or the sender's where the guest has no account.
    private func language(of guest: Guest) async throws -> Language {
        guard let user = guest.user else { return await language() }
        return try await rules.language(of: user) ?? .english
    }
}

extension Database {
    func account(of address: String) async throws -> Pointer<Usuario>? {
        try await first(Query(Usuario.self).where(\.email == address).select("objectId"))?.pointer
    }

    func language(of user: Pointer<Usuario>) async throws -> Language? {
        try await first(Query(Persona.self).where(\.usuario == user).select(\.idioma))?.idioma.flatMap(Language.init)
    }

    /// Where the guest has invited the sender already, that one is accepted. Not for an address, whose owner the answer
    /// would tell.
    fileprivate func acceptTheirs(_ sender: Pointer<Usuario>, _ guest: Guest) async throws -> Value? {
        guard guest.isNamed, let user = guest.user else { return nil }
        guard
            let theirs = try await first(
                Query(Invitacion.self)
                    .where(\.de == user && \.destino == sender && \.estado == "pendiente" && \.caduca > Date()))
        else { return nil }
        var answer = Record(try theirs.pointer)
        answer.estado = "aceptada"
        try await save(answer)
        try await befriend(sender, user)
        return ["invitacion": .string(try theirs.pointer.objectId), "estado": "aceptada"]
    }

    /// - Returns: whether nothing is to be sent: the same two have an invitation that waits, or one that was refused, of
    ///   which the answer must not tell.
    fileprivate func checkInvitation(from sender: Pointer<Usuario>, _ guest: Guest) async throws -> Bool {
        let now = Date()
        if let user = guest.user, try await !friends(of: sender, among: [user]).isEmpty {
            throw Refusal(137, "Ya sois amigos.", "You are friends already.")
        }
        let today = Query(Invitacion.self).where(\.de == sender && \.createdAt > now.addingTimeInterval(-86_400))
        guard try await count(today) < Limits.invitations else {
            throw Refusal(
                141, "Se pueden mandar \(Limits.invitations) invitaciones al día.",
                "\(Limits.invitations) invitations can be sent in a day.")
        }
        var isSame = \Invitacion.direccion == guest.address
        if let user = guest.user { isSame = isSame || \Invitacion.destino == user }
        let earlier = try await find(
            Query(Invitacion.self).where(\.de == sender).where(isSame)
                .where(
                    (\.estado == "pendiente" && \.caduca > now)
                        || (\.estado == "rechazada" && \.updatedAt > now.addingTimeInterval(-Limits.invitation))
                )
                .limit(50))
        var isSilent = false
        for one in earlier {
            // One that was made in the other way says nothing that the sender may know.
            guard (one.correo == nil) == guest.isNamed else {
                isSilent = true
                continue
            }
            if one.estado == "pendiente" {
                throw Refusal(137, "Ya hay una invitación pendiente.", "There is a pending invitation already.")
            }
            throw Refusal(141, "Rechazó tu invitación hace poco.", "Your invitation was refused lately.")
        }
        return isSilent
    }
}

// MARK: answers

extension FunctionRequest {
    fileprivate func answer(_ member: Pointer<Usuario>, _ state: String) async throws -> Value {
        let id = try optionalText("invitacion")
        let token = try optionalText("token")
        guard (id == nil) != (token == nil) else { throw Refusal.wrong(["invitacion", "token"]) }
        var query = Query(Invitacion.self)
        if let id { query = query.where(Name("objectId") == .string(id)) }
        if let token { query = query.where(\.token == Secrets.digest(token)) }
        guard let found = try await rules.first(query) else { throw Refusal.notFound }
        guard found.de != member else {
            throw Refusal(119, "La has mandado tú.", "You have sent it yourself.")
        }
        if token != nil {
            let address = try await rules.fetch(member).email
            guard let address, address == found.direccion else { throw Refusal.notFound }
        } else if found.destino != member {
            throw Refusal.notFound
        }
        let pointer = try found.pointer
        let settled = try await transaction { t in
            try await t.asMaster.pastHooks.settle(pointer, state, by: member)
        }
        guard settled != "caducada" else {
            throw Refusal(141, "La invitación ha caducado.", "The invitation has expired.")
        }
        return ["invitacion": .string(pointer.objectId), "estado": .string(settled)]
    }
}

extension Database {
    /// Answers an invitation, unless it was answered.
    ///
    /// - Returns: what stands then.
    func settle(_ invitation: Pointer<Invitacion>, _ state: String, by member: Pointer<Usuario>) async throws -> String
    {
        let sender = try await fetch(invitation).de
        try await hold([member] + (sender.map { [$0] } ?? []))
        let standing: Record<Invitacion>
        do { standing = try await lock(invitation) } catch let error as ParseError where error.code == 101 {
            throw Refusal.notFound
        }
        guard standing.estado == "pendiente" else { return standing.estado ?? "" }
        guard let end = standing.caduca, end > Date() else { return "caducada" }
        var answer = Record(invitation)
        answer.estado = state
        answer.destino = member
        try await save(answer)
        if state == "aceptada", let sender { try await befriend(member, sender) }
        return state
    }
}

/// What an invited person reads.
struct InvitationMail {
    let language: Language
    let sender: String
    let topic: String?
    let words: String?
    let link: String

    var subject: String { language.choose("¿Quieres ser mi amigo?", "You want to be my friend?") }

    private var opening: String {
        guard let topic else {
            return language.choose("\(sender) te invita a ser su amigo.", "\(sender) invites you to be friends.")
        }
        return language.choose(
            "\(sender) te invita a ser su amigo. Os habéis visto en el tema «\(topic)».",
            "\(sender) invites you to be friends. You met in the topic “\(topic)”.")
    }

    private var message: String {
        words
            ?? language.choose(
                "Me gustaría que fuéramos amigos y charlar de viajes.",
                "I would like us to be friends and talk about journeys.")
    }

    private var closing: String {
        language.choose(
            "Para aceptar o rechazar, abre esta página; vale 30 días:",
            "To accept or decline, open this page; it holds for 30 days:")
    }

    var text: String { "\(opening)\n\n\(message)\n\n\(closing)\n\n\(link)\n" }

    var html: String {
        let message = message.escapedForHTML.replacing("\n", with: "<br>")
        return """
            <!doctype html><html lang="\(language.rawValue)"><body><p>\(opening.escapedForHTML)</p>\
            <blockquote>\(message)</blockquote><p>\(closing.escapedForHTML)</p>\
            <p><a href="\(link.escapedForHTML)">\(link.escapedForHTML)</a></p></body></html>
            """
    }
}
