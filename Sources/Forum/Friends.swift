import Hermes

extension Database {
    /// Which of these members are friends of one.
    func friends(of member: Pointer<Usuario>, among others: [Pointer<Usuario>]) async throws -> Set<Pointer<Usuario>> {
        guard !others.isEmpty else { return [] }
        let found = try await find(
            Query(Amistad.self).where(\.de == member && .isIn(\.con, others)).select(\.con).limit(others.count))
        return Set(found.compactMap(\.con))
    }

    /// Makes friends of two who are held: both rows, and both are told. Invitations that wait between them are answered.
    ///
    /// - Returns: false where they are friends already.
    @discardableResult
    func befriend(_ one: Pointer<Usuario>, _ other: Pointer<Usuario>) async throws -> Bool {
        guard try await friends(of: one, among: [other]).isEmpty else { return false }
        for (mine, theirs) in [(one, other), (other, one)] {
            var friendship = Record(Amistad(de: mine, con: theirs))
            var rights = ACL()
            rights.allow(.user(mine), read: true)
            friendship.acl = rights
            let saved = try await save(friendship)
            try await save(Record("amistad", of: try saved.pointer.objectId, to: mine, from: theirs))
        }
        let between =
            (\Invitacion.de == one && \Invitacion.destino == other)
            || (\Invitacion.de == other && \Invitacion.destino == one)
        try await updateAll(Query(Invitacion.self).where(\.estado == "pendiente" && between)) { $0.estado = "aceptada" }
        return true
    }
}

extension Hermes {
    func friendships() {
        memberFunction("buscarAmigo") { request, member in try await request.searchFriend(member) }
        memberFunction("amigos") { request, member in try await request.friends(member) }
        memberFunction("dejarAmistad") { request, member in
            let name = try request.text("usuario")
            let other = try await request.rules.member(name).pointer
            try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                try await rules.hold([member, other])
                let both =
                    (\Amistad.de == member && \Amistad.con == other) || (\Amistad.de == other && \Amistad.con == member)
                guard try await rules.deleteAll(Query(Amistad.self).where(both)) > 0 else { throw Refusal.notFound }
            }
            return [:] as Value
        }
    }
}

extension FunctionRequest {
    fileprivate func searchFriend(_ member: Pointer<Usuario>) async throws -> Value {
        let address = params["correo"].flatMap { $0.isNull ? nil : $0 }
        let number = params["movil"].flatMap { $0.isNull ? nil : $0 }
        guard (address == nil) != (number == nil) else { throw Refusal.wrong(["correo", "movil"]) }
        var query = Query(Persona.self)
        if let address {
            guard let text = address.string, !text.isBlank else { throw Refusal.wrong(["correo"]) }
            query = query.where(\.Correo == text.trimmed.lowercased())
        } else {
            guard let text = number?.string.flatMap(Persona.number) else { throw Refusal.wrong(["movil"]) }
            query = query.where(\.Movil == text)
        }
        try await countSearch(member)
        let found = try await rules.find(
            query.where(\.localizable == true || \.usuario == member).select(\.usuario).limit(2))
        guard found.count == 1, let other = found[0].usuario else { throw Refusal.notFound }
        guard other != member else { throw Refusal(141, "Eres tú.", "That is you.") }
        let user = try await rules.fetch(other)
        let isNew = try await transaction { t in
            let rules = t.asMaster.pastHooks
            try await rules.hold([member, other])
            return try await rules.befriend(member, other)
        }
        return [
            "objectId": .string(other.objectId), "username": .string(user.username ?? ""), "nueva": .bool(isNew),
        ]
    }

    /// Counts a try, which stands whatever comes of it.
    private func countSearch(_ member: Pointer<Usuario>) async throws {
        let isPast = try await transaction { t in
            let rules = t.asMaster.pastHooks
            try await rules.hold([member])
            let own = try await rules.first(Query(Intento.self).where(\.usuario == member))
            var tries = own ?? Record(Intento(usuario: member, desde: Date(), cuenta: 0))
            if own == nil { tries.acl = ACL() }
            if Date().timeIntervalSince(tries.desde ?? Date()) > 3600 {
                tries.desde = Date()
                tries.cuenta = 0
            }
            guard tries.cuenta ?? 0 < Limits.searches else { return true }
            tries.cuenta = (tries.cuenta ?? 0) + 1
            try await rules.save(tries)
            return false
        }
        if isPast {
            throw Refusal(
                141, "Demasiadas búsquedas: prueba dentro de una hora.", "Too many searches: try again in an hour.")
        }
    }

    fileprivate func friends(_ member: Pointer<Usuario>) async throws -> Value {
        let typed = try optionalText("texto")?.trimmed.folded
        let rows = try await rules.find(
            Query(Amistad.self).where(\.de == member).include("con").select("con.username").limit(10_000))
        let friends = rows.compactMap { $0.con?.object }
        let ids = rows.compactMap(\.con)
        guard !ids.isEmpty else { return [] }
        let details = try await rules.find(
            Query(Persona.self).where(.isIn(\.usuario, ids)).select(\.usuario, \.Nombre, \.Apellidos).limit(ids.count))
        let byUser = Dictionary(
            details.compactMap { persona in persona.usuario.map { ($0.objectId, persona) } },
            uniquingKeysWith: { first, _ in first })
        let present = try await rules.present(ids, within: .seconds(120))
        let listed: [(name: String, value: Value)] = friends.compactMap { friend in
            guard let id = friend.objectId, let username = friend.username else { return nil }
            let persona = byUser[id]
            if let typed {
                let texts = [username, persona?.Nombre, persona?.Apellidos].compactMap { $0?.folded }
                guard texts.contains(where: { $0.hasPrefix(typed) || $0.contains(" " + typed) }) else { return nil }
            }
            var value: [String: Value] = [
                "objectId": .string(id), "username": .string(username), "conectado": .bool(present.contains(id)),
            ]
            value["Nombre"] = persona?.Nombre.map { .string($0) }
            return (username.folded, .object(value))
        }
        return .array(listed.sorted { $0.name < $1.name }.map(\.value))
    }
}
