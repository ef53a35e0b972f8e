import Hermes

extension Hermes {
    func chatViews() {
        view("GET", "/charlas") { visit in try await visit.chats() }
        view("POST", "/charlas") { visit in try await visit.beginChat() }
        view("GET", "/charla/:id") { visit in try await visit.chat() }
        view("POST", "/charla/:id") { visit in try await visit.actInChat() }
    }
}

extension Visit {
    private func title(of chat: Record<Conversacion>) -> String {
        if chat.esGrupo == true { return chat.nombre ?? say("Grupo", "Group") }
        let other = chat.miembros?.first { $0.objectId != member?.pointer.objectId }
        return other?.object?.username ?? say("alguien que se fue", "somebody who left")
    }

    private func preview(_ chat: Record<Conversacion>) -> String {
        switch chat.ultimoTipo {
        case nil: say("Sin mensajes todavía.", "No messages yet.")
        case "texto": chat.ultimoMensaje ?? ""
        case let kind?: thing(kind)
        }
    }

    /// What this client shows of a message that is no text.
    private func thing(_ kind: String) -> String {
        switch kind {
        case "voz": say("Mensaje de voz", "Voice message")
        case "foto": say("Foto", "Photo")
        case "video": say("Vídeo", "Video")
        case "localizacion": say("Lugar", "Place")
        default: say("Contacto", "Contact")
        }
    }

    /// Who may write no more goes on reading his chats, and begins none.
    private func friendsToChoose() async throws -> [Friend] {
        do { return try await friendList() } catch let error as ParseError where error.code == 119 { return [] }
    }

    // MARK: the list

    fileprivate func chats(_ fault: Fault? = nil) async throws -> Page {
        _ = try requireMember()
        let found = try await database.page(
            Query(Conversacion.self).include("miembros", "ultimoAutor").limit(50), from: query("desde"))
        let friends = try await friendsToChoose()
        var leaf = Leaf(say("Charlas", "Chats"), isPrivate: true)
        leaf.place = "/charlas"
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = doneText
        turn(&leaf, at: "/charlas", next: found.cursor)
        let rows = found.objects.map { chat -> HTML in
            let unread = chat["noLeidos"]?.int ?? 0
            let new: HTML =
                unread > 0 ? " <b class=\"mark new\">\(unread) \(say(unread == 1 ? "nuevo" : "nuevos", "new"))</b>" : ""
            let who: HTML? =
                chat.esGrupo == true ? chat.ultimoAutor?.object?.username.map { "\(HTML.name($0)): " } : nil
            return """
                <li><h2><a href="/charla/\(chat.objectId ?? "")">\(HTML.name(title(of: chat)))</a>\(new)</h2>\
                <p class="meta">\(who)\(HTML.name(preview(chat))) · \(ago(chat.ultimaFecha))</p></li>
                """
        }
        leaf.body =
            rows.isEmpty
            ? "<p class=\"empty\">\(say("Todavía no hay charlas.", "There are no chats yet.")) <a href=\"/amigos\">\(say("Elige a un amigo.", "Choose a friend."))</a></p>"
            : "<ol class=\"topics\" data-more>\(rows)</ol>"
        leaf.body += pager(leaf, (say("← Más nuevas", "← Newer"), say("Más antiguas →", "Older →")))
        if !friends.isEmpty {
            leaf.body += """
                <form class="card" method="post" action="/charlas">\(formToken)<h2>\(say("Crear un grupo", "Create a group"))</h2>\
                \(input("nombre", say("Nombre del grupo", "Name of the group"), value: field("nombre"), more: " required maxlength=\"100\""))\
                \(choice(friends))\
                <button name="accion" value="grupo">\(say("Crear el grupo", "Create the group"))</button></form>
                """
        }
        return page(leaf)
    }

    private func choice(_ friends: [Friend]) -> HTML {
        let boxes = friends.enumerated().map { index, friend -> HTML in
            let isChosen: HTML = request.form["con:\(friend.name)"] == nil ? "" : " checked"
            return """
                <label class="check" for="con-\(index)"><input type="checkbox" id="con-\(index)" name="con:\(friend.name)" \
                value="1"\(isChosen)><span>\(HTML.name(friend.name))</span></label>
                """
        }
        return "<fieldset><legend>\(say("Amigos", "Friends"))</legend>\(boxes)</fieldset>"
    }

    private var chosen: Value {
        .array(request.form.keys.filter { $0.hasPrefix("con:") }.sorted().map { .string(String($0.dropFirst(4))) })
    }

    fileprivate func beginChat() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            let result: Value?
            if field("accion") == "grupo" {
                guard chosen.array?.isEmpty == false else {
                    throw Fault(400, say("Elige a un amigo por lo menos.", "Choose at least one friend."))
                }
                result = try await database.call(
                    "crearGrupo", ["nombre": .string(field("nombre")), "miembros": chosen])
            } else {
                result = try await database.call("conversar", ["usuario": .string(field("usuario"))])
            }
            return .redirect(to: "/charla/\(result?["conversacion"]?.string ?? "")")
        } otherwise: { fault in
            try await chats(fault)
        }
    }

    // MARK: one conversation

    fileprivate func chat(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        let id = argument("id")
        let chat = try await chat(named: id, me.pointer)
        let found = try await database.page(
            Query(Mensaje.self).where(\.conversacion == Pointer<Conversacion>(id)).include("autor").limit(50),
            from: query("desde"))
        if chat["noLeidos"]?.int ?? 0 > 0 { _ = try await database.call("leer", ["conversacion": .string(id)]) }
        var leaf = Leaf(title(of: chat), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        turn(&leaf, at: "/charla/\(id)", next: found.cursor)
        let isLatest = query("desde") == nil
        let isGroup = chat.esGrupo == true
        if isGroup {
            let names = (chat.miembros ?? []).compactMap { $0.object?.username }.map { HTML.name($0) }
            let list = names.enumerated().map { index, name -> HTML in index == 0 ? name : ", \(name)" }
            leaf.body += "<p class=\"meta\">\(list)</p>"
        }
        // The newest at the end, beside the form.
        if found.objects.isEmpty {
            leaf.body += "<p class=\"empty\">\(say("Sin mensajes todavía.", "No messages yet."))</p>"
        }
        if let older = leaf.next {
            leaf.body += "<p><a href=\"\(older)\">\(say("Mensajes anteriores", "Earlier messages"))</a></p>"
        }
        let live: HTML = isLatest ? " data-chat aria-live=\"polite\"" : ""
        leaf.body += """
            <ol class="chat"\(live)>\(found.objects.reversed().map { message($0, in: id, me.pointer, isGroup) })</ol>
            """
        if let newer = leaf.previous, leaf.first != nil {
            leaf.body += "<p><a href=\"\(newer)\">\(say("Mensajes posteriores", "Later messages"))</a></p>"
        }
        if !isLatest {
            leaf.body += "<p><a href=\"/charla/\(id)\">\(say("Ir a los últimos", "Go to the latest"))</a></p>"
        }
        let words = textarea(
            "cuerpo", say("Mensaje", "Message"), value: fault == nil ? "" : field("cuerpo").withPlainLines, rows: 2,
            more: " required")
        let count = try await request.rules.first(
            Query(Conversacion.self).where(Name("objectId") == .string(id)).select(\.numero))?.numero
        leaf.body += """
            <form class="card" method="post" action="/charla/\(id)" data-draft>\(formToken)\
            <input type="hidden" name="tras" value="\(count ?? 0)">\(words)\
            <button>\(say("Enviar", "Send"))</button></form>
            """
        leaf.body += try await management(chat, id, me)
        return page(leaf)
    }

    /// Who has emptied one finds it in no list, but goes on in it where he comes back to it.
    private func chat(named id: String, _ me: Pointer<Usuario>) async throws -> Record<Conversacion> {
        do { return try await database.get(Conversacion.self, id, include: ["miembros"]) } catch let error as ParseError
            where error.code == 101
        {
            let mine = Query(Conversacion.self).where(Name("objectId") == .string(id)).where(.contains(\.miembros, me))
            guard let emptied = try await request.rules.first(mine.include("miembros")) else {
                throw Fault(404, say("Esa charla no existe.", "There is no such chat."))
            }
            return emptied
        }
    }

    private func message(
        _ message: Record<Mensaje>, in chat: String, _ me: Pointer<Usuario>, _ isGroup: Bool
    ) -> HTML {
        let isMine = message.autor?.objectId == me.objectId
        let who: HTML = isGroup && !isMine ? "\(author(message.autor?.object)) · " : ""
        let said: HTML =
            message.tipo == "texto"
            ? HTML.words(message.cuerpo ?? "") : "<i>\(thing(message.tipo ?? ""))</i>"
        // Sides and colours say it to who sees them, and a group tells it of the others.
        let speaker: HTML =
            isMine
            ? "\(say("Tú", "You"))"
            : HTML.name(message.autor?.object?.username ?? say("alguien que se fue", "somebody who left"))
        let spoken: HTML = isGroup && !isMine ? "" : "<span class=\"unseen\">\(speaker): </span>"
        let delete: HTML? =
            isMine
            ? " · <a href=\"/charla/\(chat)?quitar=\(message.objectId ?? "")#quitar\">\(say("Borrar", "Delete"))</a>"
            : nil
        return """
            <li id="m\(message.objectId ?? "")"\(isMine ? " class=\"mine\"" : "" as HTML)>\(spoken)<div class="words" dir="auto">\(said)</div>\
            <p class="meta">\(who)\(ago(message.createdAt))\(delete)</p></li>
            """
    }

    /// What is done with the conversation itself.
    private func management(
        _ chat: Record<Conversacion>, _ id: String, _ me: (pointer: Pointer<Usuario>, name: String)
    ) async throws -> HTML {
        let action = "/charla/\(id)"
        var html = HTML.none
        if let message = query("quitar") {
            html += """
                <div class="card" id="quitar"><p>\(say("¿Borrar tu mensaje para todos?", "Delete your message for everybody?"))</p>\
                <div class="buttons">\
                \(button(say("Borrar", "Delete"), to: action, ["accion": "quitar", "mensaje": message], kind: "bad"))\
                <a href="\(action)">\(say("No", "No"))</a></div></div>
                """
        }
        var buttons = button(
            say("Vaciar la charla", "Empty the chat"), to: action, ["accion": "borrar"],
            asks: say("¿Vaciar la charla? Solo para ti.", "Empty the chat? Only for you."))
        if chat.esGrupo == true {
            let there = Set((chat.miembros ?? []).compactMap { $0.object?.username })
            let others = try await friendsToChoose().filter { !there.contains($0.name) }
            if !others.isEmpty {
                html += """
                    <form class="card" method="post" action="\(action)">\(formToken)<h2>\(say("Añadir al grupo", "Add to the group"))</h2>\
                    \(choice(others))<button name="accion" value="añadir">\(say("Añadir", "Add"))</button></form>
                    """
            }
            html += """
                <form class="card" method="post" action="\(action)">\(formToken)\
                \(input("nombre", say("Nombre del grupo", "Name of the group"), value: chat.nombre ?? "", more: " required maxlength=\"100\""))\
                <button name="accion" value="nombre" class="second">\(say("Cambiar el nombre", "Change the name"))</button></form>
                """
            buttons += button(
                say("Salir del grupo", "Leave the group"), to: action, ["accion": "salir"], kind: "bad",
                asks: say("¿Salir del grupo?", "Leave the group?"))
            if chat.creador?.objectId == me.pointer.objectId {
                buttons += button(
                    say("Eliminar el grupo", "Delete the group"), to: action, ["accion": "eliminar"], kind: "bad",
                    asks: say("¿Eliminar el grupo para todos?", "Delete the group for everybody?"))
            }
        }
        return "\(html)<div class=\"buttons\">\(buttons)</div>"
    }

    fileprivate func actInChat() async throws -> Page {
        _ = try requireMember()
        let id = argument("id")
        return try await attempt {
            let chat: [String: Value] = ["conversacion": .string(id)]
            switch field("accion") {
            case "quitar": try await database.delete(Pointer<Mensaje>(field("mensaje")))
            case "añadir": _ = try await database.call("añadir", chat.merging(["miembros": chosen]) { $1 })
            case "nombre":
                var change = Record(Pointer<Conversacion>(id))
                change.nombre = field("nombre")
                try await database.save(change)
            case "salir":
                _ = try await database.call("salir", chat)
                return .redirect(to: Visit.path("/charlas", done: "salido"))
            case "eliminar", "borrar":
                _ = try await database.call(field("accion") == "borrar" ? "borrarConversacion" : "eliminarGrupo", chat)
                return .redirect(to: Visit.path("/charlas", done: "borrada"))
            default:
                try await write(field("cuerpo").withPlainLines, in: Pointer(id))
            }
            return .redirect(to: "/charla/\(id)")
        } otherwise: { fault in
            try await self.chat(fault)
        }
    }
    /// Says it once, however often its form arrives: the form knows how many messages there were when it was shown.
    private func write(_ words: String, in chat: Pointer<Conversacion>) async throws {
        let me = try requireMember().pointer
        try await request.transaction { database in
            let rules = database.asMaster.pastHooks
            let number = try await rules.lock(chat).numero ?? 0
            if let seen = Int(field("tras")), seen >= 0, seen < number {
                // A form that comes twice does so soon: whatever was said by others meanwhile is little.
                let latest = Query(Mensaje.self).where(\.conversacion == chat).order(.descending(\.createdAt))
                    .select(\.autor, \.cuerpo, \.numero).limit(min(number - seen, 50))
                let isSaid = try await rules.find(latest)
                    .contains { $0.autor == me && $0.cuerpo == words && $0.numero ?? 0 > seen }
                if isSaid { return }
            }
            var message = Record(Mensaje.self)
            message.conversacion = chat
            message.tipo = "texto"
            message.cuerpo = words
            try await database.save(message)
        }
    }
}
