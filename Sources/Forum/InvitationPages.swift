import Hermes

/// The page behind an invitation's link: it works without the app and without a session. Who holds the link has shown
/// that the address is his.
extension Hermes {
    func invitationPages() {
        page("GET", "/invitacion") { request in
            guard let invitation = try await request.invitation() else { return try await request.unknown() }
            let page = try await InvitationPage(request, invitation)
            return page.page(page.isOpen ? .question : page.standing)
        }
        page("POST", "/invitacion") { request in
            guard let invitation = try await request.invitation() else { return try await request.unknown() }
            let page = try await InvitationPage(request, invitation)
            let state: String
            switch request.form["respuesta"] {
            case "aceptar": state = "aceptada"
            case "rechazar": state = "rechazada"
            default: return page.page(page.isOpen ? .question : page.standing)
            }
            guard page.isOpen else { return page.page(page.standing) }
            guard let member = try await request.addressee(invitation) else { return page.page(.noAccount) }
            let pointer = try invitation.pointer
            let settled = try await request.asMaster.transaction { t in
                try await t.pastHooks.settle(pointer, state, by: member)
            }
            return page.page(InvitationPage.Kind(state: settled))
        }
    }
}

extension PageRequest {
    /// A browser takes the token along in the page's address.
    fileprivate func invitation() async throws -> Record<Invitacion>? {
        guard let token = form["token"] ?? query["token"], !token.isEmpty else { return nil }
        return try await rules.first(Query(Invitacion.self).where(\.token == Secrets.digest(token)))
    }

    /// Who has the address that the mail went to.
    fileprivate func addressee(_ invitation: Record<Invitacion>) async throws -> Pointer<Usuario>? {
        guard let address = invitation.direccion else { return nil }
        return try await rules.account(of: address)
    }

    fileprivate func unknown() async throws -> Page {
        InvitationPage(language: await language()).page(.unknown, status: 404)
    }
}

private struct InvitationPage {
    enum Kind {
        case question, accepted, declined, expired, noAccount, unknown

        init(state: String) {
            switch state {
            case "aceptada": self = .accepted
            case "rechazada": self = .declined
            default: self = .expired
            }
        }
    }

    let language: Language
    var sender = ""
    var topic: String?
    var words: String?
    var token = ""
    var isOpen = false
    var standing = Kind.unknown

    init(language: Language) { self.language = language }

    init(_ request: PageRequest, _ invitation: Record<Invitacion>) async throws {
        let addressee = try await request.addressee(invitation)
        // As the mail was: in the language of who was invited, or of who invited him.
        var known: Language?
        if let reader = addressee ?? invitation.de { known = try await request.rules.language(of: reader) }
        if let known { language = known } else { language = await request.language() }
        if let from = invitation.de {
            sender =
                try await request.rules.first(
                    Query(Usuario.self).where(Name("objectId") == .string(from.objectId)).select(\.username))?.username
                ?? ""
        }
        if let met = invitation.tema {
            topic = try await request.rules.first(
                Query(Tema.self).where(Name("objectId") == .string(met.objectId)).select(\.Tema))?.Tema
        }
        words = invitation.mensaje
        token = request.form["token"] ?? request.query["token"] ?? ""
        let state = invitation.estado ?? ""
        let isPast = invitation.caduca.map { $0 <= Date() } ?? true
        isOpen = state == "pendiente" && !isPast
        standing = Kind(state: state)
    }

    private var title: String {
        switch self.kind {
        case .question: language.choose("\(sender) quiere ser tu amigo", "\(sender) wants to be your friend")
        case .accepted: language.choose("Ya sois amigos", "You are friends now")
        case .declined: language.choose("Invitación rechazada", "Invitation declined")
        case .expired: language.choose("La invitación ha caducado", "The invitation has expired")
        case .noAccount: language.choose("Te falta una cuenta", "You need an account")
        case .unknown: language.choose("Esta invitación no existe", "There is no such invitation")
        }
    }

    private var kind = Kind.question

    func page(_ kind: Kind, status: Int = 200) -> Page {
        var page = self
        page.kind = kind
        return .html(page.html, style: InvitationPage.style, status: status)
    }

    private var body: String {
        switch kind {
        case .question:
            let met = topic.map {
                "<p>\(language.choose("Os habéis visto en el tema", "You met in the topic")) "
                    + "<b>\($0.escapedForHTML)</b>.</p>"
            }
            let said = words.map { "<blockquote>\($0.escapedForHTML.replacing("\n", with: "<br>"))</blockquote>" }
            return (met ?? "") + (said ?? "") + """
                <form method="post" action="/invitacion?token=\(token.escapedForHTML)">\
                <button name="respuesta" value="aceptar">\(language.choose("Aceptar", "Accept"))</button>\
                <button class="second" name="respuesta" value="rechazar">\
                \(language.choose("Rechazar", "Decline"))</button></form>
                """
        case .accepted:
            return "<p>\(language.choose("Tú y", "You and")) <b>\(sender.escapedForHTML)</b> "
                + language.choose("ya podéis charlar en el foro.", "can now talk in the forum.") + "</p>"
                + wayOn("/amigos", "Ver a tus amigos", "See your friends")
        case .declined:
            return "<p>\(language.choose("No se lo decimos a", "We do not tell")) "
                + "<b>\(sender.escapedForHTML)</b>.</p>" + wayToTopics
        case .expired:
            let name = "<b>\(sender.escapedForHTML)</b>"
            return "<p>"
                + language.choose(
                    "Las invitaciones valen 30 días. Pídele otra a \(name).",
                    "Invitations hold for 30 days. Ask \(name) for another one.") + "</p>" + wayToTopics
        case .noAccount:
            return "<p>"
                + language.choose(
                    "Para ser amigo de \(sender.escapedForHTML) regístrate en el foro con esta dirección de correo y abre "
                        + "otra vez el enlace. La invitación te espera.",
                    "To be friends with \(sender.escapedForHTML), sign up in the forum with this email address and open the "
                        + "link again. The invitation waits for you.") + "</p><p><a href=\"/registro?a=\(comeBack)\">"
                + language.choose("Registrarse", "Sign up") + "</a></p>"
        case .unknown:
            return "<p>"
                + language.choose(
                    "Comprueba que el enlace está entero.", "Check that the link is complete.") + "</p>" + wayToTopics
        }
    }

    private func wayOn(_ path: String, _ spanish: String, _ english: String) -> String {
        "<p><a href=\"\(path)\">\(language.choose(spanish, english))</a></p>"
    }

    private var wayToTopics: String { wayOn("/", "Ver los temas", "See the topics") }

    /// Where the forum leads who has signed up.
    private var comeBack: String { "/invitacion?token=\(token)".inURL }

    private var html: String {
        """
        <!doctype html>
        <html lang="\(language.rawValue)"><head><meta charset="utf-8">\
        <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">\
        <title>\(title.escapedForHTML) · Hermes Forum</title><style>\(InvitationPage.style)</style></head>
        <body><main><p class="app">Hermes Forum</p><h1>\(title.escapedForHTML)</h1>\(body)</main></body></html>

        """
    }

    private static let style = """
        :root{color-scheme:light dark}*{box-sizing:border-box}\
        body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;\
        font:1.05rem/1.5 system-ui,sans-serif;background:#f4f6f8;color:#17212b}\
        main{width:100%;max-width:26rem;background:#fff;border-radius:.75rem;padding:2rem;box-shadow:0 1px 3px #0003;\
        overflow-wrap:anywhere}h1{margin:0 0 .75rem;font-size:1.4rem;line-height:1.25}p{margin:0 0 1rem}\
        .app{margin:0 0 1.5rem;font-weight:600;color:#3b5568}\
        blockquote{margin:0 0 1.5rem;padding:.5rem 1rem;border-left:4px solid #0b5c8a}\
        button{width:100%;font:inherit;font-weight:600;padding:.7rem;margin:0 0 .75rem;border:2px solid #0b5c8a;\
        border-radius:.4rem;background:#0b5c8a;color:#fff;cursor:pointer}a{color:#0b5c8a;font-weight:600}.second{background:none;color:#0b5c8a}\
        :focus-visible{outline:3px solid #e08a00;outline-offset:2px}\
        @media(prefers-color-scheme:dark){body{background:#10161c;color:#e6edf3}main{background:#1a232c}\
        .app{color:#9fb8c9}button{background:#5cb8ea;border-color:#5cb8ea;color:#08202f}\
        .second{background:none;color:#5cb8ea}a{color:#5cb8ea}}
        """
}
