import Core
import Foundation
import Hermes
import TestSupport
import Testing

@Suite struct InvitationTests {
    @Test func whomOneCannotInvite() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let eva = try await village.member("eva")
            let first = try await ana.call("invitar", ["usuario": "BEA"])
            #expect(first["result"]?["estado"] == "pendiente", "\(first.body)")
            try await village.befriend(ana, eva)
            for (parameters, code) in [
                (["usuario": "bea"], 137), (["usuario": "Eva"], 137), (["correo": "eva@example.com"], 137),
                (["usuario": "ana"], 141), (["correo": "ANA@example.com"], 141), (["usuario": "nadie"], 101),
                ([:], 142),
                (["usuario": "eva", "correo": "eva@example.com"], 142), (["correo": "no es un correo"], 125),
                (["correo": "a@b@c"], 125), (["correo": "<a@example.com>"], 125), (["correo": "a,b@example.com"], 125),
                (["correo": "a@example..com"], 125), (["correo": "ñ@example.com"], 125), (["correo": "a@-b.com"], 125),
                (["usuario": "eva", "mensaje": 7], 142),
                (["correo": "x@example.com", "tema": "inventado1"], 101),
            ] as [(Value, Int)] {
                let answer = try await ana.call("invitar", parameters)
                #expect(answer.code == code, "\(parameters): \(answer.body)")
            }
            #expect(try await village.stranger.post("functions/invitar", ["usuario": "bea"]).code == 142)
            for member in [ana, bea] {
                let made = try await member.client.post("classes/Invitaciones", ["correo": "x@example.com"])
                #expect(made.code == 119)
            }
        }
    }

    @Test func anAnonymousUserIsNobodyByName() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let anonymous = try await village.anonymous()
            let name = try await anonymous.get("users/me")["username"] ?? .null
            #expect(name.string?.isEmpty == false)
            for function in ["invitar", "conversar", "dejarAmistad"] {
                #expect(try await ana.call(function, ["usuario": name]).code == 101, "\(function)")
            }
        }
    }

    /// Nothing that a sender can read says whose an address is.
    @Test func anAddressTellsNothing() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            var seen: [[String: Value]] = []
            for address in ["bea@example.com", "nadie@example.com"] {
                let answer = try await ana.call("invitar", ["correo": .string(address)])
                #expect(answer["result"]?["estado"] == "pendiente")
                let row = try await ana.client.get(
                    "classes/Invitaciones/\(answer["result"]?["invitacion"]?.string ?? "")")
                var fields = row.body.object ?? [:]
                #expect(fields["correo"]?.string == address)
                for name in ["objectId", "createdAt", "updatedAt", "caduca", "correo"] { fields[name] = nil }
                seen.append(fields)
            }
            #expect(seen[0] == seen[1])
            #expect(seen[0]["ACL"] == ["*": ["read": true]])
            for hidden in ["destino", "direccion", "token"] {
                let asked = try await ana.client.get(
                    "classes/Invitaciones?where=\("{\"\(hidden)\":{\"$exists\":true}}".inURL)")
                #expect(asked.code == 119, "\(hidden)")
            }
            // Its owner reads it, nobody else.
            #expect(try await bea.client.get("classes/Invitaciones").results.count == 1)
            let eva = try await village.moderator("eva")
            #expect(try await eva.client.get("classes/Invitaciones").results.isEmpty)
            #expect(try await village.stranger.get("classes/Invitaciones").results.isEmpty)
            // Neither does an invitation by name.
            let named = try await ana.call("invitar", ["usuario": "bea"])
            #expect(named["result"]?["estado"] == "pendiente", "\(named.body)")
            #expect(try await ana.call("invitar", ["usuario": "bea"]).code == 137)
            #expect(try await ana.call("invitar", ["correo": "bea@example.com"]).code == 137)
        }
    }

    @Test func whoAnswersAndHowOften() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let eva = try await village.member("eva")
            let invited = try await ana.call("invitar", ["usuario": "bea"])
            let id = invited["result"]?["invitacion"] ?? .null
            for function in ["aceptar", "rechazar"] {
                #expect(try await village.stranger.post("functions/\(function)", ["invitacion": id]).code == 142)
                #expect(try await ana.call(function, ["invitacion": id]).code == 119)
                #expect(try await eva.call(function, ["invitacion": id]).code == 101)
                #expect(try await bea.call(function, ["invitacion": "inventada1"]).code == 101)
                #expect(try await bea.call(function).code == 142)
                #expect(try await bea.call(function, ["token": "inventado"]).code == 101)
            }
            let path = "classes/Invitaciones/\(id.string ?? "")"
            #expect(try await bea.client.put(path, ["estado": "aceptada"]).code == 119)
            #expect(try await bea.call("aceptar", ["invitacion": id])["result"]?["estado"] == "aceptada")
            for function in ["aceptar", "rechazar"] {
                #expect(try await bea.call(function, ["invitacion": id])["result"]?["estado"] == "aceptada")
            }
            #expect(try await village.rows("Amistades").count == 2)
            let notices = try await village.rows("Avisos", #"{"tipo":"amistad"}"#)
            #expect(Set(notices.map { $0["para"] }) == [ana.pointer, bea.pointer] && notices.count == 2)

            let refused = try await ana.call("invitar", ["usuario": "eva"])
            let other = refused["result"]?["invitacion"] ?? .null
            #expect(try await eva.call("rechazar", ["invitacion": other])["result"]?["estado"] == "rechazada")
            #expect(try await eva.call("aceptar", ["invitacion": other])["result"]?["estado"] == "rechazada")
            #expect(try await ana.call("invitar", ["usuario": "eva"]).code == 141)
            // The address says nothing of the refusal.
            let byAddress = try await ana.call("invitar", ["correo": "eva@example.com"])
            #expect(byAddress["result"]?["estado"] == "pendiente")
        }
    }

    @Test func anInvitationEnds() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let invited = try await ana.call("invitar", ["usuario": "bea"])
            let id = invited["result"]?["invitacion"] ?? .null
            let path = "classes/Invitaciones/\(id.string ?? "")"
            let end = try await bea.client.get(path)["caduca"]?.date ?? Date()
            #expect(abs(end.timeIntervalSinceNow - 30 * 86_400) < 3600)
            _ = try await village.master.put(path, ["caduca": .date(Date().addingTimeInterval(-60))])
            for function in ["aceptar", "rechazar"] {
                #expect(try await bea.call(function, ["invitacion": id]).code == 141)
            }
            _ = try await village.master.post("jobs/caducar")
            try await settled(village)
            #expect(try await ana.client.get(path)["estado"] == "caducada")
            #expect(try await ana.call("invitar", ["usuario": "bea"])["result"]?["estado"] == "pendiente")
        }
    }

    @Test func twentyInADay() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            for index in 1...20 {
                let answer = try await ana.call("invitar", ["correo": .string("alguien\(index)@example.com")])
                #expect(answer.status == 200, "\(answer.body)")
            }
            #expect(try await ana.call("invitar", ["correo": "alguien21@example.com"]).code == 141)
        }
    }

    /// The mail is a part of what caused it: SMTP down, Hermes killed, both back, one mail. Its page accepts, in both
    /// languages, without a session.
    @Test func theMailOutlivesServersAndItsLinkMakesFriends() async throws {
        let folder = HermesProcess.makeFolder("forum-mail")
        defer { removeFolder(folder) }
        let test = try await TestDatabase.make()
        try await onWorker { loop in
            let gone = try await Postbox.open(loop)
            try await gone.stop()
            var options = forumOptions.filter { $0.0 != "email" }
            options.append(("email", ["smtp": .string(gone.url), "from": "Foro <foro@example.com>"]))
            let first = try HermesProcess(folder: folder, name: "one", conninfo: test.conninfo, options: options)
            try await first.waitUntilReady(loop)
            var tokens: [String: String] = [:]
            for (name, language) in [("ana", "en"), ("luz", "es"), ("bob", "en")] {
                let answer = try await post(
                    first, "functions/registrar",
                    [
                        "usuario": .string(name), "contraseña": "Clave-7", "correo": .string("\(name)@example.com"),
                        "nombre": .string(name), "movil": "611000222", "ciudad": "Soria", "idioma": .string(language),
                    ], loop)
                tokens[name] = answer["result"]?.object?["sessionToken"]?.string
            }
            for (name, words) in [("luz", "¿Vamos juntas?\nBcc: nadie@example.com"), ("bob", "  ")] {
                let answer = try await post(
                    first, "functions/invitar", ["usuario": .string(name), "mensaje": .string(words)], loop,
                    token: tokens["ana"])
                #expect(answer["result"]?.object?["estado"] == "pendiente", "\(answer)")
            }
            first.child.signal(SIGKILL)
            _ = try await first.exit(within: 60)

            let postbox = try await Postbox.open(loop, folder: gone.folder, port: gone.port)
            defer { postbox.remove() }
            let second = try HermesProcess(folder: folder, name: "two", conninfo: test.conninfo, options: options)
            try await second.waitUntilReady(loop)
            try await until(loop) { postbox.letters.count >= 2 }
            let bySubject = Dictionary(grouping: postbox.letters) { $0.header("Subject") ?? "" }
            let spanish = try #require(bySubject["¿Quieres ser mi amigo?"]?.first)
            let english = try #require(bySubject["You want to be my friend?"]?.first)
            #expect(postbox.letters.count == 2)
            #expect(spanish.recipients == ["luz@example.com"] && english.recipients == ["bob@example.com"])
            #expect(spanish.text.contains("¿Vamos juntas?") && spanish.text.contains("ana"))
            #expect(!spanish.headerNames.contains("Bcc"))
            #expect(!spanish.text.contains("ana@") && !spanish.html.contains("ana@"))
            #expect(english.text.contains("I would like us to be friends"))

            for (letter, lang, title) in [
                (spanish, "es", "quiere ser tu amigo"), (english, "en", "wants to be your friend"),
            ] {
                let line = try #require(letter.text.split(whereSeparator: \.isNewline).first { $0.contains("token=") })
                let token = try #require(line.split(separator: "token=").last.map(String.init))
                #expect(line.hasPrefix("http") && line.hasSuffix("token=\(token)"))
                let path = "/invitacion?token=\(token)"
                let page = try await send("GET", second, path, [], loop)
                #expect(page.status == 200 && page.text.contains("<html lang=\"\(lang)\">"), "\(page.text)")
                #expect(page.text.contains(title) && page.text.contains("ana"))
                let form = "application/x-www-form-urlencoded"
                #expect(try await send("GET", second, path + "x", [], loop).status == 404)
                #expect(
                    try await send("POST", second, path + "x", Array("respuesta=aceptar".utf8), loop, type: form).status
                        == 404)
                let done = try await send("POST", second, path, Array("respuesta=aceptar".utf8), loop, type: form)
                #expect(done.status == 200, "\(done.text)")
                let after = try await send("POST", second, path, Array("respuesta=rechazar".utf8), loop, type: form)
                #expect(after.status == 200 && after.text.contains(lang == "es" ? "Ya sois amigos" : "You are friends"))
            }
            for name in ["ana", "luz", "bob"] {
                let friends = try await get(second, "classes/Amistades", loop, token: tokens[name])
                #expect(friends["results"]?.array?.count == (name == "ana" ? 2 : 1))
                let told = try await get(
                    second, "classes/Avisos?where=%7B%22tipo%22%3A%22amistad%22%7D", loop, token: tokens[name])
                #expect(told["results"]?.array?.count == (name == "ana" ? 2 : 1))
            }
            // No mail comes late.
            try await loop.sleep(nanoseconds: 500_000_000)
            #expect(postbox.letters.count == 2)
            second.child.signal(SIGTERM)
            _ = try await second.exit(within: 60)
            try await postbox.stop()
        }
        withExtendedLifetime(test) {}
    }
}
