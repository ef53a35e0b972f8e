import Hermes

extension Hermes {
    func topicRules() {
        beforeSave(Tema.self, in: .transaction) { request in
            try await request.spoken {
                if request.isNew { try await request.open() } else { try await request.change() }
            }
        }
        beforeDelete(Tema.self, in: .transaction, timeLimit: .seconds(60)) { request in
            try await request.spoken { try await request.clear() }
        }
        memberFunction("abrirTema") { request, member in try await request.openTopic(member) }
    }
}

extension SaveRequest<Tema> {
    fileprivate func open() async throws {
        let tells = try object.takeTells()
        let now = Date()
        object.importado = isMaster ? true : nil
        if isMaster {
            object.comentarios = object.comentarios ?? 0
            object.ultimo = object.ultimo ?? now
            object.ultimoAutor = object.ultimoAutor ?? object.autor
        } else {
            let author = try writer()
            object.autor = author
            object.comentarios = 0
            object.ultimo = now
            object.ultimoAutor = author
            if !isModerator { object.fijado = false }
        }
        object.cerrado = try switching("cerrado")
        object.fijado = try switching("fijado")
        try await name()
        var rights = ACL(publicRead: true)
        if let author = object.autor { rights.allow(.user(author), write: true) }
        rights.allow(.role(Roles.moderator), write: true)
        object.acl = rights
        guard !isMaster, let author = object.autor else { return }
        try await rules.hold([author])
        let today = Query(Tema.self).where(
            \.autor == author && \.createdAt > now.addingTimeInterval(-86_400) && \.importado != true)
        let count = try await rules.made(today, by: author)
        if isNewMember, count >= Limits.topicsOfNewMembers {
            throw Refusal(
                141, "El primer día puedes abrir \(Limits.topicsOfNewMembers) temas.",
                "On your first day you can open \(Limits.topicsOfNewMembers) topics.")
        }
        if count >= Limits.topics {
            throw Refusal(
                141, "Puedes abrir \(Limits.topics) temas al día.", "You can open \(Limits.topics) topics a day."
            )
        }
        if tells { try await rules.tell("tema", of: objectId, in: Pointer(objectId), by: author) }
    }

    fileprivate func change() async throws {
        _ = try object.takeTells()
        if !isMaster {
            let isAuthor = original?.autor != nil && original?.autor == user(as: Usuario.self)
            for field in object.changedFields {
                switch field {
                case "ACL": object.revert("ACL")
                case "Tema" where isAuthor: break
                case "cerrado" where isAuthor || isModerator: break
                case "fijado" where isModerator: break
                default: throw Refusal.kept
                }
            }
            if !isMember { throw Refusal.noMember }
        }
        for field in ["cerrado", "fijado"] where object.isChanged(field) { object[field] = .bool(try switching(field)) }
        if object.isChanged(\.Tema) { try await name() }
    }

    /// false where it is not told.
    private func switching(_ field: String) throws -> Bool {
        guard let value = object[field], !value.isNull else { return false }
        guard let bool = value.bool else { throw Refusal.wrong([field]) }
        return bool
    }

    /// Tidies the name, and refuses one that another topic has.
    private func name() async throws {
        guard let given = object.Tema, !given.isBlank else { throw Refusal.wrong(["Tema"]) }
        let name = given.tidy
        guard name.count >= 6, !Limits.isLonger(name, than: Limits.topicName) else { throw Tema.wrongLength }
        let key = name.folded
        object.Tema = name
        object.clave = key
        // Who comes at the same moment waits, and is told which topic has it.
        if !isMaster { try await rules.lock(name: "tema \(key)") }
        if let other = try await rules.topic(named: key), other != objectId { throw Tema.taken(other) }
    }
}

extension Tema {
    static let wrongLength = Refusal(
        142, "El nombre del tema (Tema) debe tener entre 6 y 200 caracteres.",
        "The topic's name (Tema) must have between 6 and 200 characters.")

    static func taken(_ id: String) -> Refusal {
        Refusal(137, "Ya hay un tema con ese nombre: \(id)", "There is a topic with that name: \(id)")
    }

    /// Whether a message is the one of ``taken(_:)``.
    static func isTaken(_ message: String) -> Bool {
        let refusal = taken("")
        return message.hasPrefix(refusal.spanish) || message.hasPrefix(refusal.english)
    }
}

extension Record {
    /// Takes `avisar` away, which is stored nowhere: whether members are told, true unless it says otherwise.
    mutating func takeTells() throws -> Bool {
        guard isChanged("avisar") else { return true }
        let given = self["avisar"] ?? .null
        revert("avisar")
        guard !given.isNull else { return true }
        guard let tells = given.bool else { throw Refusal.wrong(["avisar"]) }
        return tells
    }
}

extension Database {
    func topic(named key: String) async throws -> String? {
        try await first(Query(Tema.self).where(\.clave == key).select("objectId"))?.objectId
    }
}

extension DeleteRequest<Tema> {
    /// Its comments go with it.
    fileprivate func clear() async throws {
        let topic = try object.pointer
        if !isMaster {
            guard isMember else { throw Refusal.noMember }
            if !isModerator, let me = user(as: Usuario.self) {
                let others = Query(Comentario.self).where(\.Tema == topic && \.usuario != me)
                guard try await rules.first(others) == nil else {
                    throw Refusal(
                        119, "Otros ya han comentado: el tema queda.", "Others have commented: the topic stays.")
                }
            }
        }
        try await rules.note(gone: [object], by: \.autor)
        let lately = Query(Comentario.self).where(\.Tema == topic && \.createdAt > Limits.aDayAgo)
        try await rules.note(
            gone: try await rules.find(lately.select(\.usuario, \.importado).limit(10_000)), by: \.usuario)
        try await rules.deleteAll(
            Query(Denuncia.self).where(.matches(\.comentario, Query(Comentario.self).where(\.Tema == topic))))
        try await rules.deleteAll(Query(Comentario.self).where(\.Tema == topic))
        try await rules.deleteAll(Query(Lectura.self).where(\.tema == topic))
    }
}

extension FunctionRequest {
    /// The topic and its first comment, or neither.
    fileprivate func openTopic(_ member: Pointer<Usuario>) async throws -> Value {
        let wrong = ["tema", "comentario"].filter { params[$0]?.string?.isBlank ?? true }
        guard wrong.isEmpty else { throw Refusal.wrong(wrong) }
        let (name, words) = (try text("tema"), try text("comentario"))
        let tells = try flag("avisar")
        do {
            return try await transaction { t in
                var topic = Record(Tema(Tema: name))
                topic["avisar"] = .bool(tells)
                let saved = try await t.save(topic)
                var comment = Record(Comentario(Tema: try saved.pointer, comentario: words))
                comment["avisar"] = false
                let first = try await t.save(comment)
                return [
                    "tema": .string(try saved.pointer.objectId), "comentario": .string(try first.pointer.objectId),
                ]
            }
        } catch let error as ParseError where error.code == 137 {
            // Of two at the same moment the index has refused this one.
            guard let other = try await rules.topic(named: name.tidy.folded) else { throw error }
            throw Tema.taken(other)
        }
    }
}
