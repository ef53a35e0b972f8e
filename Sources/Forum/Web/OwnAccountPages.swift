import Hermes

extension Hermes {
    func ownAccountViews() {
        view("GET", "/ajustes/cuenta") { visit in try visit.ownAccount() }
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
        let password = input(
            "clave", say("Contraseña", "Password"), type: "password",
            more: " autocomplete=\"current-password\" required")
        let name = "<input type=\"hidden\" autocomplete=\"username\" name=\"usuario\" value=\"\(me.name)\">" as HTML
        leaf.body = """
            <div class="card"><h2>\(say("Otra contraseña", "Another password"))</h2>\
            <p>\(say("Te mandamos un correo para elegirla.", "We send you a mail to choose it.")) \
            <a href="/recuperar">\(say("Pedir el correo", "Ask for the mail"))</a></p></div>\
            <form class="card" method="post" action="/ajustes/datos">\(formToken)<h2>\(say("Tus datos", "Your data"))</h2>\
            <p>\(say("Todo lo que el foro guarda de ti, en un archivo (JSON).", "All that the forum keeps of you, in one file (JSON)."))</p>\
            <button class="second">\(say("Descargar mis datos", "Download my data"))</button></form>\
            <form class="card" method="post" action="/ajustes/cuenta">\(formToken)\(name)\
            <h2>\(say("Cerrar la cuenta", "Close the account"))</h2>\
            <p>\(say("Se borran tus datos, amistades, invitaciones y avisos, y sales de los grupos. Lo que has escrito en los temas y en las charlas se queda, sin tu nombre. No se puede deshacer.", "Your details, friendships, invitations and notices are deleted, and you leave your groups. What you have written in topics and chats stays, without your name. This cannot be undone."))</p>\
            \(password)\(asksForCode ? codeField : .none)\
            <button class="bad">\(say("Cerrar la cuenta para siempre", "Close the account for good"))</button></form>\
            <p><a href="/ajustes">\(say("← Volver a los ajustes", "← Back to the settings"))</a></p>
            """
        return page(leaf)
    }

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
