import Hermes

extension Hermes {
    func commentRules() {
        beforeSave(Comentario.self, in: .transaction) { request in
            try await request.spoken {
                if request.isNew { try await request.write() } else { try await request.change() }
            }
        }
        beforeDelete(Comentario.self, in: .transaction) { request in
            try await request.spoken { try await request.takeBack() }
        }
    }
}

extension Comentario {
    /// Who reads and changes one: all, its author, moderators; hidden, moderators, and its author reads it.
    static func rights(of author: Pointer<Usuario>?, isHidden: Bool) -> ACL {
        var rights = ACL(publicRead: !isHidden)
        if let author { rights.allow(.user(author), read: true, write: !isHidden) }
        rights.allow(.role(Roles.moderator), read: true, write: true)
        return rights
    }
}

// MARK: writing

extension SaveRequest<Comentario> {
    fileprivate func write() async throws {
        let tells = try object.takeTells()
        let now = Date()
        var author: Pointer<Usuario>?
        object.importado = isMaster ? true : nil
        if isMaster {
            author = object.usuario
            object.fecha = object.fecha ?? now
        } else {
            author = try writer()
            object.usuario = author
            object.fecha = now
            object.editado = nil
        }
        var wrong: [String] = []
        if object.Tema == nil { wrong.append("Tema") }
        if object.comentario?.isBlank ?? true { wrong.append("comentario") }
        guard wrong.isEmpty, let topic = object.Tema, let words = object.comentario else { throw Refusal.wrong(wrong) }
        let isHidden = isMaster && object.oculto == true
        object.oculto = isHidden
        object.acl = Comentario.rights(of: author, isHidden: isHidden)
        if !isMaster, let author { try await checkLimits(author, words, now) }
        let standing = try await rules.topic(topic)
        guard standing.cerrado != true else {
            throw Refusal(141, "El tema está cerrado.", "The topic is closed.")
        }
        if !isHidden, let date = object.fecha {
            let count = try await rules.count(commentOf: standing, at: date, by: author)
            if !isMaster, let author { try await rules.read(topic, by: author, upTo: count) }
        }
        if tells, let author, !isHidden {
            try await rules.tell("comentario", of: objectId, in: topic, by: author)
        }
    }

    private func checkLimits(_ author: Pointer<Usuario>, _ words: String, _ now: Date) async throws {
        try await rules.hold([author])
        if isNewMember {
            let today = Query(Comentario.self)
                .where(
                    \.usuario == author && \.createdAt > now.addingTimeInterval(-86_400) && \.importado != true)
            guard try await rules.made(today, by: author) < Limits.commentsOfNewMembers else {
                throw Refusal(
                    141, "El primer día puedes escribir \(Limits.commentsOfNewMembers) comentarios.",
                    "On your first day you can write \(Limits.commentsOfNewMembers) comments.")
            }
        }
        let lately = try await rules.find(
            Query(Comentario.self)
                .where(
                    \.usuario == author && \.createdAt > now.addingTimeInterval(-Limits.repetition)
                        && \.importado != true
                )
                .select(\.comentario).limit(1000))
        let said = words.trimmed
        guard !lately.contains(where: { $0.comentario?.trimmed == said }) else {
            throw Refusal.repeated
        }
    }
}

// MARK: changing

extension SaveRequest<Comentario> {
    fileprivate func change() async throws {
        _ = try object.takeTells()
        let wasHidden = original?.oculto == true
        if !isMaster {
            guard isMember else { throw Refusal.noMember }
            let isAuthor = original?.usuario != nil && original?.usuario == user(as: Usuario.self)
            for field in object.changedFields {
                switch field {
                case "ACL": object.revert("ACL")
                case "comentario" where isAuthor && !wasHidden: break
                case "oculto" where isModerator: break
                default: throw Refusal.kept
                }
            }
        }
        if object.isChanged(\.comentario) {
            guard let words = object.comentario, !words.isBlank else { throw Refusal.wrong(["comentario"]) }
            if !isMaster {
                guard let date = original?.fecha, Date().timeIntervalSince(date) <= Limits.editing else {
                    throw Refusal(
                        119, "Un comentario se puede cambiar durante quince minutos.",
                        "A comment can be changed for fifteen minutes.")
                }
                object.editado = Date()
            }
        }
        if object.isChanged(\.oculto), object.oculto == nil { throw Refusal.wrong(["oculto"]) }
        let isHidden = object.oculto == true
        guard isHidden != wasHidden, let original else { return }
        object.acl = Comentario.rights(of: object.usuario, isHidden: isHidden)
        try await rules.hidden(original, isHidden)
    }
}

extension DeleteRequest<Comentario> {
    fileprivate func takeBack() async throws {
        guard isMaster || isMember else { throw Refusal.noMember }
        let comment = try object.pointer
        if object.oculto != true { try await rules.uncount(object) }
        try await rules.note(gone: [object], by: \.usuario)
        try await rules.deleteAll(Query(Denuncia.self).where(\.comentario == comment))
    }
}

// MARK: what a topic says of its comments

extension Database {
    /// A topic, held until the transaction ends: whoever counts holds it, so that no comment is lost.
    func topic(_ topic: Pointer<Tema>) async throws -> Record<Tema> {
        do { return try await lock(topic) } catch let error as ParseError where error.code == 101 {
            throw Refusal.notFound
        }
    }

    /// One visible comment more.
    ///
    /// - Returns: how many there are now.
    @discardableResult
    func count(
        commentOf topic: Record<Tema>, at date: Date, by author: Pointer<Usuario>?
    ) async throws -> Int {
        let before = topic.comentarios ?? 0
        var change = Record(try topic.pointer)
        change.increment(\.comentarios)
        if before == 0 || date >= topic.ultimo ?? date {
            change.ultimo = date
            change.ultimoAutor = author
        }
        try await save(change)
        return before + 1
    }

    /// A visible comment less: the topic's last one is the last of the others.
    func uncount(_ comment: Record<Comentario>) async throws {
        guard let pointer = comment.Tema else { return }
        let topic: Record<Tema>
        do { topic = try await lock(pointer) } catch let error as ParseError where error.code == 101 { return }
        var change = Record(pointer)
        change.increment(\.comentarios, by: -1)
        let others = Query(Comentario.self)
            .where(
                Name("Tema") == Value(pointer) && \.oculto == false
                    && Name("objectId") != .string(comment.objectId ?? "")
            )
            .order(.descending(\.fecha)).select(\.fecha, \.usuario)
        if let last = try await first(others) {
            change.ultimo = last.fecha
            change.ultimoAutor = last.usuario
        } else {
            change.ultimo = topic.createdAt
            change.ultimoAutor = topic.autor
        }
        try await save(change)
    }

    /// A comment is hidden, or shown again: then its flags begin anew.
    func hidden(_ comment: Record<Comentario>, _ isHidden: Bool) async throws {
        guard !isHidden else { return try await uncount(comment) }
        try await deleteAll(Query(Denuncia.self).where(\.comentario == (try comment.pointer)))
        guard let topic = comment.Tema else { return }
        try await count(commentOf: try await self.topic(topic), at: comment.fecha ?? Date(), by: comment.usuario)
    }
}

// MARK: flags

extension Hermes {
    func flagging() {
        memberFunction("denunciar") { request, member in
            let id = try request.text("comentario")
            let reason = try request.optionalText("motivo")
            try await request.transaction { t in
                let rules = t.asMaster.pastHooks
                let comment: Record<Comentario>
                do { comment = try await rules.lock(Pointer<Comentario>(id)) } catch let error as ParseError
                    where error.code == 101
                { throw Refusal.notFound }
                guard comment.oculto != true else { throw Refusal.notFound }
                guard comment.usuario != member else {
                    throw Refusal(119, "Es tuyo: bórralo.", "It is your own: delete it.")
                }
                let flags = Query(Denuncia.self).where(\.comentario == (try comment.pointer))
                guard try await rules.first(flags.where(\.de == member)) == nil else {
                    throw Refusal(137, "Ya lo has denunciado.", "You have flagged it already.")
                }
                var flag = Record(Denuncia(comentario: try comment.pointer, de: member, motivo: reason))
                var rights = ACL()
                rights.allow(.role(Roles.moderator), read: true)
                flag.acl = rights
                try await rules.save(flag)
                guard try await rules.count(flags) >= Limits.flags else { return }
                var change = Record(try comment.pointer)
                change.oculto = true
                change.acl = Comentario.rights(of: comment.usuario, isHidden: true)
                try await rules.save(change)
                try await rules.hidden(comment, true)
            }
            return [:] as Value
        }
    }
}
