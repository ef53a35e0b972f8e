import Hermes

extension Hermes {
    func noticeRules() {
        beforeSave(Aviso.self) { request in
            try await request.spoken {
                guard !request.isMaster else { return }
                for field in request.object.changedFields where field != "leido" {
                    if field == "ACL" { request.object.revert("ACL") } else { throw Refusal.kept }
                }
                if request.object.isChanged(\.leido), request.object.leido == nil { throw Refusal.wrong(["leido"]) }
            }
        }
    }

    func jobs() {
        job("avisos") { job in try await job.tellAll() }
        job("ascender", every: .hours(1)) { job in try await job.promote() }
        job("caducar", every: .day(at: "03:00", in: "Europe/Madrid")) { job in
            let past = Query(Invitacion.self).where(\.estado == "pendiente" && \.caduca < Date())
            let count = try await job.rules.updateAll(past) { $0.estado = "caducada" }
            try await job.rules.deleteAll(Query(Borrado.self).where(\.fecha < Limits.aDayAgo))
            try await job.report("\(count)")
        }
    }
}

extension Record<Aviso> {
    init(_ kind: String, of object: String, to addressee: Pointer<Usuario>, from sender: Pointer<Usuario>?) {
        self.init(Aviso(para: addressee, de: sender, tipo: kind, objeto: object, leido: false))
        var rights = ACL()
        rights.allow(.user(addressee), read: true, write: true)
        acl = rights
    }
}

extension Database {
    /// Has all members told of something new, once it stands.
    func tell(_ kind: String, of object: String, in topic: Pointer<Tema>, by author: Pointer<Usuario>) async throws {
        try await startJob(
            "avisos",
            [
                "tipo": .string(kind), "objeto": .string(object), "tema": .string(topic.objectId),
                "de": .string(author.objectId),
            ])
    }
}

extension JobRequest {
    /// A page of members at a time, each by one statement. A job that is begun anew tells those again whom it has told,
    /// which the index of notices refuses.
    fileprivate func tellAll() async throws {
        guard let kind = params["tipo"]?.string, let object = params["objeto"]?.string,
            let author = params["de"]?.string.map({ Pointer<Usuario>($0) }),
            let topic = params["tema"]?.string.map({ Pointer<Tema>($0) })
        else { throw ParseError(142, "tipo, objeto, tema and de are required.") }
        let className = kind == "tema" ? Tema.className : Comentario.className
        guard try await rules.count(Query(className).where(Name("objectId") == .string(object))) > 0 else {
            return try await report("It is gone.")
        }
        var notice = Record(Aviso(de: author, tipo: kind, objeto: object, tema: topic, leido: false))
        notice.acl = ACL()
        var told = 0
        var last = ""
        while true {
            let members = Query(Persona.self)
                .where(\.avisos == true && \.usuario != author && Name("objectId") > .string(last))
                .order(.ascending(\.objectId)).limit(2000)
            let page = try await rules.createAll(
                notice, forEach: members, setting: \.para, to: \.usuario, isOwned: true, skippingDuplicates: true)
            guard let end = page.last else { break }
            last = end
            told += page.made
            try await report("\(told)")
        }
    }

    /// Who has been here for a day is new no longer.
    fileprivate func promote() async throws {
        let new = try await rules.role(Roles.new).pointer
        let before = Date().addingTimeInterval(-86_400)
        var count = 0
        while true {
            let members = try await rules.find(
                Query(Usuario.self).related(to: new, "users").where(\.createdAt < before).select("objectId").limit(200))
            guard !members.isEmpty else { break }
            let pointers = try members.map { AnyPointer(Usuario.className, try $0.pointer.objectId) }
            try await transaction { t in
                var newcomers = Record(new)
                newcomers.removeFromRelation(pointers)
                var old = Record(try await t.pastHooks.role(Roles.member).pointer)
                old.addToRelation(pointers)
                try await t.pastHooks.save(newcomers)
                try await t.pastHooks.save(old)
            }
            count += members.count
        }
        try await report("\(count)")
    }
}

extension Record<Role> {
    fileprivate mutating func addToRelation(_ users: [AnyPointer]) { for user in users { add(user, to: "users") } }
    fileprivate mutating func removeFromRelation(_ users: [AnyPointer]) {
        for user in users { remove(user, from: "users") }
    }
}
