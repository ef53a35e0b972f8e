import Hermes

extension Hermes {
    /// Accounts: sign-up, what follows a change of name or address, what goes with a closed account.
    func accountRules() {
        beforeSave(Usuario.self, in: .transaction) { request in try await request.spoken { try await request.keep() } }
        beforeDelete(Usuario.self, in: .transaction, timeLimit: .seconds(60)) { request in
            try await request.closeAccount()
        }
        function("registrar") { request in try await request.spoken { try await request.register() } }
    }
}

extension SaveRequest<Usuario> {
    fileprivate func keep() async throws {
        if !isMaster, object.isChanged(\.clave) { object.revert("clave") }
        // Who has neither address nor password is an anonymous user, a stranger still.
        let hadAddress = !(original?.email ?? "").isEmpty
        try keepName(isOfMember: hadAddress)
        let address = object.email?.trimmed ?? ""
        guard !address.isEmpty || (isNew ? !setsPassword : !hadAddress && !setsPassword) else {
            throw Refusal(204, "Hace falta una dirección de correo.", "An email address is required.")
        }
        // Blanks make no other address of it.
        if changed(\.email), !address.isEmpty {
            // Where no mail can go, neither invitations nor a forgotten password arrive.
            guard isMaster ? address.words.count == 1 : address.isMailAddress else { throw Refusal.noAddress }
            object.email = address
        }
        if isNew {
            var acl = ACL(publicRead: true)
            acl.allow(.user(objectId), read: true, write: true)
            object.acl = acl
        } else if !isMaster, object.isChanged("ACL") {
            object.revert("ACL")
        }
        let user = Pointer<Usuario>(objectId)
        if !address.isEmpty, !hadAddress { try await rules.add(user, toRole: Roles.new) }
        if !isNew, changed(\.email) {
            try await rules.updateAll(Query(Persona.self).where(\.usuario == user)) {
                $0.Correo = address.lowercased()
            }
        }
    }
}

extension SaveRequest<Usuario> {
    /// A name is not blank, and blanks around it make no other one of it. All see it: who writes nothing does not
    /// change it.
    private func keepName(isOfMember: Bool) throws {
        guard let given = object.username else { return }
        if changed(\.username) {
            guard !given.isBlank else {
                throw Refusal(200, "Falta el nombre de usuario.", "The user name is missing.")
            }
            guard isMaster || isNew || !isOfMember || isMember else { throw Refusal.noMember }
            if !isMaster {
                try Limits.check(given.trimmed, "usuario", atMost: Limits.userName)
                // In an address these two are none.
                guard ![".", ".."].contains(given.trimmed) else { throw Refusal.wrong(["usuario"]) }
            }
            object.username = given.trimmed
        }
        object.clave = given.trimmed.lowercased()
    }
}

extension DeleteRequest<Usuario> {
    /// What is private goes; what was said stays, without its author.
    fileprivate func closeAccount() async throws {
        let user = try object.pointer
        try await rules.deleteAll(Query(Persona.self).where(\.usuario == user))
        try await rules.deleteAll(Query(Amistad.self).where(\.de == user || \.con == user))
        try await rules.deleteAll(Query(Aviso.self).where(\.para == user))
        try await rules.deleteAll(Query(Invitacion.self).where(\.de == user || \.destino == user))
        try await rules.deleteAll(Query(Intento.self).where(\.usuario == user))
        try await rules.deleteAll(Query(Borrado.self).where(\.usuario == user))
        for group in try await rules.find(
            Query(Conversacion.self).where(.contains(\.miembros, user) && \.esGrupo == true).select(\.miembros)
                .limit(10_000))
        {
            try await rules.leave(try group.pointer, user)
        }
        try await rules.deleteAll(Query(Lectura.self).where(\.usuario == user))
        try await rules.updateAll(Query(Tema.self).where(\.autor == user)) { $0.autor = nil }
        try await rules.updateAll(Query(Tema.self).where(\.ultimoAutor == user)) { $0.ultimoAutor = nil }
        try await rules.updateAll(Query(Comentario.self).where(\.usuario == user)) { $0.usuario = nil }
        try await rules.updateAll(Query(Denuncia.self).where(\.de == user)) { $0.de = nil }
        try await rules.updateAll(Query(Mensaje.self).where(\.autor == user)) { $0.autor = nil }
        try await rules.updateAll(Query(Conversacion.self).where(\.ultimoAutor == user)) { $0.ultimoAutor = nil }
        try await rules.updateAll(Query(Conversacion.self).where(\.creador == user)) { $0.creador = nil }
    }
}

extension FunctionRequest {
    /// The account, its Persona and a session: all of it or nothing.
    fileprivate func register() async throws -> Value {
        let names = ["usuario", "contraseña", "correo", "nombre", "movil", "ciudad"]
        var wrong = names.filter { params[$0]?.string?.isBlank ?? true }
        let number = params["movil"]?.string.flatMap(Persona.number)
        if number == nil, !wrong.contains("movil") { wrong.append("movil") }
        if let language = params["idioma"], !language.isNull, language.string.flatMap(Language.init) == nil {
            wrong.append("idioma")
        }
        if let surname = params["apellidos"], !surname.isNull, surname.string == nil { wrong.append("apellidos") }
        guard wrong.isEmpty, let number else { throw Refusal.wrong(wrong) }
        for name in ["nombre", "apellidos", "ciudad"] { try Limits.check(params[name]?.string, name) }
        var user = Record(Usuario.self)
        user.username = try text("usuario").trimmed
        user.email = try text("correo").trimmed.lowercased()
        user["password"] = .string(try text("contraseña"))
        var persona = Record(Persona.self)
        persona.Nombre = try text("nombre").trimmed
        persona.Apellidos = try optionalText("apellidos")?.trimmed
        persona.Correo = user.email
        persona.Movil = number
        persona.ciudad = try text("ciudad").trimmed
        persona.idioma = try optionalText("idioma")
        let (account, details) = (user, persona)
        do {
            return try await transaction { t in
                let signedUp = try await t.asNobody.signUp(account)
                var persona = details
                persona.belong(to: try signedUp.user.pointer)
                let saved = try await t.asMaster.pastHooks.save(persona)
                return [
                    "objectId": .string(try signedUp.user.pointer.objectId),
                    "username": .string(account.username ?? ""),
                    "sessionToken": .string(signedUp.sessionToken ?? ""),
                    "persona": .string(try saved.pointer.objectId),
                ]
            }
        } catch let error as ParseError {
            switch error.code {
            case 202:
                throw Refusal(202, "Ese nombre de usuario ya está cogido.", "That user name is taken.")
            case 203:
                throw Refusal(203, "Ya hay una cuenta con esa dirección.", "There is an account with that address.")
            case 125:
                throw Refusal.noAddress
            default: throw error
            }
        }
    }
}
