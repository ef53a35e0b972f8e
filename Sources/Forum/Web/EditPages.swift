import Hermes

extension Hermes {
    func editViews() {
        view("GET", "/comentario/:id/editar") { visit in try await visit.commentEditor() }
        view("POST", "/comentario/:id/editar") { visit in try await visit.changeComment() }
        view("GET", "/comentario/:id/denunciar") { visit in try await visit.flagForm() }
        view("POST", "/comentario/:id/denunciar") { visit in try await visit.flag() }
        view("GET", "/tema/:id/editar") { visit in try await visit.topicEditor() }
        view("POST", "/tema/:id/editar") { visit in try await visit.changeTopic() }
        view("GET", "/moderar") { visit in try await visit.flags() }
    }
}

extension Visit {
    /// A path, and what the page there says was done.
    static func path(_ path: String, done: String) -> String {
        let parts = path.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let mark = parts[0].contains("?") ? "&" : "?"
        return "\(parts[0])\(mark)hecho=\(done)" + (parts.count > 1 ? "#\(parts[1])" : "")
    }

    /// The page alone, whatever is looked at on it.
    private static func withoutMark(_ path: String) -> String { String(path.prefix { $0 != "#" }) }

    /// A button that is a form by itself.
    func button(
        _ words: String, to action: String, _ fields: KeyValuePairs<String, String>, kind: HTML = "second",
        asks question: String? = nil
    ) -> HTML {
        let hidden = fields.map { name, value -> HTML in "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">" }
        let ask: HTML? = question.map { " data-ask=\"\($0)\"" }
        return """
            <form method="post" action="\(action)">\(formToken)\(hidden)<button class="\(kind)"\(ask)>\(words)</button></form>
            """
    }

    private func quote(_ comment: Record<Comentario>) -> HTML {
        """
        <div class="card"><p class="meta">\(author(comment.usuario?.object)) · \(ago(comment.fecha))</p>\
        <div class="words" dir="auto">\(HTML.words(comment.comentario ?? ""))</div></div>
        """
    }

    private func backLink(_ path: String) -> HTML {
        "<p><a href=\"\(path)\">\(say("← Volver al tema", "← Back to the topic"))</a></p>"
    }

    // MARK: a comment

    fileprivate func commentEditor(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        let comment = try await comment(named: argument("id"))
        let id = comment.objectId ?? ""
        let isMine = comment.usuario?.objectId == me.pointer.objectId
        guard isMine || isModerator else { throw Refusal.kept }
        let action = "/comentario/\(id)/editar"
        var leaf = Leaf(
            isMine ? say("Editar el comentario", "Edit the comment") : say("Moderar", "Moderate"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        let isFresh = comment.fecha.map { Date().timeIntervalSince($0) <= Limits.editing } ?? false
        if isMine, isFresh, comment.oculto != true {
            let draft = fault == nil ? comment.comentario ?? "" : field("comentario").withPlainLines
            let words = textarea(
                "comentario", say("Tu comentario", "Your comment"), value: draft, rows: 8, more: " required")
            leaf.body += """
                <form class="card" method="post" action="\(action)">\(formToken)\(words)\
                <button name="accion" value="guardar">\(say("Guardar", "Save"))</button></form>
                """
        } else {
            leaf.body += quote(comment)
            if isMine, comment.oculto == true {
                leaf.body +=
                    "<p class=\"hint\">\(say("Los moderadores han ocultado el comentario: solo tú y ellos lo veis.", "The moderators have hidden the comment: only you and they see it."))</p>"
            } else if isMine {
                if fault != nil { leaf.body += written }
                leaf.body +=
                    "<p class=\"hint\">\(say("Un comentario se puede cambiar durante quince minutos, y borrar siempre.", "A comment can be changed for fifteen minutes, and deleted at any time."))</p>"
            }
        }
        var buttons = HTML.none
        if isModerator {
            let isHidden = comment.oculto == true
            buttons += button(
                isHidden ? say("Mostrar de nuevo", "Show again") : say("Ocultar", "Hide"), to: action,
                ["accion": isHidden ? "mostrar" : "ocultar"])
            if !isHidden, try await database.count(flags(of: try comment.pointer)) > 0 {
                buttons += button(
                    say("Descartar las denuncias", "Dismiss the reports"), to: action, ["accion": "descartar"])
            }
        }
        // Of a hidden one the author keeps nothing but the sight.
        if isModerator || comment.oculto != true {
            buttons += button(
                say("Borrar", "Delete"), to: action, ["accion": "borrar"], kind: "bad",
                asks: say("¿Borrar el comentario para siempre?", "Delete the comment for good?"))
        }
        leaf.body += "<div class=\"buttons\">\(buttons)</div>\(backLink(try await path(of: comment)))"
        return page(leaf)
    }

    private func flags(of comment: Pointer<Comentario>) -> Query<Denuncia> {
        Query(Denuncia.self).where(\.comentario == comment)
    }

    fileprivate func changeComment() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            let comment = try await comment(named: argument("id"))
            let back = try await path(of: comment)
            var change = Record(try comment.pointer)
            switch field("accion") {
            case "borrar":
                try await database.delete(try comment.pointer)
                return .redirect(to: Visit.path(Visit.withoutMark(back), done: "borrado"))
            case "descartar":
                // As when a hidden one is shown again, for one that no third member has hidden.
                guard isModerator else { throw Refusal.forModerators }
                try await request.rules.deleteAll(flags(of: try comment.pointer))
                return .redirect(to: Visit.path("/moderar", done: "denuncias"))
            case "ocultar": change.oculto = true
            case "mostrar": change.oculto = false
            default: change.comentario = field("comentario").withPlainLines
            }
            try await database.save(change)
            let done = ["ocultar": "oculto", "mostrar": "visible"][field("accion")] ?? "comentario"
            return .redirect(to: Visit.path(back, done: done))
        } otherwise: { fault in
            if fault.status == 404 { throw fault }
            return try await commentEditor(fault)
        }
    }

    // MARK: flags

    fileprivate func flagForm(_ fault: Fault? = nil) async throws -> Page {
        _ = try requireMember()
        let comment = try await comment(named: argument("id"))
        var leaf = Leaf(say("Denunciar un comentario", "Report a comment"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        let reason = textarea(
            "motivo", say("¿Por qué? (si quieres)", "Why? (optional)"), value: field("motivo"), rows: 3)
        leaf.body = """
            \(quote(comment))<form class="card" method="post" action="/comentario/\(comment.objectId ?? "")/denunciar">\
            \(formToken)\(reason)<button>\(say("Denunciar", "Report"))</button></form>\(backLink(try await path(of: comment)))
            """
        return page(leaf)
    }

    fileprivate func flag() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            let comment = try await comment(named: argument("id"))
            let back = try await path(of: comment)
            _ = try await database.call(
                "denunciar", ["comentario": .string(argument("id")), "motivo": .string(field("motivo"))])
            // With the third flag it is hidden: the page where it was is there still.
            return .redirect(to: Visit.path(Visit.withoutMark(back), done: "denuncia"))
        } otherwise: { fault in
            if fault.status == 404 { throw fault }
            return try await flagForm(fault)
        }
    }

    fileprivate func flags() async throws -> Page {
        _ = try requireMember()
        guard isModerator else { throw Refusal.forModerators }
        let found = try await database.page(
            Query(Denuncia.self).order(.descending(\.createdAt)).include("comentario", "comentario.Tema", "de").limit(
                50),
            from: query("desde"))
        var leaf = Leaf(say("Denuncias", "Reports"), isPrivate: true)
        leaf.place = "/moderar"
        leaf.done = doneText
        turn(&leaf, at: "/moderar", next: found.cursor)
        let rows = found.objects.compactMap { flag -> HTML? in
            guard let comment = flag.comentario?.object, let id = comment.objectId else { return nil }
            let hidden: HTML = comment.oculto == true ? " <b class=\"mark quiet\">\(say("Oculto", "Hidden"))</b>" : ""
            let reason: HTML? = flag.motivo.map { "<p>\(say("Motivo", "Reason")): \($0)</p>" }
            return """
                <li class="row"><div><p class="meta">\(HTML.name(comment.Tema?.object?.Tema ?? ""))\(hidden) · \
                \(say("lo denuncia", "reported by")) \(author(flag.de?.object)), \(ago(flag.createdAt))</p>\
                <div class="words" dir="auto">\(String((comment.comentario ?? "").prefix(400)))</div>\(reason)</div>\
                <a class="button second small" href="/comentario/\(id)/editar">\(say("Moderar", "Moderate"))</a></li>
                """
        }
        leaf.body =
            rows.isEmpty
            ? "<p class=\"empty\">\(say("No hay nada que moderar.", "There is nothing to moderate."))</p>"
            : "<ul class=\"list\">\(rows)</ul>"
        leaf.body += pager(leaf, (say("← Más nuevas", "← Newer"), say("Más antiguas →", "Older →")))
        return page(leaf)
    }

    // MARK: a topic

    fileprivate func topicEditor(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        let topic = try await topic(named: argument("id"))
        guard mayManage(topic) else { throw Refusal.kept }
        let action = "/tema/\(topic.objectId ?? "")/editar"
        var leaf = Leaf(say("Gestionar el tema", "Manage the topic"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.errorLink = link(toStanding: fault)
        if topic.autor?.objectId == me.pointer.objectId {
            let name = input(
                "tema", say("Nombre del tema", "Name of the topic"),
                value: fault == nil ? topic.Tema ?? "" : field("tema"),
                more: " required minlength=\"6\" maxlength=\"200\"")
            leaf.body += """
                <form class="card" method="post" action="\(action)">\(formToken)\(name)\
                <button name="accion" value="nombre">\(say("Guardar", "Save"))</button></form>
                """
        } else {
            leaf.body += "<p class=\"lead\">\(HTML.name(topic.Tema ?? ""))</p>"
        }
        let isClosed = topic.cerrado == true
        var buttons = button(
            isClosed
                ? say("Abrir a comentarios", "Open to comments") : say("Cerrar a comentarios", "Close to comments"),
            to: action, ["accion": isClosed ? "abrir" : "cerrar"])
        if isModerator {
            let isPinned = topic.fijado == true
            buttons += button(
                isPinned ? say("Quitar de arriba", "Unpin") : say("Fijar arriba", "Pin to the top"), to: action,
                ["accion": isPinned ? "soltar" : "fijar"])
        }
        buttons += button(
            say("Borrar el tema", "Delete the topic"), to: action, ["accion": "borrar"], kind: "bad",
            asks: say("¿Borrar el tema con todos sus comentarios?", "Delete the topic with all its comments?"))
        leaf.body += "<div class=\"buttons\">\(buttons)</div>\(backLink("/tema/\(topic.objectId ?? "")"))"
        return page(leaf)
    }

    fileprivate func changeTopic() async throws -> Page {
        _ = try requireMember()
        let id = argument("id")
        return try await attempt {
            var change = Record(Pointer<Tema>(id))
            switch field("accion") {
            case "borrar":
                try await database.delete(Pointer<Tema>(id))
                return .redirect(to: Visit.path("/", done: "temaborrado"))
            case "cerrar": change.cerrado = true
            case "abrir": change.cerrado = false
            case "fijar": change.fijado = true
            case "soltar": change.fijado = false
            default: change.Tema = field("tema")
            }
            try await database.save(change)
            return .redirect(to: Visit.path("/tema/\(id)", done: "tema"))
        } otherwise: { fault in
            if fault.status == 404 { throw fault }
            return try await topicEditor(fault)
        }
    }
}
