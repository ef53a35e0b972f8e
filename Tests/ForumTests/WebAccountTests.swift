import Foundation
import Hermes
import Testing

@testable import Accounts
@testable import Forum

/// Ways in that are not straight.
@Suite struct WebAccountTests {
    private static let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    @Test func aSecondFactorIsAskedForBesideThePassword() async throws {
        try await withSite(["auth": ["mfa": [:]]]) { site in
            let ana = try await site.member("ana")
            let session = site.client.asSession(ana.browser.cookies["sesion"] ?? "")
            let me = try await session.get("users/me")
            let now = Int64(Date().timeIntervalSince1970) / 30
            let password = try #require(OneTimePassword(secret: WebAccountTests.secret, digits: 6))
            let done = try await session.put(
                "users/\(me.id)",
                [
                    "authData": [
                        "mfa": [
                            "secret": .string(WebAccountTests.secret), "token": .string(password.password(at: now - 1)),
                        ]
                    ]
                ])
            let codes = try #require(done["authDataResponse"]?["mfa"]?["recovery"]?.string, "\(done.body)").split(
                separator: ", ")
            for (language, code, words) in [
                ("es", String(codes[0]), ["pide además un código", "código no es correcto", "no son correctos"]),
                ("en", String(codes[1]), ["asks for a code too", "code is wrong", "password is wrong"]),
            ] {
                let visitor = site.visitor(language)
                let asked = try await visitor.send(
                    ["usuario": "ana", "clave": "Clave-7", "a": "/nuevo"], to: "/entrar", 403)
                #expect(asked.text.contains(words[0]) && asked.text.contains("name=\"codigo\""), "\(asked.text)")
                #expect(asked.text.contains("name=\"a\" value=\"/nuevo\"") && !asked.text.contains("Clave-7"))
                var form = ["usuario": "ana", "clave": "Clave-7", "codigo": "000 000", "a": "/nuevo"]
                let wrong = try await visitor.send(form, to: "/entrar", 400)
                #expect(
                    wrong.text.contains(words[1]) && wrong.text.contains("name=\"codigo\"")
                        && !wrong.text.contains("000 000"))
                form["codigo"] = " \(code)"
                form["clave"] = "otra"
                let refused = try await visitor.send(form, to: "/entrar", 400)
                #expect(refused.text.contains(words[2]) && refused.text.contains("name=\"codigo\""))
                #expect(visitor.browser.cookies["sesion"] == nil)
                form["clave"] = "Clave-7"
                let entered = try await visitor.send(form, to: "/entrar")
                #expect(entered.header("Location") == "/nuevo" && visitor.browser.cookies["sesion"] != nil)
                let again = try await site.visitor(language).send(form, to: "/entrar", 400)
                #expect(again.text.contains(words[1]), "it was used")
            }
            // Of an account without one none is asked for.
            _ = try await site.member("bob")
            try await site.visitor().send(["usuario": "bob", "clave": "Clave-7"], to: "/entrar")
        }
    }

    @Test func whatABrowserSendsCountsForTheLimitsOfTheAPI() async throws {
        let limit: Value = [
            [
                "requestPath": "/login", "requestTimeWindow": 600_000, "requestCount": 3,
                "includeInternalRequests": true,
            ]
        ]
        try await withSite(["rateLimit": limit]) { site in
            _ = try await site.member("ana")
            let visitor = site.visitor("es")
            for _ in 1...3 { try await visitor.send(["usuario": "ana", "clave": "mala"], to: "/entrar", 400) }
            let late = try await visitor.send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar", 429)
            #expect(late.text.contains("Demasiadas peticiones"), "\(late.text)")
            #expect(visitor.browser.cookies["sesion"] == nil)
            let answer = try await site.client.post("login", ["username": "ana", "password": "Clave-7"])
            #expect(answer.status == 429, "the same count: \(answer.body)")
        }
    }

    @Test func anAddressIsChangedByWhoKnowsThePassword() async throws {
        try await withSite(["emailVerifyTokenValidityDuration": 3600]) { site in
            let ana = try await site.member("ana")
            let bob = try await site.member("bob", "en")
            #expect(try await ana.get("/ajustes/cuenta").text.contains("href=\"/ajustes/correo\""))
            let form = try await ana.get("/ajustes/correo")
            #expect(
                form.text.contains("Ahora es ana@example.com.") && form.text.contains("<title>Cambiar de correo · "))
            #expect(
                try await site.visitor().get("/ajustes/correo", 303).header("Location")?.hasPrefix("/entrar") == true)
            for (visitor, address, password, words) in [
                (ana, "nueva@example.com", "otra", "La contraseña no es correcta."),
                (ana, "nueva@example.com", "", "Falta la contraseña."),
                (ana, "bob@example.com", "Clave-7", "Ya hay una cuenta con esa dirección."),
                (ana, "nueva", "Clave-7", "La dirección de correo no es válida."),
                (ana, "", "Clave-7", "Hace falta una dirección de correo."),
                (bob, "new@example.com", "otra", "The password is wrong."),
            ] {
                let refused = try await visitor.send(
                    ["correo": address, "clave": password], to: "/ajustes/correo", 400)
                #expect(refused.text.contains(words), "\(refused.text)")
                #expect(refused.text.contains("<title>Error: C"), "it is heard at once")
                #expect(refused.text.contains("name=\"correo\" type=\"email\" value=\"\(address)\""))
                #expect(!refused.text.contains("value=\"Clave-7\""))
            }
            // Another site changes nothing.
            let foreign = try await ana.browser.post(
                "/ajustes/correo", ["correo": "nueva@example.com", "clave": "Clave-7"])
            #expect(foreign.status == 403)
            #expect(try await ana.get("/ajustes/correo").text.contains("Ahora es ana@example.com."))
            let done = try await ana.send(
                ["correo": " Nueva@example.com ", "clave": "Clave-7"], to: "/ajustes/correo")
            let page = try await ana.get(try #require(done.header("Location")))
            #expect(page.text.contains("Tu correo está cambiado."))
            #expect(try await ana.get("/ajustes/correo").text.contains("Ahora es nueva@example.com."))
            try await site.visitor().send(["usuario": "nueva@example.com", "clave": "Clave-7"], to: "/entrar")
            let persona = try await site.client.asMaster.get(
                "classes/Persona?where=\(#"{"Correo":"nueva@example.com"}"#.inURL)")
            #expect(persona["results"]?.array?.count == 1, "his Persona follows: \(persona.body)")
        }
    }

    /// Nobody is kept from his account by a slip of the pen.
    @Test func anAddressThatHasToBeVerifiedMayBePutRight() async throws {
        let options: [String: Value] = [
            "verifyUserEmails": true, "preventLoginWithUnverifiedEmail": true, "appName": "Foro",
            "publicServerURL": "http://127.0.0.1/parse",
        ]
        try await withSite(options) { site in
            let ana = site.visitor()
            try await ana.signUp("ana")
            #expect(ana.browser.cookies["sesion"] == nil)
            let asked = try await ana.get("/entrar?a=/nuevo&hecho=confirma")
            #expect(asked.text.contains("abre antes el enlace del correo"), "\(asked.text)")
            #expect(asked.text.contains("href=\"/confirmar\""))
            let refused = try await ana.send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar", 403)
            #expect(
                refused.text.contains("Confirma antes tu dirección") && refused.text.contains("href=\"/confirmar\""))
            let wrong = try await ana.send(["usuario": "ana", "clave": "mala"], to: "/entrar", 400)
            #expect(!wrong.text.contains("/confirmar"))
            for address in ["Ana@example.com", "nadie@example.com"] {
                let sent = try await ana.send(["correo": address], to: "/confirmar", 200)
                #expect(sent.text.contains("el correo está en camino"), "\(sent.text)")
            }
            #expect(try await ana.send(["correo": ""], to: "/confirmar", 400).text.contains("dirección"))
            let user = try await site.client.asMaster.get("users")["results"]?.array?.first?["objectId"]?.string ?? ""
            _ = try await site.client.asMaster.put("users/\(user)", ["emailVerified": true])
            try await ana.send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar")
            for address in ["anna@example.com", "ana@example.com"] {
                try await ana.send(["correo": address, "clave": "Clave-7"], to: "/ajustes/correo")
                #expect(try await ana.get("/ajustes/correo").text.contains("Ahora es \(address)."))
            }
            let guessed = try await ana.send(["correo": "x@example.com", "clave": "mala"], to: "/ajustes/correo", 400)
            #expect(guessed.text.contains("La contraseña no es correcta."))
        }
    }

    @Test func aPasswordIsChangedByWhoKnowsIt() async throws {
        try await withSite(["passwordPolicy": ["validatorPattern": "-[0-9]"]]) { site in
            let ana = try await site.member("ana")
            let elsewhere = site.visitor()
            try await elsewhere.send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar")
            for (standing, new, words) in [
                ("otra", "Clave-8", "La contraseña no es correcta."), ("", "Clave-8", "Falta la contraseña."),
                ("Clave-7", "", "Falta la contraseña nueva."), ("Clave-7", "facil", "demasiado fácil"),
            ] {
                let refused = try await ana.send(["clave": standing, "nueva": new], to: "/ajustes/clave", 400)
                #expect(refused.text.contains(words), "\(refused.text)")
                #expect(!refused.text.contains("value=\"Clave"))
            }
            let foreign = try await ana.browser.post("/ajustes/clave", ["clave": "Clave-7", "nueva": "Clave-8"])
            #expect(foreign.status == 403)
            let before = ana.browser.cookies["sesion"]
            let done = try await ana.send(["clave": "Clave-7", "nueva": "Clave-8"], to: "/ajustes/clave")
            #expect(ana.browser.cookies["sesion"] != before)
            let page = try await ana.get(try #require(done.header("Location")))
            #expect(page.text.contains("Tu contraseña está cambiada."))
            // All other sessions are over.
            try await elsewhere.get("/ajustes", 303)
            try await site.visitor().send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar", 400)
            try await site.visitor().send(["usuario": "ana", "clave": "Clave-8"], to: "/entrar")
        }
    }

    @Test func anAccountIsTakenAlongAndClosed() async throws {
        try await withSite(["accountExport": ["hourly": 1]]) { site in
            let ana = try await site.member("ana")
            let topic = try await ana.open("Auroras en marzo", "Al norte")
            let bob = try await site.member("bob")
            try await ana.send(["accion": "buscar", "dato": "bob@example.com"], to: "/amigos")
            #expect(try await ana.get("/ajustes").text.contains("href=\"/ajustes/cuenta\""))
            #expect(
                try await site.visitor().get("/ajustes/cuenta", 303).header("Location")?.hasPrefix("/entrar") == true)
            let file = try await ana.send([:], to: "/ajustes/datos", from: "/ajustes/cuenta", 200)
            #expect(file.header("Content-Disposition") == "attachment; filename=\"hermes-forum.json\"")
            let told = try JSONSerialization.jsonObject(with: Data(file.text.utf8)) as? [String: Any]
            #expect((told?["user"] as? [String: Any])?["email"] as? String == "ana@example.com", "\(file.text)")
            let often = try await ana.send([:], to: "/ajustes/datos", from: "/ajustes/cuenta", 429)
            #expect(often.text.contains("Ya has pedido tus datos hace poco."))
            // Another site closes nothing, nor does who only sits at the machine.
            #expect(try await ana.browser.post("/ajustes/cuenta", ["clave": "Clave-7"]).status == 403)
            #expect(try await ana.browser.post("/ajustes/datos", [:]).status == 403)
            for (password, words) in [("otra", "La contraseña no es correcta."), ("", "Falta la contraseña.")] {
                let refused = try await ana.send(["clave": password], to: "/ajustes/cuenta", 400)
                #expect(refused.text.contains(words), "\(refused.text)")
            }
            let closed = try await ana.send(["clave": "Clave-7"], to: "/ajustes/cuenta")
            #expect(closed.header("Location") == "/?hecho=cuenta" && ana.browser.cookies["sesion"] == nil)
            #expect(try await ana.get("/?hecho=cuenta").text.contains("Tu cuenta está cerrada."))
            let page = try await ana.get(topic)
            #expect(page.text.contains("Al norte") && page.text.contains("alguien que se fue"))
            try await ana.send(["usuario": "ana", "clave": "Clave-7"], to: "/entrar", 400)
            #expect(try await ana.get("/buscar?q=norte").text.contains("<p class=\"meta\"><time"))
            let notices = try await bob.get("/avisos")
            #expect(notices.text.contains("<bdi>Alguien y tú ya sois amigos</bdi>"), "\(notices.text)")
            #expect(!notices.text.contains("/miembro/"))
        }
    }

    @Test func aSecondFactorIsAskedForBeforeAnAccountIsClosed() async throws {
        try await withSite(["auth": ["mfa": [:]]]) { site in
            let bob = try await site.member("bob", "en")
            let session = site.client.asSession(bob.browser.cookies["sesion"] ?? "")
            let now = Int64(Date().timeIntervalSince1970) / 30
            let password = try #require(OneTimePassword(secret: WebAccountTests.secret, digits: 6))
            let mfa: Value = [
                "secret": .string(WebAccountTests.secret), "token": .string(password.password(at: now - 1)),
            ]
            let done = try await session.put(
                "users/\(try await session.get("users/me").id)", ["authData": ["mfa": mfa]])
            let code = try #require(
                done["authDataResponse"]?["mfa"]?["recovery"]?.string?.split(separator: ", ").first, "\(done.body)")
            var form = ["clave": "Clave-7"]
            let asked = try await bob.send(form, to: "/ajustes/cuenta", 403)
            #expect(asked.text.contains("asks for a code too") && asked.text.contains("name=\"codigo\""))
            form["codigo"] = "000 000"
            #expect(try await bob.send(form, to: "/ajustes/cuenta", 400).text.contains("The code is wrong"))
            form["codigo"] = String(code)
            try await bob.send(form, to: "/ajustes/cuenta")
            #expect(bob.browser.cookies["sesion"] == nil)
        }
    }

    /// Who has chosen a password, or whose link is too old, goes on from there.
    @Test func theServersPagesLeadOn() async throws {
        try await withSite { site in
            for (language, logIn, recovery) in [
                ("es", "Entrar", "Pedir otro enlace"), ("en", "Log in", "Ask for another link"),
            ] {
                let browser = site.visitor(language).browser
                for (name, link) in [
                    ("password_reset_success", "<a href=\"/entrar\">\(logIn)</a>"),
                    ("email_verification_success", "<a href=\"/entrar\">\(logIn)</a>"),
                    ("password_reset_link_invalid", "<a href=\"/recuperar\">\(recovery)</a>"),
                ] {
                    let page = try await browser.get("/parse/apps/\(name).html")
                    #expect(page.status == 200 && page.text.contains(link), "\(page.text)")
                }
                let none = try await browser.get("/invitacion?token=x")
                #expect(none.status == 404 && none.text.contains("<a href=\"/\">"))
            }
        }
    }

    @Test func theServersRefusalsAreSaidInTheReadersLanguage() async throws {
        let options: [String: Value] = [
            "accountLockout": ["threshold": 2, "duration": 7],
            "passwordPolicy": ["validatorPattern": "-[0-9]", "doNotAllowUsername": true],
        ]
        try await withSite(options) { site in
            var form = [
                "usuario": "luz", "correo": "luz@example.com", "clave": "facil", "nombre": "Luz",
                "movil": "600100200", "ciudad": "Jaca",
            ]
            for (password, words) in [
                ("facil", "demasiado fácil"), ("luz-7", "no puede contener tu nombre de usuario"),
            ] {
                form["clave"] = password
                let refused = try await site.visitor("es").send(form, to: "/registro", 400)
                #expect(refused.text.contains(words), "\(refused.text)")
            }
            let english = try await site.visitor("en").send(form, to: "/registro", 400)
            #expect(english.text.contains("Password cannot contain your username."))
            _ = try await site.member("ana")
            for _ in 1...2 {
                try await site.visitor("es").send(["usuario": "ana", "clave": "mala"], to: "/entrar", 400)
            }
            for (language, words) in [("es", "dentro de 7 minutos"), ("en", "after 7 minute(s)")] {
                let locked = try await site.visitor(language).send(
                    ["usuario": "ana", "clave": "Clave-7"], to: "/entrar", 400)
                #expect(locked.text.contains(words), "\(locked.text)")
            }
        }
    }
}
