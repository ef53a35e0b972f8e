import Hermes

extension Record<Conversacion> {
    /// Members read and write; who has emptied it does not see it until somebody writes.
    mutating func allow(_ members: [Pointer<Usuario>], unseenBy hidden: Set<Pointer<Usuario>> = []) {
        var rights = ACL()
        for member in members { rights.allow(.user(member), read: !hidden.contains(member), write: true) }
        acl = rights
    }

    /// Members who have emptied it, and for whom nobody has written since.
    var unseen: Set<Pointer<Usuario>> {
        Set((self.miembros ?? []).filter { acl?.canRead(.user($0)) == false })
    }
}

extension Database {
    /// A conversation, held until the transaction ends.
    ///
    /// - Throws: 101 where there is none of this member.
    func chat(_ id: String, of member: Pointer<Usuario>) async throws -> Record<Conversacion> {
        let chat: Record<Conversacion>
        do { chat = try await lock(Pointer<Conversacion>(id)) } catch let error as ParseError where error.code == 101 {
            throw Refusal.notFound
        }
        guard chat.miembros?.contains(member) == true else { throw Refusal.notFound }
        return chat
    }

    /// A group, held likewise.
    ///
    /// - Throws: 141 for a conversation of two.
    func group(_ id: String, of member: Pointer<Usuario>) async throws -> Record<Conversacion> {
        let chat = try await chat(id, of: member)
        guard chat.esGrupo == true else {
            throw Refusal(141, "Es una conversación de dos.", "It is a conversation of two.")
        }
        return chat
    }

    func begin(_ chat: Record<Conversacion>, with members: [Pointer<Usuario>]) async throws -> Pointer<Conversacion> {
        var new = chat
        new.miembros = members
        new.ultimaFecha = Date()
        new.numero = 0
        new.allow(members)
        let pointer = try await save(new).pointer
        try await follow(pointer, members, from: 0)
        return pointer
    }

    /// From now on it is counted how much they have not read.
    func follow(_ chat: Pointer<Conversacion>, _ members: [Pointer<Usuario>], from number: Int) async throws {
        let readings = members.map { member in
            var reading = Record(Lectura(usuario: member, conversacion: chat, noLeidos: 0, hasta: number))
            reading.acl = ACL()
            return reading
        }
        try await createAll(readings, skippingDuplicates: true)
    }

    /// A member leaves a group; the last one takes it along.
    func leave(_ pointer: Pointer<Conversacion>, _ member: Pointer<Usuario>) async throws {
        let chat = try await chat(pointer.objectId, of: member)
        let left = (chat.miembros ?? []).filter { $0 != member }
        guard !left.isEmpty else { return try await end(pointer) }
        var change = Record(pointer)
        change.miembros = left
        change.allow(left, unseenBy: chat.unseen)
        try await save(change)
        try await updateAll(Query(Mensaje.self).where(\.conversacion == pointer), unreadable: [.user(member)])
        try await deleteAll(Query(Lectura.self).where(\.usuario == member && \.conversacion == pointer))
    }

    func end(_ chat: Pointer<Conversacion>) async throws {
        try await deleteAll(Query(Mensaje.self).where(\.conversacion == chat))
        try await deleteAll(Query(Lectura.self).where(\.conversacion == chat))
        try await delete(chat)
    }
}

extension Hermes {
    func conversations() {
        beforeSave(Conversacion.self) { request in try await request.spoken { try request.rename() } }
        memberFunction("conversar") { request, member in
            let name = try request.text("usuario")
            let other = try await request.rules.member(name).pointer
            return try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                // Both, so that two who begin at once have one.
                try await rules.hold([member, other])
                guard try await !rules.friends(of: member, among: [other]).isEmpty else { throw Refusal.noFriend(name) }
                let pair = [member.objectId, other.objectId].sorted().joined(separator: " ")
                if let known = try await rules.first(Query(Conversacion.self).where(\.pareja == pair).select(\.esGrupo))
                {
                    return ["conversacion": .string(try known.pointer.objectId), "nueva": false] as Value
                }
                let new = Record(Conversacion(esGrupo: false, creador: member, pareja: pair))
                let chat = try await rules.begin(new, with: [member, other])
                return ["conversacion": .string(chat.objectId), "nueva": true] as Value
            }
        }
        memberFunction("borrarConversacion") { request, member in
            let id = try request.text("conversacion")
            try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                let chat = try await rules.chat(id, of: member)
                let pointer = try chat.pointer
                var change = Record(pointer)
                change.allow(chat.miembros ?? [], unseenBy: chat.unseen.union([member]))
                try await rules.save(change)
                try await rules.updateAll(
                    Query(Mensaje.self).where(\.conversacion == pointer), unreadable: [.user(member)])
                try await rules.read(chat, by: member)
            }
            return [:] as Value
        }
    }
}

extension SaveRequest<Conversacion> {
    /// Members of a group change its name and its picture, and nothing else.
    fileprivate func rename() throws {
        guard !isMaster else { return }
        guard !isNew, isMember, original?.esGrupo == true else { throw Refusal.kept }
        for field in object.changedFields {
            switch field {
            case "ACL": object.revert("ACL")
            case "nombre":
                guard object.nombre?.isBlank == false else { throw Refusal.wrong(["nombre"]) }
                try Limits.check(object.nombre, "nombre")
            case "foto": guard object["foto"] == nil || object.foto != nil else { throw Refusal.wrong(["foto"]) }
            default: throw Refusal.kept
            }
        }
    }
}

// MARK: groups

extension Hermes {
    func groups() {
        memberFunction("crearGrupo") { request, member in
            let name = try request.text("nombre").trimmed
            try Limits.check(name, "nombre")
            let picture = request.params["foto"].flatMap { $0.isNull ? nil : $0 }
            guard picture == nil || picture?.file != nil else { throw Refusal.wrong(["foto"]) }
            let others = try await request.friends("miembros", of: member)
            guard !others.isEmpty else { throw Refusal.wrong(["miembros"]) }
            let new = Record(Conversacion(esGrupo: true, creador: member, nombre: name, foto: picture?.file))
            let group = try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                try await rules.hold(member, andFriends: others)
                return try await rules.begin(new, with: [member] + others)
            }
            return ["conversacion": .string(group.objectId)] as Value
        }
        memberFunction("añadir") { request, member in
            let id = try request.text("conversacion")
            let mine = Query(Conversacion.self)
                .where(Name("objectId") == .string(id)).where(.contains(\.miembros, member))
            guard try await request.rules.count(mine) > 0 else { throw Refusal.notFound }
            let others = try await request.friends("miembros", of: member)
            return try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                // Before the group, as whoever closes an account holds himself before he leaves it.
                try await rules.hold(member, andFriends: others)
                let group = try await rules.group(id, of: member)
                let before = group.miembros ?? []
                let new = others.filter { !before.contains($0) }
                guard !new.isEmpty else { return ["miembros": Value(before.count)] as Value }
                let pointer = try group.pointer
                var change = Record(pointer)
                change.miembros = before + new
                change.allow(before + new, unseenBy: group.unseen)
                try await rules.save(change)
                try await rules.updateAll(
                    Query(Mensaje.self).where(\.conversacion == pointer), readable: new.map { .user($0) })
                try await rules.follow(pointer, new, from: group.numero ?? 0)
                return ["miembros": Value(before.count + new.count)] as Value
            }
        }
        memberFunction("salir") { request, member in
            let id = try request.text("conversacion")
            try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                try await rules.leave(try await rules.group(id, of: member).pointer, member)
            }
            return [:] as Value
        }
        memberFunction("eliminarGrupo") { request, member in
            let id = try request.text("conversacion")
            try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                let group = try await rules.group(id, of: member)
                guard group.creador == member else {
                    throw Refusal(119, "Solo puede quien lo creó.", "Only its creator can.")
                }
                try await rules.end(try group.pointer)
            }
            return [:] as Value
        }
    }
}

extension FunctionRequest {
    /// Members by their names, each once and the caller not: friends of the caller all.
    fileprivate func friends(_ parameter: String, of member: Pointer<Usuario>) async throws -> [Pointer<Usuario>] {
        guard let list = params[parameter]?.array, !list.isEmpty else { throw Refusal.wrong([parameter]) }
        let names = list.compactMap(\.string)
        guard names.count == list.count, names.count <= 10_000 else { throw Refusal.wrong([parameter]) }
        var users: [(name: String, pointer: Pointer<Usuario>)] = []
        for (name, user) in zip(names, try await rules.members(names)) {
            let pointer = try user.pointer
            if pointer != member, !users.contains(where: { $0.pointer == pointer }) { users.append((name, pointer)) }
        }
        let friends = try await rules.friends(of: member, among: users.map(\.pointer))
        for user in users where !friends.contains(user.pointer) { throw Refusal.noFriend(user.name) }
        return users.map(\.pointer)
    }
}
