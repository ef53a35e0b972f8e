import Hermes

extension Hermes {
    func messageRules() {
        beforeSave(Mensaje.self, in: .transaction) { request in
            try await request.spoken {
                guard request.isNew else { return }
                try await request.write()
            }
        }
        beforeDelete(Mensaje.self, in: .transaction) { request in
            try await request.spoken { try await request.takeBack() }
        }
    }
}

extension SaveRequest<Mensaje> {
    fileprivate func write() async throws {
        var wrong: [String] = []
        if object.conversacion == nil { wrong.append("conversacion") }
        let kept: [String]
        switch object.tipo {
        case "texto":
            kept = ["cuerpo"]
            if object.cuerpo?.isBlank ?? true { wrong.append("cuerpo") }
        case "voz":
            kept = ["archivo", "segundos"]
            if object.archivo == nil { wrong.append("archivo") }
            if !(object.segundos.map { $0 > 0 && $0 <= Limits.voice } ?? false) { wrong.append("segundos") }
        case "foto", "video":
            kept = ["archivo"]
            if object.archivo == nil { wrong.append("archivo") }
        case "localizacion":
            kept = ["lugar"]
            if object.lugar == nil { wrong.append("lugar") }
        case "contacto":
            kept = ["contacto"]
            if object["contacto"]?.object == nil { wrong.append("contacto") }
        default:
            kept = []
            wrong.append("tipo")
        }
        guard wrong.isEmpty, let pointer = object.conversacion, let kind = object.tipo else {
            throw Refusal.wrong(wrong)
        }
        for field in ["cuerpo", "archivo", "segundos", "lugar", "contacto"]
        where !kept.contains(field) && object.isChanged(field) {
            object.revert(field)
        }
        var author = object.autor
        if !isMaster {
            author = try writer()
            object.autor = author
        }
        let chat = try await chat(pointer, author)
        let members = chat.miembros ?? []
        if !isMaster, chat.esGrupo != true, let author {
            let other = members.filter { $0 != author }
            guard try await rules.friends(of: author, among: other).count == other.count else {
                throw Refusal.noLongerFriends
            }
        }
        let number = (chat.numero ?? 0) + 1
        object.numero = number
        var rights = ACL()
        for member in members { rights.allow(.user(member), read: true) }
        if let author { rights.allow(.user(author), write: true) }
        object.acl = rights
        var change = Record(pointer)
        change.numero = number
        change.show(kind, object.cuerpo, author, Date())
        change.allow(members)
        try await rules.save(change)
        try await rules.updateAll(Query(Lectura.self).where(\.conversacion == pointer && \.usuario != author)) {
            $0.increment(\.noLeidos)
        }
        guard let author else { return }
        try await rules.updateAll(Query(Lectura.self).where(\.conversacion == pointer && \.usuario == author)) {
            $0.noLeidos = 0
            $0.hasta = number
        }
    }

    private func chat(_ pointer: Pointer<Conversacion>, _ author: Pointer<Usuario>?) async throws -> Record<
        Conversacion
    > {
        if !isMaster, let author { return try await rules.chat(pointer.objectId, of: author) }
        do { return try await rules.lock(pointer) } catch let error as ParseError where error.code == 101 {
            throw Refusal.notFound
        }
    }
}

extension Record<Conversacion> {
    /// What a list of conversations shows of the last message.
    fileprivate mutating func show(_ kind: String?, _ text: String?, _ author: Pointer<Usuario>?, _ date: Date?) {
        self.ultimoTipo = kind
        self.ultimoMensaje = kind == "texto" ? String((text ?? "").prefix(Limits.preview)) : ""
        self.ultimoAutor = author
        self.ultimaFecha = date
    }
}

extension DeleteRequest<Mensaje> {
    /// The last message is the one before, and who has not read this one has one less to read.
    fileprivate func takeBack() async throws {
        guard isMaster || isMember else { throw Refusal.noMember }
        guard let pointer = object.conversacion else { return }
        let chat: Record<Conversacion>
        do { chat = try await rules.lock(pointer) } catch let error as ParseError where error.code == 101 { return }
        let number = object.numero ?? 0
        let author = object.autor
        let unread = Query(Lectura.self).where(\.conversacion == pointer && \.hasta < number && \.noLeidos > 0)
        try await rules.updateAll(author.map { unread.where(\.usuario != $0) } ?? unread) {
            $0.increment(\.noLeidos, by: -1)
        }
        let id = object.objectId ?? ""
        let last = try await rules.first(
            Query(Mensaje.self).where(\.conversacion == pointer && Name("objectId") != .string(id))
                .order(.descending(\.createdAt), .descending(\.numero)))
        guard last?.numero ?? 0 < number else { return }
        var change = Record(try chat.pointer)
        change.show(last?.tipo, last?.cuerpo, last?.autor, last?.createdAt ?? chat.createdAt)
        try await rules.save(change)
    }
}
