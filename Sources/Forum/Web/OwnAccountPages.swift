import Hermes

extension Hermes {
    func ownAccountViews() {
        view("GET", "/ajustes/cuenta") { visit in try visit.ownAccount() }
        view("GET", "/ajustes/correo") { visit in try await visit.addressForm() }
        view("POST", "/ajustes/correo") { visit in try await visit.changeAddress() }
        view("GET", "/ajustes/clave") { visit in try visit.passwordForm() }
        view("POST", "/ajustes/clave") { visit in try await visit.changePassword() }
        view("POST", "/ajustes/datos") { visit in try await visit.ownData() }
        // Where somebody comes back to who had to log in first.
        view("GET", "/ajustes/datos") { _ in .redirect(to: "/ajustes/cuenta") }
        view("POST", "/ajustes/cuenta") { visit in try await visit.closeAccount() }
    }
}

extension Visit {
    /// What one does with an account as a whole.
    ///
    /// - Parameter asksForCode: the account has a second factor.
    fileprivate func ownAccount(_ fault: Fault? = nil, asksForCode: Bool = false) throws -> Page {
        let me = try requireMember()
        var leaf = Leaf(say("Tu cuenta", "Your account"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = doneText
        leaf.body = """
            <p class="buttons"><a class="button second" href="/ajustes/correo">\(say("Cambiar de correo", "Change your email"))</a> \
            <a class="button second" href="/ajustes/clave">\(say("Cambiar la contraseña", "Change your password"))</a></p>\
            <form class="card" method="post" action="/ajustes/datos">\(formToken)<h2>\(say("Tus datos", "Your data"))</h2>\
            <p>\(say("Todo lo que el foro guarda de ti, en un archivo (JSON).", "All that the forum keeps of you, in one file (JSON)."))</p>\
            <button class="second">\(say("Descargar mis datos", "Download my data"))</button></form>\
            <form class="card" method="post" action="/ajustes/cuenta">\(formToken)\(nameField(me.name))\
            <h2>\(say("Cerrar la cuenta", "Close the account"))</h2>\
            <p>\(say("Se borran tus datos, amistades, invitaciones y avisos, y sales de los grupos. Lo que has escrito en los temas y en las charlas se queda, sin tu nombre. No se puede deshacer.", "Your details, friendships, invitations and notices are deleted, and you leave your groups. What you have written in topics and chats stays, without your name. This cannot be undone."))</p>\
            \(passwordField)\(asksForCode ? codeField : .none)\
            <button class="bad">\(say("Cerrar la cuenta para siempre", "Close the account for good"))</button></form>\
            <p><a href="/ajustes">\(say("← Volver a los ajustes", "← Back to the settings"))</a></p>
            """
        return page(leaf)
    }

    /// The password that stands: a session alone, left open somewhere, does not take an account over.
    private var passwordField: HTML {
        input(
            "clave", say("Tu contraseña", "Your password"), type: "password",
            more: " autocomplete=\"current-password\" required")
    }

    /// Tells a browser's keeper of passwords whose they are.
    private func nameField(_ name: String) -> HTML {
        "<input type=\"hidden\" autocomplete=\"username\" name=\"usuario\" value=\"\(name)\">"
    }

    /// - Throws: a ``Fault`` (400) unless the member's own password came with the form.
    private func checkPassword(of me: (pointer: Pointer<Usuario>, name: String)) async throws {
        do {
            try await database.verifyPassword(username: me.name, password: field("clave"))
        } catch let error as ParseError where error.code == 101 {
            throw Fault(400, say("La contraseña no es correcta.", "The password is wrong."))
        } catch let error as ParseError where error.code == 205 {
            // It is right. Who has mistyped his address can't verify it, and must be able to put it right.
        }
    }

    // MARK: another address

    fileprivate func addressForm(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        var leaf = Leaf(say("Cambiar de correo", "Change your email"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        let standing = try await request.fetchUser(as: Usuario.self)?.email ?? ""
        let address = input(
            "correo", say("Correo nuevo", "New email"), value: field("correo"), type: "email",
            hint: say("Ahora es \(standing).", "Now it is \(standing)."), more: " autocomplete=\"email\" required")
        leaf.body = """
            <form class="card" method="post" action="/ajustes/correo">\(formToken)\(nameField(me.name))\
            \(address)\(passwordField)<button>\(say("Cambiar", "Change"))</button></form>\(wayBack)
            """
        return page(leaf)
    }

    fileprivate func changeAddress() async throws -> Page {
        let me = try requireMember()
        return try await attempt {
            try await checkPassword(of: me)
            var user = Record(me.pointer)
            user.email = field("correo").trimmed.lowercased()
            try await database.save(user)
            return .redirect(to: Visit.path("/ajustes/cuenta", done: "correo"))
        } otherwise: { fault in
            try await addressForm(fault)
        }
    }

    // MARK: another password

    fileprivate func passwordForm(_ fault: Fault? = nil) throws -> Page {
        let me = try requireMember()
        var leaf = Leaf(say("Cambiar la contraseña", "Change your password"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        let new = input(
            "nueva", say("Contraseña nueva", "New password"), type: "password",
            more: " autocomplete=\"new-password\" required")
        leaf.body = """
            <form class="card" method="post" action="/ajustes/clave">\(formToken)\(nameField(me.name))\
            \(passwordField)\(new)<button>\(say("Cambiar", "Change"))</button></form>\
            <p><a href="/recuperar">\(say("He olvidado la contraseña", "I forgot my password"))</a></p>\(wayBack)
            """
        return page(leaf)
    }

    fileprivate func changePassword() async throws -> Page {
        let me = try requireMember()
        return try await attempt {
            try await checkPassword(of: me)
            guard !field("nueva").isEmpty else {
                throw Fault(400, say("Falta la contraseña nueva.", "The new password is missing."))
            }
            var user = Record(me.pointer)
            user["password"] = .string(field("nueva"))
            let saved = try await database.save(user)
            // The session has ended with the old one; this is the next.
            return marked(
                .redirect(to: Visit.path("/ajustes/cuenta", done: "clave")), session: saved["sessionToken"]?.string)
        } otherwise: { fault in
            try passwordForm(fault)
        }
    }

    private var wayBack: HTML {
        "<p><a href=\"/ajustes/cuenta\">\(say("← Volver a tu cuenta", "← Back to your account"))</a></p>"
    }

    // MARK: the whole of it

    fileprivate func ownData() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            var file = Page(try await database.exportAccount(), type: "application/json; charset=utf-8")
            file.headers.append(("Content-Disposition", "attachment; filename=\"hermes-forum.json\""))
            return file
        } otherwise: { fault in
            try ownAccount(fault)
        }
    }

    fileprivate func closeAccount() async throws -> Page {
        _ = try requireMember()
        var asksForCode = request.form["codigo"] != nil
        return try await attempt {
            do {
                let code = field("codigo").filter { !$0.isWhitespace }
                try await database.deleteAccount(
                    password: field("clave"), authData: code.isEmpty ? [:] : ["mfa": ["token": .string(code)]])
                return withoutSession(.redirect(to: Visit.path("/", done: "cuenta")))
            } catch let error as ParseError {
                if error.code == -1 { asksForCode = true }
                guard error.code != 101 else {
                    throw Fault(400, say("La contraseña no es correcta.", "The password is wrong."))
                }
                throw Fault(error.code == -1 ? 403 : 400, Fault(error, self).message)
            }
        } otherwise: { fault in
            try ownAccount(fault, asksForCode: asksForCode)
        }
    }
}
