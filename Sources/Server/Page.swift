import Wire

/// The pages that mails lead to, in Spanish and English: plain HTML that needs no script.
enum Page: String, CaseIterable, Sendable {
    case passwordReset, passwordResetSuccess, passwordResetLinkInvalid
    case emailVerificationSuccess, emailVerificationLinkInvalid, emailVerificationLinkExpired
    case emailVerificationSendSuccess, emailVerificationSendFail

    /// As it lies below the pages' path, by the reference's names: `password_reset.html`.
    var file: String {
        var name = ""
        for letter in rawValue {
            if letter.isUppercase { name += "_" }
            name += letter.lowercased()
        }
        return name + ".html"
    }

    static let byFile = Dictionary(uniqueKeysWithValues: allCases.map { ($0.file, $0) })

    enum Language: String, Sendable {
        case spanish = "es"
        case english = "en"

        /// The first of those that a reader asks for (`es-MX,es;q=0.9,en;q=0.8`) that the pages have.
        init(asked: String?, fallback: Language) {
            let tags = (asked ?? "").split(separator: ",").enumerated().map { index, part -> (String, Double, Int) in
                let sides = part.split(separator: ";")
                let tag = sides.first.map { $0.split(separator: " ").joined().lowercased() } ?? ""
                let quality = sides.dropFirst().compactMap { side -> Double? in
                    let text = side.split(separator: " ").joined()
                    return text.hasPrefix("q=") ? Double(text.dropFirst(2)) : nil
                }.first
                return (tag, quality ?? 1, index)
            }
            let best = tags.sorted { ($0.1, -$0.2) > ($1.1, -$1.2) }.lazy.filter { $0.1 > 0 }
                .compactMap { Language(rawValue: String($0.0.prefix { $0 != "-" })) }.first
            self = best ?? fallback
        }
    }

    private struct Text {
        let title: String
        let body: String
        /// Said where there is no page to lead on to.
        var alone = ""
    }

    private func text(_ language: Language) -> Text {
        switch (self, language) {
        case (.passwordReset, .spanish):
            Text(title: "Elige una contraseña nueva", body: "Al guardarla se cierran tus sesiones abiertas.")
        case (.passwordReset, .english):
            Text(title: "Choose a new password", body: "Saving it ends the sessions that you have open.")
        case (.passwordResetSuccess, .spanish):
            Text(title: "Contraseña cambiada", body: "Ya puedes entrar con tu contraseña nueva.")
        case (.passwordResetSuccess, .english):
            Text(title: "Your password was changed", body: "You can log in with the new one now.")
        case (.passwordResetLinkInvalid, .spanish):
            Text(
                title: "Este enlace ya no vale",
                body: "Puede que lo hayas usado ya o que haya caducado.", alone: "Pide otro desde la aplicación.")
        case (.passwordResetLinkInvalid, .english):
            Text(
                title: "This link no longer works",
                body: "It may have been used already, or be too old.",
                alone: "Ask for another one in the application.")
        case (.emailVerificationSuccess, .spanish):
            Text(title: "Dirección confirmada", body: "Gracias: tu dirección de correo queda confirmada.")
        case (.emailVerificationSuccess, .english):
            Text(title: "Address confirmed", body: "Thank you: your e-mail address is confirmed.")
        case (.emailVerificationLinkInvalid, .spanish):
            Text(
                title: "Este enlace no vale",
                body: "Quizá tu dirección esté confirmada ya. Si no, escribe tu nombre de usuario y te mandamos otro.")
        case (.emailVerificationLinkInvalid, .english):
            Text(
                title: "This link does not work",
                body: "Your address may be confirmed already. If not, write your user name and we send another one.")
        case (.emailVerificationLinkExpired, .spanish):
            Text(title: "Este enlace ha caducado", body: "Te mandamos otro a la misma dirección.")
        case (.emailVerificationLinkExpired, .english):
            Text(title: "This link is too old", body: "We send another one to the same address.")
        case (.emailVerificationSendSuccess, .spanish):
            Text(title: "Correo enviado", body: "Mira tu buzón: si la cuenta existe, el enlace está en camino.")
        case (.emailVerificationSendSuccess, .english):
            Text(title: "Mail sent", body: "Look at your inbox: if there is such an account, the link is on its way.")
        case (.emailVerificationSendFail, .spanish):
            Text(
                title: "No se ha enviado nada",
                body: "No hay ninguna cuenta con esos datos que espere una confirmación.")
        case (.emailVerificationSendFail, .english):
            Text(title: "Nothing was sent", body: "No account with these data waits to be confirmed.")
        }
    }

    /// What the page is about, beside its text.
    struct Contents {
        var appName = ""
        var language = Language.english
        /// Of the link that led here.
        var token: String?
        var username: String?
        /// Why the last try failed.
        var error: String?
        /// Where the page's form goes.
        var action = ""
        /// The application's own pages.
        var accountPages: (logIn: String, recovery: String)?
    }

    /// A link to what comes next.
    private func wayOn(_ contents: Contents) -> String {
        let isSpanish = contents.language == .spanish
        let way: (path: String, words: String)
        switch (self, contents.accountPages) {
        case (.passwordResetSuccess, let pages?), (.emailVerificationSuccess, let pages?):
            way = (pages.logIn, isSpanish ? "Entrar" : "Log in")
        case (.passwordResetLinkInvalid, let pages?):
            way = (pages.recovery, isSpanish ? "Pedir otro enlace" : "Ask for another link")
        default: return ""
        }
        return "<p><a href=\"\(way.path.htmlEscaped)\">\(way.words)</a></p>"
    }

    /// The one style sheet, allowed by its digest in the pages' Content-Security-Policy.
    static let style = """
        :root{color-scheme:light dark}*{box-sizing:border-box}\
        body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;\
        font:1.05rem/1.5 system-ui,sans-serif;background:#f4f6f8;color:#17212b}\
        main{width:100%;max-width:26rem;background:#fff;border-radius:.75rem;padding:2rem;\
        box-shadow:0 1px 3px #0003}h1{margin:0 0 .75rem;font-size:1.4rem;line-height:1.25}p{margin:0 0 1rem}\
        .app{margin:0 0 1.5rem;font-weight:600;color:#3b5568}label{display:block;margin:0 0 .35rem;font-weight:600}\
        input{width:100%;font:inherit;padding:.6rem .7rem;margin:0 0 1rem;border:1px solid #6b7c8a;border-radius:.4rem;\
        background:#fff;color:inherit}button{width:100%;font:inherit;font-weight:600;padding:.7rem;border:0;\
        border-radius:.4rem;background:#0b5c8a;color:#fff;cursor:pointer}a{color:#0b5c8a;font-weight:600}\
        :focus-visible{outline:3px solid #e08a00;outline-offset:2px}\
        .error{border-left:4px solid #b3261e;padding:.5rem .75rem;background:#fdecea;color:#7a1610}\
        @media(prefers-color-scheme:dark){body{background:#10161c;color:#e6edf3}main{background:#1a232c}\
        .app{color:#9fb8c9}input{background:#10161c;border-color:#8aa0b0}button{background:#5cb8ea;color:#08202f}a{color:#5cb8ea}\
        .error{background:#3b1512;color:#ffd9d4}}
        """

    func html(_ contents: Contents) -> String {
        let text = text(contents.language)
        let isSpanish = contents.language == .spanish
        var form = ""
        switch self {
        case .passwordReset:
            form = """
                <form method="post" action="\(contents.action.htmlEscaped)">\
                <input type="hidden" name="token" value="\((contents.token ?? "").htmlEscaped)">\
                <input type="hidden" name="username" autocomplete="username" \
                value="\((contents.username ?? "").htmlEscaped)">\
                <label for="new_password">\(isSpanish ? "Contraseña nueva" : "New password")</label>\
                <input id="new_password" name="new_password" type="password" autocomplete="new-password" required \
                autofocus><button>\(isSpanish ? "Guardar" : "Save")</button></form>
                """
        case .emailVerificationLinkInvalid:
            form = """
                <form method="post" action="\(contents.action.htmlEscaped)">\
                <label for="username">\(isSpanish ? "Nombre de usuario" : "User name")</label>\
                <input id="username" name="username" autocomplete="username" required>\
                <button>\(isSpanish ? "Mandar otro enlace" : "Send another link")</button></form>
                """
        case .emailVerificationLinkExpired:
            form = """
                <form method="post" action="\(contents.action.htmlEscaped)">\
                <input type="hidden" name="token" value="\((contents.token ?? "").htmlEscaped)">\
                <button>\(isSpanish ? "Mandar otro enlace" : "Send another link")</button></form>
                """
        default: break
        }
        let wayOn = wayOn(contents)
        let body = wayOn.isEmpty && !text.alone.isEmpty ? "\(text.body) \(text.alone)" : text.body
        let error = contents.error.map { "<p class=\"error\" role=\"alert\">\($0.htmlEscaped)</p>" } ?? ""
        return """
            <!doctype html>
            <html lang="\(contents.language.rawValue)"><head><meta charset="utf-8">\
            <meta name="viewport" content="width=device-width, initial-scale=1">\
            <meta name="robots" content="noindex"><title>\(text.title.htmlEscaped) · \(contents.appName.htmlEscaped)\
            </title><style>\(Page.style)</style></head>
            <body><main><p class="app">\(contents.appName.htmlEscaped)</p><h1>\(text.title.htmlEscaped)</h1>\
            <p>\(body.htmlEscaped)</p>\(error)\(form)\(wayOn)</main></body></html>

            """
    }
}
