import Hermes
import Testing

@Suite struct WebWritingTests {
    @Test func somebodySignsUpWritesAndLeaves() async throws {
        try await withSite { site in
            let ana = site.visitor("es")
            let done = try await ana.send(
                [
                    "usuario": "ana", "correo": "ana@example.com", "clave": "Clave-7", "nombre": "Ana",
                    "movil": "600 100 200", "ciudad": "Soria", "a": "/nuevo",
                ], to: "/registro")
            #expect(done.header("Location") == "/nuevo")
            let cookie = try #require(done.headers.first { $0.value.hasPrefix("sesion=") }?.value)
            #expect(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Lax"))
            let path = try await ana.open("Auroras en marzo", "¿Dónde se ven?")
            let topic = try await ana.get(path)
            #expect(topic.text.contains("¿Dónde se ven?") && topic.text.contains("<bdi>ana</bdi>"))
            let comment = try await ana.send(["comentario": "Uno\r\nDos"], to: path)
            #expect(comment.header("Location")?.hasPrefix("\(path)#c") == true)
            #expect(try await ana.get(path).text.contains(">Uno\nDos<"))
            // The rules are the API's.
            let other = try await ana.open("Auroras en abril")
            let again = try await ana.send(["comentario": "Uno\nDos"], to: other, 400)
            #expect(again.text.contains("Acabas de escribir lo mismo") && again.text.contains("Uno\nDos</textarea>"))
            let token = ana.browser.cookies["sesion"] ?? ""
            try await ana.send([:], to: "/salir", from: "/")
            #expect(ana.browser.cookies["sesion"] == nil)
            let gone = try await site.client.asSession(token).get("users/me")
            #expect(gone.code == 209)
            #expect(try await ana.get("/nuevo", 303).header("Location") == "/entrar?a=%2Fnuevo")
            // By the address too, and back to where one was.
            let back = try await ana.send(
                ["usuario": "ANA@example.com", "clave": "Clave-7", "a": "/nuevo"], to: "/entrar")
            #expect(back.header("Location") == "/nuevo")
            #expect(try await ana.get("/nuevo").text.contains("Abrir un tema"))
        }
    }

    /// Who presses twice, or sends a form again because the answer got lost, sees what he has written.
    @Test func aFormThatComesTwiceCountsOnce() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let form = ["tema": "Auroras en marzo", "comentario": "¿Dónde\r\nse ven?"]
            let topic = try #require(try await ana.send(form, to: "/nuevo").header("Location"))
            #expect(try await ana.send(form, to: "/nuevo").header("Location") == topic)
            let said = try #require(try await ana.send(["comentario": "En Tromsø"], to: topic).header("Location"))
            let again = try #require(try await ana.send(["comentario": "En Tromsø "], to: topic).header("Location"))
            #expect(again == said.replacing("#", with: "?hecho=dicho#"))
            let page = try await ana.get(String(again.prefix { $0 != "#" }))
            #expect(page.text.contains("Eso ya lo habías publicado") && page.count("En Tromsø<") == 1)
            // Who has something else to say is told where.
            let bob = try await site.member("bob", "en")
            for (visitor, words) in [(ana, "Otra cosa"), (bob, "¿Dónde\nse ven?")] {
                let refused = try await visitor.send(
                    ["tema": "Auroras  en MARZO", "comentario": words], to: "/nuevo", 400)
                #expect(refused.text.contains(": <a href=\"\(topic)\">"), "\(refused.text)")
                #expect(refused.text.contains("\(words)</textarea>"))
            }
            let own = try await bob.open("Night trains")
            let renamed = try await bob.send(
                ["accion": "nombre", "tema": "Auroras en marzo"], to: own + "/editar", 400)
            #expect(renamed.text.contains("There is a topic with that name: <a href=\"\(topic)\">see that topic</a>"))
        }
    }

    /// A topic is closed or deleted, and a comment's quarter of an hour ends, while somebody writes.
    @Test func whatIsWrittenTooLateIsShown() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let path = try await ana.open("Auroras en marzo")
            let proof = try #require(try await ana.get(path).formToken)
            func sent(_ form: [String: String], to path: String, _ status: Int) async throws -> TestPage {
                let page = try await ana.browser.post(path, form.merging(["prueba": proof]) { $1 })
                #expect(page.status == status, "\(page.text)")
                #expect(page.text.contains("Lo que habías escrito") && page.text.contains(">\nAl norte</textarea>"))
                return page
            }
            let said = try #require(try await ana.send(["comentario": "Uno"], to: path).header("Location"))
            let comment = String(said.split(separator: "#c")[1])
            let old = Value.date(Date(timeIntervalSinceNow: -1000))
            #expect(
                try await site.client.asMaster.put("classes/Comentarios/\(comment)", ["fecha": old]).status == 200)
            let late = try await sent(["comentario": "Al norte"], to: "/comentario/\(comment)/editar", 403)
            #expect(late.text.contains("durante quince minutos"))
            #expect(
                try await site.client.asMaster.put("classes/Comentarios/\(comment)", ["oculto": true]).status == 200)
            let hidden = try await ana.get("/comentario/\(comment)/editar")
            #expect(hidden.text.contains("han ocultado el comentario") && !hidden.text.contains("value=\"borrar\""))
            try await ana.send(["accion": "cerrar"], to: path + "/editar")
            let closed = try await sent(["comentario": "Al norte"], to: path, 400)
            #expect(closed.text.contains("El tema está cerrado"))
            try await ana.send(["accion": "abrir"], to: path + "/editar")
            #expect(try await site.client.asMaster.delete("classes/Temas/\(path.dropFirst(6))").status == 200)
            _ = try await sent(["comentario": "Al norte"], to: path, 404)
        }
    }

    @Test func whatIsRefusedSaysWhyInTheReadersLanguage() async throws {
        try await withSite { site in
            _ = try await site.member("ana")
            let bob = site.visitor("en")
            var form = [
                "usuario": "Ana", "correo": "bob@example.com", "clave": "Clave-7", "nombre": "Bob",
                "movil": "600100200",
                "ciudad": "York",
            ]
            let taken = try await bob.send(form, to: "/registro", 400)
            #expect(taken.text.contains("That user name is taken.") && taken.text.contains("value=\"bob@example.com\""))
            #expect(!taken.text.contains("Clave-7"), "a password is shown to nobody")
            form["usuario"] = "bob"
            form["movil"] = "no"
            #expect(
                try await bob.send(form, to: "/registro", 400).text.contains("Missing or not valid: mobile number."))
            form["movil"] = "600100200"
            // No mail could go there.
            for address in ["bob@example@com", "bob", "b ob@example.com"] {
                form["correo"] = address
                let refused = try await bob.send(form, to: "/registro", 400)
                #expect(refused.text.contains("The email address is not valid."))
            }
            let wrong = try await bob.send(["usuario": "ana", "clave": "otra"], to: "/entrar", 400)
            #expect(wrong.text.contains("The user name or the password is wrong."))
            #expect(bob.browser.cookies["sesion"] == nil)
            let sent = try await bob.send(["correo": "nadie@example.com"], to: "/recuperar", 200)
            #expect(sent.text.contains("a mail is on its way"))
            // A member's own language goes before the browser's.
            let ana = site.visitor("en")
            try await ana.send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar")
            #expect(try await ana.get("/").text.contains("<html lang=\"es\">"))
            let short = try await ana.send(["tema": "corto", "comentario": "x"], to: "/nuevo", 400)
            #expect(short.text.contains("El nombre del tema debe tener entre 6 y 200 caracteres."))
            #expect(short.text.contains("role=\"alert\""))
            let empty = try await ana.send(["tema": "", "comentario": " "], to: "/nuevo", 400)
            #expect(empty.text.contains("Faltan o no son válidos: tema, comentario. Son obligatorios."))
            #expect(try await ana.get("/moderar", 403).text.contains("Esto es solo para moderadores."))
        }
    }

    @Test func formsOfOtherSitesDoNothing() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let path = try await ana.open("Un tema mío")
            let eve = try await site.member("eve")
            let foreign = try #require(try await eve.get(path).formToken)
            let own = try #require(try await ana.get(path).formToken)
            let tries: [([String: String], [(String, String)])] = [
                (["comentario": "ajeno"], []), (["comentario": "ajeno", "prueba": foreign], []),
                (["comentario": "ajeno", "prueba": String(own.dropLast()) + "~"], []),
                (["comentario": "ajeno", "prueba": own], [("Sec-Fetch-Site", "cross-site")]),
                (["comentario": "ajeno", "prueba": own], [("Sec-Fetch-Site", "same-site")]),
            ]
            for (form, headers) in tries {
                let answer = try await ana.browser.post(path, form, headers: headers)
                #expect(answer.status == 403)
                // What was written is not lost.
                #expect(answer.text.contains("ajeno</textarea>"))
            }
            #expect(!(try await ana.get(path).text.contains("ajeno")))
            #expect(try await ana.browser.post("/salir", [:]).status == 403)
            #expect(try await ana.browser.post("/nuevo", ["tema": "Otro tema", "comentario": "x"]).status == 403)
            try await ana.get("/nuevo")
            // Nobody is logged in by another site, and none is registered.
            let visitor = site.visitor()
            #expect(try await visitor.browser.post("/entrar", ["usuario": "ana", "clave": "Clave-7"]).status == 403)
            #expect(visitor.browser.cookies["sesion"] == nil)
            // Without a session nothing is written.
            #expect(try await visitor.browser.post(path, ["comentario": "x"]).status == 403)
            #expect(try await visitor.browser.post("/nuevo", ["tema": "Otro tema", "comentario": "x"]).status == 403)
            // Nor is somebody led on to what another site has written.
            let sent = try await visitor.browser.post(
                path, ["comentario": "ajeno"], headers: [("Sec-Fetch-Site", "cross-site")])
            #expect(sent.status == 303 && !sent.text.contains("ajeno"))
            let topics = try await site.client.get("classes/Temas")
            #expect(topics["results"]?.array?.count == 1)
        }
    }

    @Test func noLinkLeadsAwayFromTheSite() async throws {
        try await withSite { site in
            _ = try await site.member("ana")
            for path in ["https://mal.example", "//mal.example", "/\\mal.example", "/x\r\nSet-Cookie: a=b", "mal", ""] {
                let visitor = site.visitor()
                let done = try await visitor.send(["usuario": "ana", "clave": "Clave-7", "a": path], to: "/entrar")
                #expect(done.header("Location") == "/", "\(path)")
            }
        }
    }

    @Test func aSessionThatHasEndedIsForgotten() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let token = ana.browser.cookies["sesion"] ?? ""
            let out = try await site.client.asSession(token).post("logout")
            #expect(out.status == 200)
            #expect(try await ana.get("/entrar?a=%2Famigos").text.contains("Tu sesión ha terminado"))
            #expect(ana.browser.cookies["sesion"] == nil)
            #expect(try await ana.get("/").text.contains("/entrar"))
            #expect(!(try await ana.get("/entrar").text.contains("Tu sesión ha terminado")))
        }
    }

    @Test func whatIsSentAfterTheSessionsEndIsNotLost() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let path = try await ana.open("Auroras en marzo")
            let proof = try #require(try await ana.get(path).formToken)
            _ = try await site.client.asSession(ana.browser.cookies["sesion"] ?? "").post("logout")
            let words = "Largo y \"tendido\""
            var page = try await ana.browser.post(path, ["comentario": words, "prueba": proof])
            #expect(page.status == 403 && page.text.contains("Tu sesión ha terminado"))
            // A wrong password loses it no more than the right one.
            for (password, status) in [("otra", 400), ("Clave-7", 307)] {
                let kept = "name=\"comentario\" value=\"Largo y &quot;tendido&quot;\""
                #expect(page.text.contains(kept) && page.text.contains("name=\"a\" value=\"\(path)\""))
                #expect(!page.text.contains("data-log-in"), "a script would follow without the form")
                let form = [
                    "usuario": "ana", "clave": password, "a": path, "lleva": "1", "comentario": words,
                    "prueba": page.formToken ?? "",
                ]
                page = try await ana.browser.post("/entrar", form)
                #expect(page.status == status, "\(page.text)")
                guard status == 307 else { continue }
                #expect(page.header("Location") == path)
                // A browser sends the same form there: it is shown, and counts once it is sent from there.
                let shown = try await ana.browser.post(path, form)
                #expect(shown.status == 403 && shown.text.contains("Largo y &quot;tendido&quot;</textarea>"))
                #expect(!shown.text.contains("Clave-7"))
            }
            try await ana.send(["comentario": words], to: path)
            #expect(try await ana.get(path).text.contains("Largo y &quot;tendido&quot;</div>"))
        }
    }

    @Test func settingsAreKept() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            var form = [
                "nombre": "Ana \"<i>", "apellidos": "", "movil": "+34 611 222 333", "ciudad": "Jaca", "idioma": "en",
                "localizable": "1",
            ]
            try await ana.send(form, to: "/ajustes")
            let page = try await ana.get("/ajustes?hecho=guardado")
            #expect(page.text.contains("<html lang=\"en\">") && page.text.contains("Saved."))
            #expect(page.text.contains("value=\"Ana &quot;&lt;i&gt;\"") && page.text.contains("+34611222333"))
            #expect(page.text.contains("name=\"avisos\" value=\"1\">"), "it is off")
            #expect(page.text.contains("name=\"localizable\" value=\"1\" checked>"))
            form["movil"] = "12"
            form["ciudad"] = ""
            let refused = try await ana.send(form, to: "/ajustes", 400)
            #expect(
                refused.text.contains("Missing or not valid: city, mobile number.")
                    && refused.text.contains("value=\"12\""))
        }
    }
}
