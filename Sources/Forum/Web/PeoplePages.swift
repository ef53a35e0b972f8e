import Hermes

extension Hermes {
    func peopleViews() {
        view("GET", "/miembro/:nombre") { visit in try await visit.person() }
        view("POST", "/miembro/:nombre") { visit in try await visit.changeFriendship() }
        view("GET", "/amigos") { visit in try await visit.friends() }
        view("POST", "/amigos") { visit in try await visit.find() }
        // Where somebody comes back to who had to log in first.
        view("GET", "/invitaciones") { _ in .redirect(to: "/amigos") }
        view("POST", "/invitaciones") { visit in try await visit.answerInvitation() }
        view("GET", "/avisos") { visit in try await visit.noticeList() }
        view("POST", "/avisos") { visit in try await visit.readNotices() }
        view("GET", "/ajustes") { visit in try await visit.settings() }
        view("POST", "/ajustes") { visit in try await visit.changeSettings() }
    }
}

/// As the function `amigos` answers them.
struct Friend: Sendable {
    let name: String
    let firstName: String?
    let isPresent: Bool
}

extension Visit {
    func friendList(_ text: String = "") async throws -> [Friend] {
        let found = try await database.call("amigos", ["texto": .string(text)])
        return (found?.array ?? []).compactMap { value in
            guard let name = value["username"]?.string else { return nil }
            return Friend(
                name: name, firstName: value["Nombre"]?.string, isPresent: value["conectado"]?.bool == true)
        }
    }

    private func path(person name: String) -> String { "/miembro/\(name.inURL)" }

    // MARK: one member

    fileprivate func person(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        let name = argument("nombre")
        let user = try await request.rules.member(name)
        let username = user.username ?? ""
        let pointer = try user.pointer
        let details = try await database.first(Query(Persona.self).where(\.usuario == pointer))
        var leaf = Leaf(username, isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = doneText
        var facts: [String] = []
        let whole = [details?.Nombre, details?.Apellidos].compactMap(\.self).joined(separator: " ")
        if !whole.isEmpty { facts.append(whole) }
        if let city = details?.ciudad { facts.append(city) }
        if let address = details?.Correo { facts.append(address) }
        if let number = details?.Movil { facts.append(number) }
        leaf.body = "<p class=\"lead\">\(facts.joined(separator: " · "))</p>"
        guard pointer != me.pointer else {
            leaf.body += "<p><a href=\"/ajustes\">\(say("Cambiar mis datos", "Change my details"))</a></p>"
            return page(leaf)
        }
        let isFriend =
            try await database.first(
                Query(Amistad.self).where(\.de == me.pointer && \.con == pointer)) != nil
        let action = path(person: username)
        if isFriend {
            let talk = button(
                say("Charlar", "Chat"), to: "/charlas", ["accion": "conversar", "usuario": username], kind: "")
            let leave = button(
                say("Dejar la amistad", "End the friendship"), to: action, ["accion": "dejar"], kind: "bad",
                asks: say("¿Dejar la amistad con \(username)?", "End the friendship with \(username)?"))
            leaf.body += "<p>\(say("Sois amigos.", "You are friends."))</p><div class=\"buttons\">\(talk)\(leave)</div>"
        } else {
            let words = textarea(
                "mensaje", say("Unas palabras (si quieres)", "A few words (optional)"), value: field("mensaje"), rows: 3
            )
            let met = request.form["tema"] ?? query("tema") ?? ""
            leaf.body += """
                <form class="card" method="post" action="\(action)">\(formToken)\
                <h2>\(say("Invitar a ser amigos", "Invite to be friends"))</h2>\
                <input type="hidden" name="tema" value="\(met)">\(words)\
                <button name="accion" value="invitar">\(say("Invitar", "Invite"))</button></form>
                """
        }
        return page(leaf)
    }

    fileprivate func changeFriendship() async throws -> Page {
        _ = try requireMember()
        let name = argument("nombre")
        return try await attempt {
            if field("accion") == "dejar" {
                _ = try await database.call("dejarAmistad", ["usuario": .string(name)])
                return .redirect(to: Visit.path("/amigos", done: "dejada"))
            }
            let result = try await database.call(
                "invitar",
                ["usuario": .string(name), "mensaje": .string(field("mensaje")), "tema": .string(field("tema"))])
            let isAccepted = result?["estado"]?.string == "aceptada"
            return .redirect(to: Visit.path("/amigos", done: isAccepted ? "amigos" : "invitacion"))
        } otherwise: { fault in
            if fault.status == 404 { throw fault }
            return try await person(fault)
        }
    }

    // MARK: friends

    fileprivate func friends(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        let text = (query("texto") ?? "").trimmed
        let list = try await friendList(text)
        let pending = Query(Invitacion.self).where(\.estado == "pendiente" && \.caduca > Date()).limit(100)
        let received = try await database.find(pending.where(\.de != me.pointer).include("de", "tema"))
        let sent = try await database.find(pending.where(\.de == me.pointer).include("para"))
        var leaf = Leaf(say("Amigos", "Friends"), isPrivate: true)
        leaf.place = "/amigos"
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = doneText
        if !received.isEmpty {
            leaf.body += """
                <h2 class="part">\(say("Te han invitado", "You are invited"))</h2><ul class="list">\(received.map(invitation))</ul>
                """
        }
        if !list.isEmpty || !text.isEmpty {
            leaf.body += """
                <form class="search" role="search" action="/amigos"><label for="texto">\
                \(say("Buscar entre tus amigos", "Search your friends"))</label>\
                <input id="texto" name="texto" type="search" value="\(text)"><button>\(say("Buscar", "Search"))</button></form>
                """
        }
        leaf.body +=
            list.isEmpty
            ? "<p class=\"empty\">\(text.isEmpty ? say("Todavía no tienes amigos. Búscalos abajo, o invita a quien escriba en los temas.", "You have no friends yet. Find them below, or invite people who write in the topics.") : say("Ninguno se llama así.", "None of them has that name."))</p>"
            : "<ul class=\"list\">\(list.map(row))</ul>"
        leaf.body += searchForms()
        if !sent.isEmpty {
            let rows = sent.map { one -> HTML in
                let name = one.para?.object?.username ?? one.correo ?? ""
                return "<li>\(HTML.name(name)) <span class=\"meta\">· \(ago(one.createdAt))</span></li>"
            }
            leaf.body += """
                <h2 class="part">\(say("Esperan respuesta", "Waiting for an answer"))</h2><ul class="list">\(rows)</ul>
                """
        }
        return try await noticed(.isIn(\.tipo, ["invitacion", "amistad"])).page(leaf)
    }

    private func invitation(_ one: Record<Invitacion>) -> HTML {
        let met: HTML? = one.tema?.object?.Tema.map {
            "<p class=\"meta\">\(say("En el tema", "In the topic")) \(HTML.name($0))</p>"
        }
        let words: HTML? = one.mensaje.map { "<div class=\"words\" dir=\"auto\">\($0)</div>" }
        let id = one.objectId ?? ""
        return """
            <li class="row"><div>\(author(one.de?.object))\(met)\(words)</div><div class="buttons">\
            \(button(say("Aceptar", "Accept"), to: "/invitaciones", ["accion": "aceptar", "invitacion": id], kind: "small"))\
            \(button(say("Rechazar", "Decline"), to: "/invitaciones", ["accion": "rechazar", "invitacion": id], kind: "second small"))\
            </div></li>
            """
    }

    private func row(_ friend: Friend) -> HTML {
        let first: HTML? = friend.firstName.map { " <span class=\"meta\">\(HTML.name($0))</span>" }
        let here: HTML = friend.isPresent ? " <b class=\"mark\">\(say("en línea", "online"))</b>" : ""
        let talk = button(
            say("Charlar", "Chat"), to: "/charlas", ["accion": "conversar", "usuario": friend.name],
            kind: "second small")
        return """
            <li class="row"><div><a class="person" href="\(path(person: friend.name))">\(HTML.name(friend.name))</a>\
            \(first)\(here)</div>\(talk)</li>
            """
    }

    private func searchForms() -> HTML {
        let known = input(
            "dato", say("Correo o móvil", "Email or mobile number"), value: field("dato"),
            hint: say(
                "Si está aquí y se deja encontrar, sois amigos al momento.",
                "If the person is here and may be found, you are friends at once."),
            more: " required")
        let address = input(
            "correo", say("Correo", "Email"), value: field("correo"), type: "email",
            hint: say("Le mandamos un correo con tu invitación.", "We send a mail with your invitation."),
            more: " required")
        let words = textarea(
            "mensaje", say("Unas palabras (si quieres)", "A few words (optional)"), value: field("mensaje"), rows: 3)
        return """
            <form class="card" method="post" action="/amigos">\(formToken)<h2>\(say("Buscar a alguien", "Find somebody"))</h2>\
            \(known)<button name="accion" value="buscar">\(say("Buscar", "Find"))</button></form>\
            <form class="card" method="post" action="/amigos">\(formToken)\
            <h2>\(say("Invitar por correo", "Invite by email"))</h2>\(address)\(words)\
            <button name="accion" value="invitar">\(say("Invitar", "Invite"))</button></form>
            """
    }

    fileprivate func find() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            if field("accion") == "invitar" {
                _ = try await database.call(
                    "invitar", ["correo": .string(field("correo")), "mensaje": .string(field("mensaje"))])
                return .redirect(to: Visit.path("/amigos", done: "invitacion"))
            }
            let text = field("dato").trimmed
            do {
                _ = try await database.call("buscarAmigo", [text.contains("@") ? "correo" : "movil": .string(text)])
            } catch let error as ParseError where error.code == 101 {
                throw Fault(404, say("No hemos encontrado a nadie con ese dato.", "We have found nobody with that."))
            } catch let error as ParseError where [125, 142].contains(error.code) {
                // One field holds both, so that the number alone is not what is wrong.
                throw Fault(
                    400,
                    say(
                        "Escribe un correo o un número de móvil enteros.",
                        "Write a whole email address or mobile number."))
            }
            return .redirect(to: Visit.path("/amigos", done: "amigos"))
        } otherwise: { fault in
            try await friends(fault)
        }
    }

    fileprivate func answerInvitation() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            let accepts = field("accion") == "aceptar"
            let result = try await database.call(
                accepts ? "aceptar" : "rechazar", ["invitacion": .string(field("invitacion"))])
            let isAccepted = result?["estado"]?.string == "aceptada"
            return .redirect(to: Visit.path("/amigos", done: isAccepted ? "amigos" : "rechazada"))
        } otherwise: { fault in
            try await friends(fault)
        }
    }

    // MARK: notices

    fileprivate func noticeList(_ fault: Fault? = nil) async throws -> Page {
        _ = try requireMember()
        let found = try await database.page(Query(Aviso.self).include("de", "tema").limit(50), from: query("desde"))
        var leaf = Leaf(say("Avisos", "Notices"), isPrivate: true)
        leaf.place = "/avisos"
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = doneText
        turn(&leaf, at: "/avisos", next: found.cursor)
        if notices > 0 { leaf.aside = button(say("Marcar todo como leído", "Mark all as read"), to: "/avisos", [:]) }
        leaf.body =
            found.objects.isEmpty
            ? "<p class=\"empty\">\(say("No hay avisos.", "There are no notices."))</p>"
            : "<ul class=\"list\" data-more>\(found.objects.map(row))</ul>"
        leaf.body += pager(leaf, (say("← Más nuevos", "← Newer"), say("Más antiguos →", "Older →")))
        return page(leaf)
    }

    private func row(_ notice: Record<Aviso>) -> HTML {
        let name = notice.de?.object?.username ?? say("Alguien", "Somebody")
        let topic = notice.tema?.object?.Tema ?? ""
        let (path, words): (String?, String) =
            switch notice.tipo {
            case "tema" where topic.isEmpty, "comentario" where topic.isEmpty:
                (
                    nil,
                    say(
                        "\(name) ha escrito en un tema que ya se ha borrado",
                        "\(name) has written in a topic that was deleted since")
                )
            case "tema":
                (
                    "/tema/\(notice.objeto ?? "")",
                    say("\(name) ha abierto el tema «\(topic)»", "\(name) has opened the topic “\(topic)”")
                )
            case "comentario":
                (
                    "/comentario/\(notice.objeto ?? "")",
                    say("\(name) ha comentado en «\(topic)»", "\(name) has commented in “\(topic)”")
                )
            case "invitacion": ("/amigos", say("\(name) quiere ser tu amigo", "\(name) wants to be your friend"))
            default:
                // Who has left has no page any more.
                (
                    notice.de?.object == nil ? nil : self.path(person: name),
                    say("\(name) y tú ya sois amigos", "You and \(name) are friends now")
                )
            }
        let new: HTML = notice.leido == true ? "" : "<b class=\"mark new\">\(say("nuevo", "new"))</b> "
        let told = path.map { "<a href=\"\($0)\">\(HTML.name(words))</a>" as HTML } ?? HTML.name(words)
        return "<li>\(new)\(told) <span class=\"meta\">· \(ago(notice.createdAt))</span></li>"
    }

    fileprivate func readNotices() async throws -> Page {
        let me = try requireMember()
        return try await attempt {
            try await request.rules.updateAll(Query(Aviso.self).where(\.para == me.pointer && \.leido == false)) {
                $0.leido = true
            }
            return .redirect(to: Visit.path("/avisos", done: "leidos"))
        } otherwise: { fault in
            try await noticeList(fault)
        }
    }
}
