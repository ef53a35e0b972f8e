import Hermes

extension Hermes {
    func accountViews() {
        view("GET", "/entrar") { visit in visit.logInForm() }
        view("POST", "/entrar") { visit in try await visit.logIn() }
        view("POST", "/salir") { visit in try await visit.logOut() }
        view("GET", "/registro") { visit in visit.signUpForm() }
        view("POST", "/registro") { visit in try await visit.signUp() }
        view("GET", "/recuperar") { visit in visit.recoveryForm() }
        view("POST", "/recuperar") { visit in try await visit.recover() }
        view("GET", "/confirmar") { visit in visit.verificationForm() }
        view("POST", "/confirmar") { visit in try await visit.requestVerification() }
    }
}

extension Visit {
    /// Where it goes on after the form.
    private var goesOn: String { Visit.local(request.form["a"] ?? request.query["a"]) }

    private var goesOnField: HTML { hidden("a", goesOn) }

    private func hidden(_ name: String, _ value: String) -> HTML {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
    }

    // MARK: log in

    /// For the second factor.
    var codeField: HTML {
        input(
            "codigo", say("Código", "Code"),
            hint: say(
                "El de seis cifras de tu aplicación, o uno de recuperación.",
                "The six digits of your app, or a recovery code."),
            more: " autocomplete=\"one-time-code\" autocapitalize=\"none\" spellcheck=\"false\" required")
    }

    /// The form's own fields.
    private static let logInFields: Set = ["usuario", "clave", "codigo", "prueba", "a", carries]
    /// Says that the form takes another one along, which the session's end has stopped.
    private static let carries = "lleva"

    /// - Parameters:
    ///   - asksForCode: the account has a second factor.
    ///   - isUnverified: the account waits for its address to be verified.
    ///   - other: the form that was sent to this page's path, and that the browser sends there again afterwards.
    func logInForm(
        _ fault: Fault? = nil, asksForCode: Bool = false, isUnverified: Bool = false,
        goingOnWith other: [String: String]? = nil
    ) -> Page {
        if member != nil, fault == nil { return .redirect(to: goesOn) }
        var leaf = Leaf(say("Entrar", "Log in"), isPrivate: true)
        leaf.place = "/entrar"
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        if isUnverified { leaf.errorLink = " \(anotherMail)" }
        leaf.done = doneText
        if query("hecho") == "confirma" { leaf.body = "<p>\(anotherMail)</p>" }
        let name = input(
            "usuario", say("Usuario o correo", "User name or email"), value: field("usuario"),
            more: " autocomplete=\"username\" autocapitalize=\"none\" required")
        let password = input(
            "clave", say("Contraseña", "Password"), type: "password",
            more: " autocomplete=\"current-password\" required")
        let code = asksForCode ? codeField : .none
        if fault == nil, request.user == nil, request.cookies[Visit.sessionCookie] != nil {
            let words = say("Tu sesión ha terminado: entra otra vez.", "Your session has ended: log in again.")
            leaf.body += "<p class=\"invite\" role=\"status\">\(words)</p>"
        }
        // Only the browser itself can send it again: the script stays away.
        var form: HTML = " data-log-in"
        var carried = goesOnField
        if let other {
            form = ""
            carried = hidden("a", request.form[Visit.carries] == nil ? request.path : goesOn)
            carried += hidden(Visit.carries, "1")
            for (name, value) in other.sorted(by: { $0.key < $1.key }) where !Visit.logInFields.contains(name) {
                carried += hidden(name, value)
            }
        }
        leaf.body += """
            <form class="card" method="post" action="/entrar"\(form)>\(formToken)\(carried)\(name)\(password)\(code)\
            <button>\(say("Entrar", "Log in"))</button></form>\
            <p><a href="/recuperar">\(say("He olvidado la contraseña", "I forgot my password"))</a> · \
            <a href="/registro?a=\(goesOn.inURL)">\(say("Registrarse", "Sign up"))</a></p>
            """
        return page(leaf)
    }

    fileprivate func logIn() async throws -> Page {
        // Once it was asked for it stays, whatever else is wrong.
        var asksForCode = request.form["codigo"] != nil
        var isUnverified = false
        let other = request.form[Visit.carries] == nil ? nil : request.form
        return try await attempt {
            do {
                let code = field("codigo").filter { !$0.isWhitespace }
                let logged = try await database.asNobody.logIn(
                    username: field("usuario").trimmed, password: field("clave"),
                    authData: code.isEmpty ? [:] : ["mfa": ["token": .string(code)]], as: Usuario.self)
                guard let token = logged.sessionToken else { throw ParseError(101, "Invalid username/password.") }
                var way = Page.redirect(to: goesOn)
                // With the same form. Its proof is of no session, so that it is shown before it counts.
                if other != nil { way.status = 307 }
                return marked(way, session: token)
            } catch let error as ParseError {
                if error.code == -1 { asksForCode = true }
                isUnverified = error.code == 205
                let fault = Fault(error, self)
                // There is such a page, and who is not let in has made a mistake.
                throw Fault(
                    [-1, 205].contains(error.code) ? 403 : error.code == 101 ? 400 : fault.status, fault.message)
            }
        } otherwise: { fault in
            logInForm(fault, asksForCode: asksForCode, isUnverified: isUnverified, goingOnWith: other)
        }
    }

    fileprivate func logOut() async throws -> Page {
        // The session has ended by itself: there is nothing that another site could end.
        guard request.user != nil else { return withoutSession(.redirect(to: "/")) }
        try checkForm()
        try await database.logOut()
        return withoutSession(.redirect(to: "/"))
    }

    // MARK: sign up

    fileprivate func signUpForm(_ fault: Fault? = nil) -> Page {
        if member != nil, fault == nil { return .redirect(to: goesOn) }
        var leaf = Leaf(say("Registrarse", "Sign up"), isPrivate: true)
        leaf.place = "/registro"
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        func field(
            _ name: String, _ label: String, _ type: String, _ completion: String, hint: String? = nil,
            more: HTML = " required"
        ) -> HTML {
            let value = type == "password" ? "" : self.field(name)
            return input(
                name, label, value: value, type: type, hint: hint, more: " autocomplete=\"\(completion)\"\(more)")
        }
        let fields: [HTML] = [
            field(
                "usuario", say("Nombre de usuario", "User name"), "text", "username",
                hint: say("Lo ven todos.", "Everybody sees it."),
                more: " required autocapitalize=\"none\" maxlength=\"60\""),
            field(
                "correo", say("Correo", "Email"), "email", "email",
                hint: say("No lo ve nadie más que tus amigos.", "Nobody but your friends sees it.")),
            field("clave", say("Contraseña", "Password"), "password", "new-password"),
            field("nombre", say("Nombre", "First name"), "text", "given-name"),
            field("apellidos", say("Apellidos (si quieres)", "Last name (optional)"), "text", "family-name", more: ""),
            field(
                "movil", say("Móvil", "Mobile number"), "tel", "tel",
                hint: say(
                    "De 6 a 15 cifras, con o sin prefijo (+34). Lo ven solo tus amigos.",
                    "6 to 15 digits, with or without a prefix (+44). Only your friends see it."),
                more: " required pattern=\"\\+?[0-9 \\-]{6,20}\""),
            field("ciudad", say("Ciudad", "City"), "text", "address-level2"),
        ]
        leaf.body = """
            <form class="card" method="post" action="/registro">\(formToken)\(goesOnField)\(fields)\
            <p class="hint">\(say("Al registrarte aceptas las", "By signing up you accept the")) \
            <a href="/normas">\(say("normas", "netiquette"))</a>.</p>\
            <button>\(say("Registrarse", "Sign up"))</button></form>\
            <p>\(say("¿Ya tienes cuenta?", "Do you have an account already?")) \
            <a href="/entrar?a=\(goesOn.inURL)">\(say("Entrar", "Log in"))</a></p>
            """
        return page(leaf)
    }

    fileprivate func signUp() async throws -> Page {
        try await attempt {
            var parameters: [String: Value] = [
                "contraseña": .string(field("clave")), "idioma": .string(language.rawValue),
            ]
            for name in ["usuario", "correo", "nombre", "apellidos", "movil", "ciudad"] {
                parameters[name] = .string(field(name))
            }
            let result = try await database.asNobody.call("registrar", parameters)
            guard let token = result?["sessionToken"]?.string, !token.isEmpty else {
                // The server lets nobody in before his address is verified.
                return .redirect(to: Visit.path("/entrar?a=\(goesOn.inURL)", done: "confirma"))
            }
            return marked(.redirect(to: goesOn), session: token)
        } otherwise: { fault in
            signUpForm(fault)
        }
    }

    /// The rules name fields as the API has them; a form has labels.
    func labelled(_ message: String) -> String {
        let labels = [
            ("usuario", "usuario", "user name"), ("contraseña", "contraseña", "password"),
            ("correo", "correo", "email"), ("nombre", "nombre", "first name"), ("apellidos", "apellidos", "last name"),
            ("movil", "móvil", "mobile number"), ("ciudad", "ciudad", "city"), ("idioma", "idioma", "language"),
            ("tema", "tema", "topic"), ("comentario", "comentario", "comment"), ("cuerpo", "mensaje", "message"),
            ("miembros", "amigos", "friends"), ("invitacion", "invitación", "invitation"),
        ]
        return labels.reduce(message.replacing(" (Tema)", with: "")) { text, label in
            let shown = language.choose(label.1, label.2)
            return text.replacing(label.0.prefix(1).uppercased() + label.0.dropFirst(), with: shown)
                .replacing(label.0, with: shown)
        }
    }

    // MARK: mails that are asked for

    /// A form that has a mail sent to an account's address.
    ///
    /// - Parameter sent: what it says once it was sent; nil before.
    private func mailForm(_ title: String, at path: String, _ fault: Fault?, sent: String?) -> Page {
        var leaf = Leaf(title, isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = sent
        guard sent == nil else {
            leaf.body = "<p><a class=\"button\" href=\"/entrar\">\(say("Volver a entrar", "Back to log in"))</a></p>"
            return page(leaf)
        }
        let address = input(
            "correo", say("El correo de tu cuenta", "The email of your account"), value: field("correo"), type: "email",
            more: " autocomplete=\"email\" required")
        leaf.body = """
            <form class="card" method="post" action="\(path)">\(formToken)\(address)\
            <button>\(say("Mandarme un enlace", "Send me a link"))</button></form>
            """
        return page(leaf)
    }

    fileprivate func recoveryForm(_ fault: Fault? = nil, sent: String? = nil) -> Page {
        mailForm(say("Recuperar la contraseña", "Recover your password"), at: "/recuperar", fault, sent: sent)
    }

    fileprivate func recover() async throws -> Page {
        try await attempt {
            try await database.asNobody.requestPasswordReset(email: field("correo").trimmed)
            return recoveryForm(
                sent: say(
                    "Si hay una cuenta con esa dirección, el correo está en camino. Abre su enlace para elegir otra contraseña.",
                    "If there is an account with that address, a mail is on its way. Open its link to choose another password."
                ))
        } otherwise: { fault in
            recoveryForm(fault)
        }
    }

    /// Leads who could not log in to the form for another mail.
    private var anotherMail: HTML {
        "<a href=\"/confirmar\">\(say("Pedir otro correo", "Ask for another mail"))</a>"
    }

    fileprivate func verificationForm(_ fault: Fault? = nil, sent: String? = nil) -> Page {
        mailForm(say("Confirmar tu correo", "Confirm your email"), at: "/confirmar", fault, sent: sent)
    }

    fileprivate func requestVerification() async throws -> Page {
        try await attempt {
            try await database.asNobody.requestEmailVerification(email: field("correo").trimmed.lowercased())
            return verificationForm(
                sent: say(
                    "Si esa dirección espera que la confirmes, el correo está en camino. Abre su enlace y entra.",
                    "If that address waits to be confirmed, a mail is on its way. Open its link and log in."))
        } otherwise: { fault in
            verificationForm(fault)
        }
    }
}
