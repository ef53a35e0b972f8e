import Hermes
import Testing

@Suite struct WebPeopleTests {
    private func action(_ page: TestPage, _ pattern: Regex<(Substring, Substring)>) throws -> String {
        String(try #require(page.text.firstMatch(of: pattern), "\(page.text)").output.1)
    }

    @Test func friendsAreInvitedAnsweredAndTalkedTo() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob", "en")
            let hostile = "<b onclick=x>hola</b>"
            try await ana.get("/miembro/nadie", 404)
            let done = try await ana.send(["accion": "invitar", "mensaje": hostile], to: "/miembro/bob")
            #expect(done.header("Location") == "/amigos?hecho=invitacion")
            #expect(try await ana.get("/amigos").text.contains("Esperan respuesta"))
            let again = try await ana.send(["accion": "invitar"], to: "/miembro/bob", 400)
            #expect(again.text.contains("Ya hay una invitación pendiente."))
            let notices = try await bob.get("/avisos")
            #expect(notices.text.contains("<html lang=\"en\">") && notices.text.contains("ana wants to be your friend"))
            let page = try await bob.get("/amigos")
            #expect(page.text.contains("&lt;b onclick=x&gt;hola&lt;/b&gt;") && !page.text.contains(hostile))
            let id = try action(page, /name="invitacion" value="(\w+)"/)
            // Only whom it is for.
            try await ana.send(["accion": "aceptar", "invitacion": id], to: "/invitaciones", from: "/amigos", 403)
            try await bob.send(["accion": "aceptar", "invitacion": id], to: "/invitaciones", from: "/amigos")
            #expect(try await ana.get("/amigos").text.contains("<bdi>bob</bdi>"))
            #expect(try await ana.get("/miembro/bob").text.contains("bob@example.com"), "friends see addresses")
            // A form of another visit leaves them as they are, and brings the list with a form that serves.
            let foreign = try await bob.browser.post("/avisos", ["prueba": "x"])
            #expect(foreign.status == 403 && foreign.text.contains("mark new"))
            #expect(foreign.text.contains("class=\"error\"") && foreign.formToken != nil, "\(foreign.text)")
            try await bob.send([:], to: "/avisos")
            #expect(try await !bob.get("/avisos").text.contains("mark new"))

            let begun = try await ana.send(["accion": "conversar", "usuario": "bob"], to: "/charlas", from: "/amigos")
            let chat = try #require(begun.header("Location"))
            try await ana.send(["cuerpo": hostile], to: chat)
            let list = try await bob.get("/charlas")
            #expect(
                list.text.contains("1 new") && list.text.contains("href=\"\(chat)\"") && !list.text.contains(hostile))
            let said = try await bob.get(chat)
            #expect(said.text.contains("&lt;b onclick=x&gt;") && !said.text.contains(hostile))
            #expect(try await !bob.get("/charlas").text.contains("1 new"), "it was read")
            try await bob.send(["cuerpo": "  "], to: chat, 400)
            let eve = try await site.member("eve")
            try await eve.get(chat, 404)
            let message = try action(try await ana.get(chat), /<li id="m(\w+)"/)
            try await bob.send(["accion": "quitar", "mensaje": message], to: chat, 404)
            try await ana.send(["accion": "quitar", "mensaje": message], to: chat)
            #expect(try await !bob.get(chat).text.contains("onclick"))
            try await ana.send(["accion": "dejar"], to: "/miembro/bob")
            try await bob.send(["cuerpo": "¿Hola?"], to: chat, 403)
        }
    }

    @Test func whoIsInvitedReadsWhereTheyMet() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob", "en")
            let topic = try await bob.open("Night trains")
            let link = try action(try await ana.get(topic), /href="(\/miembro\/bob[^"]*)"/)
            #expect(link == "/miembro/bob?tema=\(topic.dropFirst(6))")
            let met = try action(try await ana.get(link), /name="tema" value="(\w+)"/)
            try await ana.send(["accion": "invitar", "tema": met], to: "/miembro/bob", from: link)
            let page = try await bob.get("/amigos")
            #expect(page.text.contains("In the topic <bdi>Night trains</bdi>"))
            // Which says what its notice said.
            #expect(!page.text.contains("class=\"count\""), "\(page.text)")
            #expect(try await ana.get("/miembro/ana").text.contains("<a href=\"/ajustes\">Cambiar mis datos</a>"))
        }
    }

    @Test func whoReadsATopicHasReadItsNotices() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let users = try await site.client.asMaster.get("users")
            let reader = users["results"]?[0]?["objectId"]?.string ?? ""
            let bob = try await site.member("bob")
            var topics: [String] = []
            for name in ["Trenes nocturnos", "Trenes diurnos"] {
                topics.append(try await bob.open(name))
                let notice = try await site.client.asMaster.post(
                    "classes/Avisos",
                    [
                        "para": .pointer(AnyPointer("_User", reader)), "tipo": "tema", "leido": false,
                        "objeto": .string("de \(name)"),
                        "tema": .pointer(AnyPointer("Temas", String(topics.last?.dropFirst(6) ?? ""))),
                        "ACL": [reader: ["read": true, "write": true]],
                    ])
                #expect(notice.status == 201, "\(notice.body)")
            }
            let before = try action(try await ana.get("/ajustes"), /class="count">(\d+)</)
            let page = try await ana.get(topics[0])
            let after = try action(page, /class="count">(\d+)</)
            #expect(Int(after).map { $0 + 1 } ?? 0 <= Int(before) ?? 0 && after != "0", "the page itself says so")
            let notices = try await ana.get("/avisos")
            #expect(notices.count("nocturnos»") >= 1 && notices.count("diurnos»") >= 1)
            for row in notices.text.split(separator: "<li>") where row.contains("»") {
                #expect(row.contains("mark new") == row.contains("diurnos"), "\(row)")
            }
        }
    }

    /// Who does not see which side a message stands on is told whose it is.
    @Test func messagesSayWhoseTheyAre() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob", "en")
            let chat = try await ana.talk(to: "bob")
            try await ana.send(["cuerpo": "¿Vamos?"], to: chat)
            #expect(try await ana.get(chat).text.contains("<span class=\"unseen\">Tú: </span>"))
            #expect(try await bob.get(chat).text.contains("<span class=\"unseen\"><bdi>ana</bdi>: </span>"))
        }
    }

    @Test func anEmptiedChatIsGoneOnWith() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob")
            let chat = try await ana.talk(to: "bob")
            try await ana.send(["cuerpo": "Lo de antes"], to: chat)
            try await ana.send(["accion": "borrar"], to: chat)
            #expect(try await !ana.get("/charlas").text.contains(chat))
            let again = try await ana.send(
                ["accion": "conversar", "usuario": "bob"], to: "/charlas", from: "/amigos")
            #expect(again.header("Location") == chat)
            let page = try await ana.get(chat)
            #expect(page.text.contains("<bdi>bob</bdi>") && !page.text.contains("Lo de antes"))
            try await ana.send(["cuerpo": "Lo de ahora"], to: chat)
            #expect(try await ana.get("/charlas").text.contains(chat))
            #expect(try await bob.get(chat).text.contains("Lo de antes"))
            try await site.member("eve").get(chat, 404)
        }
    }

    /// A form that is sent twice, by a finger that is too quick or again because the answer got lost.
    @Test func aMessageIsSaidOnce() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob")
            let chat = try await ana.talk(to: "bob")
            let page = try await ana.get(chat)
            let count = try action(page, /name="tras" value="(\d+)"/)
            let form = ["prueba": try #require(page.formToken), "tras": count, "cuerpo": "Sí"]
            async let one = ana.browser.post(chat, form)
            async let other = ana.browser.post(chat, form)
            for page in try await [one, other] {
                #expect(page.status == 303 && page.header("Location") == chat, "\(page.text)")
            }
            #expect(try await bob.get(chat).count("dir=\"auto\">Sí<") == 1)
            // Whoever has seen it may say the same again, and so may the other.
            try await ana.send(["cuerpo": "Sí", "tras": String(Int(count)! + 1)], to: chat)
            try await bob.send(["cuerpo": "Sí", "tras": count], to: chat)
            try await ana.send(["cuerpo": "No", "tras": count], to: chat)
            let all = try await ana.get(chat)
            #expect(all.count("dir=\"auto\">Sí<") == 3 && all.count("dir=\"auto\">No<") == 1)
            #expect(all.text.contains("name=\"tras\" value=\"4\""))
            // What no page has sent keeps no message back.
            for count in ["-9223372036854775808", "9223372036854775807", "-1", "x"] {
                try await ana.send(["cuerpo": "Otra \(count)", "tras": count], to: chat)
            }
            #expect(try await ana.get(chat).count("dir=\"auto\">Otra ") == 4)
            let eve = try await site.member("eve")
            let stranger = try await eve.browser.post(
                chat, ["prueba": try #require(try await eve.get("/ajustes").formToken), "cuerpo": "Hola"])
            #expect(stranger.status == 404)
        }
    }

    @Test func whoMayWriteNoMoreIsToldSoAndReadsHisChats() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob", "en")
            _ = try await site.member("eva")
            let topic = try await ana.open("Auroras en marzo")
            let chat = try await bob.talk(to: "ana")
            let made = try await bob.send(["accion": "grupo", "nombre": "Lofoten", "con:ana": "1"], to: "/charlas")
            let group = try #require(made.header("Location"))
            let proof = try #require(try await bob.get(topic).formToken)
            try await site.ban("bob")
            for path in [chat, group, "/charlas", "/avisos", "/ajustes", topic] {
                #expect(!(try await bob.get(path).text.contains("sign up")), "\(path)")
            }
            #expect(try await bob.get("/charlas").text.contains(chat))
            let words = "Your account can no longer write in the forum"
            for (path, form) in [
                (topic, ["comentario": "Al norte"]), ("/nuevo", ["tema": "Otro tema", "comentario": "Al norte"]),
                ("/miembro/eva", ["accion": "invitar", "mensaje": "Al norte"]),
                ("/amigos", ["accion": "invitar", "correo": "x@example.com", "mensaje": "Al norte"]),
            ] {
                var whole = form
                whole["prueba"] = proof
                let refused = try await bob.browser.post(path, whole)
                #expect(refused.text.contains(words) && refused.text.contains("Al norte</textarea>"), "\(refused.text)")
                #expect([403].contains(refused.status) && !refused.text.contains("sign up"), "\(path)")
            }
            for path in [topic, "/nuevo"] {
                let page = try await bob.get(path)
                #expect(page.text.contains(words) && !page.text.contains("<textarea"), "\(path)")
            }
        }
    }

    @Test func aNoticeOfADeletedTopicSaysSo() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let users = try await site.client.asMaster.get("users")
            let pointer = Value.pointer(AnyPointer("_User", users["results"]?[0]?["objectId"]?.string ?? ""))
            for kind in ["tema", "comentario"] {
                let notice = try await site.client.asMaster.post(
                    "classes/Avisos",
                    [
                        "para": pointer, "de": pointer, "tipo": .string(kind), "objeto": "borrado123", "leido": false,
                        "tema": .pointer(AnyPointer("Temas", "borrado123")),
                        "ACL": [users["results"]?[0]?["objectId"]?.string ?? "": ["read": true, "write": true]],
                    ])
                #expect(notice.status == 201, "\(notice.body)")
            }
            let page = try await ana.get("/avisos")
            #expect(page.count("un tema que ya se ha borrado") == 2, "\(page.text)")
            #expect(!page.text.contains("«»") && !page.text.contains("borrado123"))
        }
    }

    @Test func groupsAreMadeJoinedAndLeft() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob")
            _ = try await site.member("luz")
            for name in ["bob", "luz"] {
                let found = try await ana.send(["accion": "buscar", "dato": "\(name)@example.com"], to: "/amigos")
                #expect(found.header("Location") == "/amigos?hecho=amigos")
            }
            let nobody = try await ana.send(["accion": "buscar", "dato": "nadie@example.com"], to: "/amigos", 404)
            #expect(nobody.text.contains("No hemos encontrado a nadie"))
            #expect(try await ana.get("/amigos?texto=lu").text.contains("<bdi>luz</bdi>"))
            let empty = try await ana.send(["accion": "grupo", "nombre": "Lofoten"], to: "/charlas", 400)
            #expect(empty.text.contains("value=\"Lofoten\"") && empty.text.contains("Elige a un amigo"))
            let made = try await ana.send(["accion": "grupo", "nombre": "Lofoten", "con:bob": "1"], to: "/charlas")
            let group = try #require(made.header("Location"))
            try await ana.send(["accion": "añadir", "con:luz": "1"], to: group)
            try await ana.send(["accion": "nombre", "nombre": "Noruega"], to: group)
            let seen = try await bob.get(group)
            #expect(seen.text.contains("<title>Noruega ·") && seen.text.contains("<bdi>luz</bdi>"))
            try await bob.send(["accion": "eliminar"], to: group, 403)
            try await bob.send(["accion": "salir"], to: group)
            try await bob.get(group, 404)
            try await ana.send(["accion": "eliminar"], to: group)
            try await ana.get(group, 404)
        }
    }

    @Test func whatWasWrittenIsChangedReportedAndModerated() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob")
            _ = try await site.member("mod")
            try await site.give("mod", "miembros")
            try await site.give("mod", "moderadores")
            let mod = site.visitor("en")
            try await mod.send(["usuario": "mod", "clave": "Clave-7"], to: "/entrar")
            let topic = try await ana.open("Un tema de ana", "Lo primero")
            let comment = try action(try await ana.get(topic), /<li id="c(\w+)"/)
            let editor = "/comentario/\(comment)/editar"
            try await ana.send(["accion": "guardar", "comentario": "Lo segundo"], to: editor)
            #expect(try await bob.get(topic).text.contains(">Lo segundo<"))
            let blank = try await ana.send(["accion": "guardar", "comentario": " "], to: editor, 400)
            #expect(blank.text.contains("role=\"alert\""))
            for path in [editor, "\(topic)/editar", "/moderar"] {
                try await bob.get(path, 403)
                let answer = try await bob.browser.post(
                    path, ["accion": "borrar", "prueba": try #require(try await bob.get(topic).formToken)])
                #expect([403, 404].contains(answer.status), "\(path)")
            }
            #expect(try await site.visitor().get(editor, 303).header("Location")?.hasPrefix("/entrar") == true)
            let flagged = try await bob.send(["motivo": "<i>feo</i>"], to: "/comentario/\(comment)/denunciar")
            #expect(flagged.header("Location") == "\(topic)?hecho=denuncia")
            try await bob.send([:], to: "/comentario/\(comment)/denunciar", 400)
            let reports = try await mod.get("/moderar")
            #expect(reports.text.contains("&lt;i&gt;feo&lt;/i&gt;") && reports.text.contains("Lo segundo"))
            // What is nothing is dismissed without hiding it.
            #expect(!(try await ana.get(editor).text.contains("descartar")))
            try await ana.send(["accion": "descartar"], to: editor, 403)
            let dismissed = try await mod.send(["accion": "descartar"], to: editor)
            let none = try await mod.get(try #require(dismissed.header("Location")))
            #expect(none.text.contains("No hay nada que moderar.") && none.text.contains("están descartadas"))
            #expect(!(try await mod.get(editor).text.contains("descartar")))
            #expect(try await bob.get(topic).text.contains("Lo segundo"))
            try await mod.send(["accion": "ocultar"], to: editor)
            #expect(try await !bob.get(topic).text.contains("Lo segundo"))
            #expect(try await mod.get(topic).text.contains("Lo segundo"))
            try await mod.send(["accion": "mostrar"], to: editor)
            #expect(try await bob.get(topic).text.contains("Lo segundo"))
            for (action, shows) in [("fijar", "Fijado"), ("cerrar", "Cerrado")] {
                try await mod.send(["accion": action], to: "\(topic)/editar")
                #expect(try await bob.get("/").text.contains(">\(shows)<"))
            }
            #expect(try await !bob.get(topic).text.contains("<textarea"), "who cannot comment gets no form")
            try await ana.send(["accion": "abrir"], to: "\(topic)/editar")
            try await ana.send(["accion": "fijar"], to: "\(topic)/editar", 403)
            try await ana.send(["accion": "nombre", "tema": "Otro nombre"], to: "\(topic)/editar")
            #expect(try await bob.get("/").text.contains(">Otro nombre<"))
            try await ana.send(["accion": "borrar"], to: editor)
            let gone = try await mod.send(["accion": "borrar"], to: "\(topic)/editar")
            #expect(try await mod.get(try #require(gone.header("Location"))).text.contains("El tema está borrado."))
            try await bob.get(topic, 404)
        }
    }
}
