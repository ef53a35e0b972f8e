import Hermes

extension Persona {
    /// A telephone number without blanks and dashes; nil for what is none: `+` or none, 6 to 15 digits.
    static func number(_ text: String) -> String? {
        let bare = text.unicodeScalars.filter { !$0.properties.isWhitespace && $0 != "-" }
        let digits = bare.first == "+" ? bare.dropFirst() : bare[...]
        guard (6...15).contains(digits.count), digits.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
        return String(String.UnicodeScalarView(bare))
    }
}

extension Record<Persona> {
    /// Fills in what the server keeps of a new one.
    mutating func belong(to user: Pointer<Usuario>) {
        self.usuario = user
        self.avisos = self.avisos ?? true
        self.localizable = self.localizable ?? true
        allow()
    }

    /// The owner writes, members read.
    mutating func allow() {
        var rights = ACL()
        if let owner = self.usuario { rights.allow(.user(owner), read: true, write: true) }
        for role in Roles.ofMembers { rights.allow(.role(role), read: true) }
        acl = rights
    }
}

extension Hermes {
    func personaRules() {
        beforeSave(Persona.self) { request in try await request.spoken { try await request.check() } }
        afterFind(Persona.self) { request in try await request.showFriends() }
    }
}

extension SaveRequest<Persona> {
    fileprivate func check() async throws {
        guard !object.isChanged("Password") else {
            throw Refusal(
                142, "Password no se guarda aquí: la contraseña es de la cuenta.",
                "Password is not kept here: it belongs to the account.")
        }
        // Others read it.
        guard isMaster || isMember else { throw Refusal.noMember }
        if isNew { try await checkOwner() } else { try checkKept() }
        var wrong: [String] = []
        for (name, value) in [("Nombre", object.Nombre), ("ciudad", object.ciudad)]
        where (isNew || object.isChanged(name)) && value?.isBlank ?? true {
            wrong.append(name)
        }
        if isNew || object.isChanged(\.Movil) {
            if let number = object.Movil.flatMap(Persona.number) {
                object.Movil = number
            } else {
                wrong.append("Movil")
            }
        }
        if object.isChanged(\.idioma), object["idioma"] != nil, object.idioma.flatMap(Language.init) == nil {
            wrong.append("idioma")
        }
        for name in ["avisos", "localizable"] where !isNew && object.isChanged(name) && object[name]?.bool == nil {
            wrong.append(name)
        }
        if try await !isAddressRight() { wrong.append("Correo") }
        guard wrong.isEmpty else { throw Refusal.wrong(wrong) }
        for name in ["Nombre", "Apellidos", "ciudad"] where object.isChanged(name) && !isMaster {
            try Limits.check(object[name]?.string, name)
        }
        if isNew, let owner = object.usuario { object.belong(to: owner) } else if !isNew { object.revert("ACL") }
    }

    private func checkOwner() async throws {
        guard !isMaster else {
            guard object.usuario != nil else { throw Refusal.wrong(["usuario"]) }
            return
        }
        let owner = try writer()
        guard object["usuario"] == nil || object.usuario == owner else {
            throw Refusal(119, "Nadie rellena la ficha de otro.", "Nobody fills in another's details.")
        }
        object.usuario = owner
    }

    private func checkKept() throws {
        if !isMaster, object.isChanged(\.usuario) { throw Refusal.kept }
    }

    /// It is the account's, whatever case is sent.
    private func isAddressRight() async throws -> Bool {
        guard isNew || object.isChanged(\.Correo), let owner = object.usuario else { return true }
        if isMaster, isNew, object["Correo"] == nil {
            object.Correo = try await rules.fetch(owner).email
            return true
        }
        guard let given = object.Correo, !given.isBlank else { return false }
        let address = try await rules.fetch(owner).email?.lowercased()
        guard given.trimmed.lowercased() == address else { return false }
        object.Correo = address
        return true
    }
}

extension FoundRequest<Persona> {
    /// Friends see addresses and numbers, which nobody else but the owner does.
    fileprivate func showFriends() async throws {
        guard let me = user(as: Usuario.self), query.shows("Correo") || query.shows("Movil") else { return }
        let ids = objects.filter { $0.Correo == nil }.compactMap(\.objectId)
        guard !ids.isEmpty else { return }
        let whole = try await rules.find(
            Query(Persona.self).where(.isIn("objectId", ids.map { .string($0) }))
                .select(\.usuario, \.Correo, \.Movil).limit(ids.count))
        let friends = try await rules.friends(of: me, among: whole.compactMap(\.usuario))
        guard !friends.isEmpty else { return }
        let shown = Dictionary(whole.map { ($0.objectId ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        objects = objects.map { object in
            guard let persona = shown[object.objectId ?? ""], let owner = persona.usuario, friends.contains(owner)
            else {
                return object
            }
            var object = object
            if query.shows("Correo") { object.Correo = persona.Correo }
            if query.shows("Movil") { object.Movil = persona.Movil }
            return object
        }
    }
}
