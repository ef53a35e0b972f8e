import Hermes

extension Hermes {
    /// How far members have read.
    func reading() {
        memberFunction("leer") { request, member in
            if let id = try request.optionalText("tema") {
                let topic = Pointer<Tema>(id)
                try await request.transaction { t in
                    let rules = t.asMaster.pastHooks
                    let standing = try await rules.topic(topic)
                    try await rules.read(topic, by: member, upTo: standing.comentarios ?? 0)
                }
            } else if let id = try request.optionalText("conversacion") {
                try await request.transaction { t in
                    let rules = t.asMaster.pastHooks
                    let chat = try await rules.chat(id, of: member)
                    try await rules.read(chat, by: member)
                }
            } else {
                throw Refusal.wrong(["tema", "conversacion"])
            }
            return ["noLeidos": 0] as Value
        }
    }
}

extension Database {
    /// A member has read a topic's comments. The topic is held meanwhile.
    func read(_ topic: Pointer<Tema>, by member: Pointer<Usuario>, upTo count: Int) async throws {
        let own = try await first(Query(Lectura.self).where(\.usuario == member && \.tema == topic).select(\.vistos))
        var reading = own ?? Record(Lectura(usuario: member, tema: topic))
        if own == nil { reading.acl = ACL() }
        reading.vistos = count
        try await save(reading)
    }

    /// A member has read all of a conversation, which is held meanwhile.
    func read(_ chat: Record<Conversacion>, by member: Pointer<Usuario>) async throws {
        let pointer = try chat.pointer
        try await updateAll(Query(Lectura.self).where(\.usuario == member && \.conversacion == pointer)) {
            $0.noLeidos = 0
            $0.hasta = chat.numero ?? 0
        }
    }
}
