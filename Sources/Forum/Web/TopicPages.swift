import Hermes

extension Hermes {
    func topicView() {
        view("GET", "/tema/:id") { visit in try await visit.topic(visit.argument("id")) }
        view("POST", "/tema/:id") { visit in try await visit.comment(visit.argument("id")) }
        view("GET", "/comentario/:id") { visit in
            let comment = try await visit.comment(named: visit.argument("id"))
            return .redirect(to: try await visit.path(of: comment))
        }
    }
}

extension Visit {
    func topic(named id: String) async throws -> Record<Tema> {
        do { return try await database.get(Tema.self, id, include: ["autor"]) } catch let error as ParseError
            where error.code == 101
        { throw Fault(404, say("Ese tema no existe, o se ha borrado.", "There is no such topic, or it was deleted.")) }
    }

    func comment(named id: String) async throws -> Record<Comentario> {
        do {
            return try await database.get(Comentario.self, id, include: ["usuario", "Tema"])
        } catch let error as ParseError where error.code == 101 {
            throw Fault(
                404, say("Ese comentario no existe, o se ha borrado.", "There is no such comment, or it was deleted."))
        }
    }

    /// Twenty comments of a topic, the oldest first.
    fileprivate func topic(_ id: String, draft: String = "", fault: Fault? = nil) async throws -> Page {
        let topic = try await self.topic(named: id)
        if fault == nil, let number = query("pagina") {
            return .redirect(to: try await path(of: id, page: number))
        }
        let count = topic.comentarios ?? 0
        // What was refused is told where it was written: below the last ones.
        let stretch = try await comments(of: id, from: fault == nil ? query("desde") : Visit.end)
        if member != nil, topic["noLeidos"]?.int ?? 0 > 0 { _ = try await database.call("leer", ["tema": .string(id)]) }

        var leaf = Leaf(topic.Tema ?? "")
        leaf.status = fault?.status ?? 200
        leaf.canonical = stretch.path
        // The last ones are others soon.
        leaf.isPrivate = stretch.path == nil
        leaf.previous = stretch.previous
        leaf.first = stretch.first
        leaf.next = stretch.next
        if let first = stretch.comments.first?.comentario { leaf.description = String(first.tidy.prefix(160)) }
        leaf.done = doneText
        leaf.body += about(topic)
        leaf.body += "<ol class=\"comments\" data-more>\(stretch.comments.map { row($0, of: topic) })</ol>"
        if count == 0, stretch.comments.isEmpty {
            leaf.body += "<p class=\"empty\">\(say("Nadie ha comentado todavía.", "Nobody has commented yet."))</p>"
        }
        let end: HTML =
            leaf.next == nil ? "" : "<a href=\"\(Visit.endPath(id))\">\(say("Al final", "Last page"))</a>"
        let words = (say("← Anteriores", "← Earlier"), say("Siguientes →", "Later →"))
        leaf.body += pager(leaf, words, middle: end)
        leaf.body += commentForm(topic, draft: draft, fault: fault)
        return try await noticed(\.tema == Pointer<Tema>(id) && .isIn(\.tipo, ["tema", "comentario"])).page(leaf)
    }

    private func about(_ topic: Record<Tema>) -> HTML {
        var parts: HTML = "<p class=\"meta\">"
        if topic.fijado == true { parts += "<b class=\"mark\">\(say("Fijado", "Pinned"))</b> " }
        if topic.cerrado == true { parts += "<b class=\"mark quiet\">\(say("Cerrado", "Closed"))</b> " }
        parts +=
            "\(say("Abierto por", "Opened by")) \(author(topic.autor?.object, in: topic)) · \(ago(topic.createdAt)) · "
        parts +=
            "<span data-count=\"\(topic.comentarios ?? 0)\" data-topic=\"\(topic.objectId ?? "")\">\(comments(topic.comentarios ?? 0))</span>"
        if mayManage(topic) {
            parts += " · <a href=\"/tema/\(topic.objectId ?? "")/editar\">\(say("Gestionar", "Manage"))</a>"
        }
        return "\(parts)</p>"
    }

    func mayManage(_ topic: Record<Tema>) -> Bool {
        guard let member else { return false }
        return isModerator || topic.autor?.objectId == member.pointer.objectId
    }

    private func row(_ comment: Record<Comentario>, of topic: Record<Tema>) -> HTML {
        let id = comment.objectId ?? ""
        var marks = HTML.none
        if comment.editado != nil { marks += " · \(say("editado", "edited"))" }
        if comment.oculto == true { marks += " · <b class=\"mark quiet\">\(say("Oculto", "Hidden"))</b>" }
        var action = HTML.none
        if let member {
            let isMine = comment.usuario?.objectId == member.pointer.objectId
            if isMine, comment.oculto != true {
                action = "<a href=\"/comentario/\(id)/editar\">\(say("Editar", "Edit"))</a>"
            } else if isModerator {
                action = "<a href=\"/comentario/\(id)/editar\">\(say("Moderar", "Moderate"))</a>"
            } else if !isMine {
                action = "<a href=\"/comentario/\(id)/denunciar\">\(say("Denunciar", "Report"))</a>"
            }
        }
        return """
            <li id="c\(id)"><p class="meta">\(author(comment.usuario?.object, in: topic)) · \
            <a class="date" href="#c\(id)">\(ago(comment.fecha))</a>\(marks)\(action.isEmpty ? "" : " · " as HTML)\(action)</p>\
            <div class="words" dir="auto">\(HTML.words(comment.comentario ?? ""))</div></li>

            """
    }

    // MARK: commenting

    private func commentForm(_ topic: Record<Tema>, draft: String, fault: Fault?) -> HTML {
        guard topic.cerrado != true else {
            let closed = say("El tema está cerrado: ya no se comenta.", "The topic is closed to comments.")
            guard fault != nil else { return "<p class=\"empty\">\(closed)</p>" }
            return "<p class=\"error\" role=\"alert\" id=\"comentar\">\(closed)</p>\(written)"
        }
        guard member != nil else {
            let back = "/tema/\(topic.objectId ?? "")".inURL
            return """
                <p class="invite"><a href="/entrar?a=\(back)">\(say("Entra", "Log in"))</a> \(say("o", "or")) \
                <a href="/registro?a=\(back)">\(say("regístrate", "sign up"))</a> \(say("para comentar.", "to comment."))</p>
                """
        }
        guard request.isMember else {
            return "<p class=\"invite\" id=\"comentar\">\(Refusal.banned.said(language))</p>\(written)"
        }
        let error: HTML? = fault.map { "<p class=\"error\" role=\"alert\">\($0.message)</p>" }
        return """
            <form class="card" method="post" action="/tema/\(topic.objectId ?? "")#comentar" id="comentar" data-draft>\
            \(formToken)<h2>\(say("Comentar", "Comment"))</h2>\(error)\
            \(textarea("comentario", say("Tu comentario", "Your comment"), value: draft, more: " required"))\
            <button>\(say("Publicar", "Post"))</button></form>
            """
    }

    /// The reader's comment of a moment ago: the same form has come twice.
    private func own(_ words: String, in topic: String) async throws -> Record<Comentario>? {
        guard let member else { return nil }
        let latest = Query.of(topic).before(nil).where(\.usuario == member.pointer)
            .where(\.fecha > Date().addingTimeInterval(-Limits.repetition)).limit(100)
        return try await database.find(latest).first { $0.comentario?.trimmed == words.trimmed }
    }

    fileprivate func comment(_ id: String) async throws -> Page {
        _ = try requireMember()
        let words = field("comentario").withPlainLines
        return try await attempt {
            var comment = Record(Comentario.self)
            comment.Tema = Pointer<Tema>(id)
            comment.comentario = words
            let saved = try await database.save(comment)
            let whole = try await database.get(Comentario.self, try saved.pointer.objectId)
            return .redirect(to: try await path(of: whole))
        } otherwise: { fault in
            if fault.isRepeated, let said = try await own(words, in: id) {
                return .redirect(to: Visit.path(try await path(of: said), done: "dicho"))
            }
            // Where the topic has gone there is no form to come again.
            return try await topic(id, draft: words, fault: fault)
        }
    }
}

extension String {
    /// As forms send it lines end in CR LF.
    var withPlainLines: String { replacing("\r\n", with: "\n") }
}
