import Core
import Forum
import Glibc
import Hermes
import Postgres
import TestSupport
import Testing

@Suite struct StartTests {
    /// The forum comes to a database that has users and topics, and comes again.
    @Test func itStartsOnADatabaseThatHoldsDataAlready() async throws {
        let database = try await TestDatabase.make()
        let options: [String: Value] = ["databaseURI": .string(database.conninfo), "workers": 1]
        try await Hermes().test(options) { client in
            let topic = try await client.post("classes/Temas", ["Tema": "De antes", "puntos": 7])
            #expect(topic.status == 201, "\(topic.body)")
            _ = try await client.signUp("vieja")
        }
        for _ in 1...2 {
            try await Forum.application().test(options) { client in
                let village = Village(stranger: client)
                let topics = try await client.get("classes/Temas")
                #expect(topics.results.map { $0["Tema"] } == ["De antes"])
                #expect(topics.results.first?["puntos"] == 7)
                #expect(try await village.rows("Normas").count == 10)
                let roles = try await client.asMaster.get("roles")
                #expect(
                    Set(roles.results.compactMap { $0["name"]?.string })
                        == ["nuevos", "miembros", "moderadores", "administradores"])
                #expect(roles.results.count == 4)
            }
        }
        // A member who has read thousands of topics is not looked for by his name alone.
        let expected = try await database.withDatabase { _, database in
            let rows = try await database.read(
                """
                SELECT attname FROM pg_attribute WHERE attrelid = '"Lecturas"'::regclass AND 'n_distinct=200' = ANY (attoptions)
                ORDER BY 1
                """)
            return (0..<rows.count).map { rows.string($0, 0) }
        }
        #expect(expected == ["conversacion", "tema", "usuario"])
    }

    /// What `scripts/serve` prints last leads to a page where a person can sign up; its first call signs somebody up.
    @Test func theBannersAddressAndCallSignPeopleUp() async throws {
        let folder = HermesProcess.makeFolder("forum-banner")
        defer { removeFolder(folder) }
        let test = try await TestDatabase.make()
        try await onWorker { loop in
            let server = try HermesProcess(folder: folder, conninfo: test.conninfo, options: forumOptions)
            try await server.waitUntilReady(loop)
            let last = String(server.printed.split(separator: "\n").last ?? "")
            let address = try #require(last.split(separator: " ").first { $0.hasPrefix("http") }, "\(last)")
            #expect(last.contains("browser") && address == "http://127.0.0.1:\(server.port)/")
            let first = try await send("GET", server, "/", [], loop)
            #expect(first.status == 200 && first.text.contains("href=\"/registro\""))
            let form = try await send("GET", server, "/registro", [], loop)
            #expect(form.status == 200 && form.text.contains("name=\"clave\""))
            let body = try #require(server.printed.split(separator: "-d '").dropFirst().first?.prefix { $0 != "'" })
            let made = try await send("POST", server, "/parse/users", Array(body.utf8), loop)
            #expect(made.status == 201 && made.json["sessionToken"] != nil, "\(body): \(made.text)")
            server.child.signal(SIGTERM)
            _ = try await server.exit(within: 60)
        }
        withExtendedLifetime(test) {}
    }

    @Test func administratorsAreModerators() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let boss = try await village.oldMember("boss")
            try await village.give(boss, "administradores")
            let (topic, comment) = try await ana.open("Lo que manda la jefa")
            #expect(try await boss.client.put("classes/Temas/\(topic)", ["fijado": true]).status == 200)
            #expect(try await boss.client.put("classes/Comentarios/\(comment)", ["oculto": true]).status == 200)
        }
    }

    @Test func noClientMakesRoles() async throws {
        try await withForum { village in
            let boss = try await village.oldMember("boss")
            try await village.give(boss, "administradores")
            for client in [village.stranger, boss.client] {
                let made = try await client.post("roles", ["name": "jefes", "ACL": [:]])
                #expect(made.code == 119, "\(made.body)")
            }
            #expect(try await village.master.get("roles").results.count == 4)
        }
    }

    @Test func tenRulesInBothLanguagesForAll() async throws {
        try await withForum { village in
            let rules = try await village.stranger.get("classes/Normas")
            #expect(rules.results.map { $0["orden"]?.int } == Array(1...10))
            #expect(
                rules.results.allSatisfy {
                    $0["texto_es"]?.string?.isEmpty == false && $0["texto_en"] != $0["texto_es"]
                })
            let mod = try await village.moderator()
            let path = "classes/Normas/\(rules.results.first?["objectId"]?.string ?? "")"
            for client in [village.stranger, mod.client] {
                #expect(try await client.post("classes/Normas", ["orden": 11]).code == 119)
                #expect(try await client.put(path, ["texto_es": "Todo vale"]).code == 119)
                #expect(try await client.delete(path).code == 119)
            }
        }
    }

    @Test func newMembersAreNewForADay() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            _ = try await village.master.post("jobs/ascender")
            try await settled(village)
            func role(_ member: Member) async throws -> [Value?] {
                let condition = #"{"users":{"__type":"Pointer","className":"_User","objectId":"\#(member.id)"}}"#
                return try await village.master.get("roles?where=\(condition.inURL)").results.map { $0["name"] }
            }
            #expect(try await role(ana) == ["nuevos"])
            try await village.grow(ana)
            _ = try await village.master.post("jobs/ascender")
            try await settled(village)
            #expect(try await role(ana) == ["miembros"])
            #expect(try await role(bea) == ["nuevos"])
        }
    }

    @Test func refusalsSpeakTheMembersLanguage() async throws {
        try await withForum { village in
            let ana = try await village.member("ana", language: "es")
            let bob = try await village.member("bob", language: "en")
            let eva = try await village.member("eva", language: nil)
            let short: Value = ["tema": "Roma?", "comentario": "Hola"]
            for (client, asked, words) in [
                (ana.client, "en", "caracteres"), (bob.client, "es", "characters"),
                (eva.client, "es-MX,en;q=0.5", "caracteres"),
                (eva.client, "en;q=0.3,es;q=0.8", "caracteres"), (eva.client, "fr,de;q=0.5", "characters"),
            ] {
                let answer = try await client.with(header: "Accept-Language", asked).post("functions/abrirTema", short)
                #expect(answer["error"]?.string?.contains(words) == true, "\(asked): \(answer.body)")
                let plain = try await client.with(header: "Accept-Language", asked)
                    .post("classes/Temas", ["Tema": "Roma?"])
                #expect(plain["error"]?.string?.contains(words) == true, "\(asked): \(plain.body)")
            }
        }
    }

    @Test func textIsFoundInBothLanguages() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let (topic, first) = try await ana.open(
                "Playas tranquilas de Cádiz", "Some beaches are far from everything")
            _ = try await ana.open("Castillos de Jaén", "Caminamos por las murallas")
            let best = try await ana.comment(topic, "Beaches, beaches, beaches: the beach").id
            func found(_ className: String, _ field: String, _ term: String, _ more: String = "") async throws
                -> [String]
            {
                let condition = "{\"\(field)\":{\"$text\":{\"$search\":{\"$term\":\"\(term)\"\(more)}}}}"
                let answer = try await village.stranger.get(
                    "classes/\(className)?keys=objectId&order=$score&where=\(condition.inURL)")
                return answer.results.compactMap { $0["objectId"]?.string }
            }
            for term in ["playa", "cadiz", "CÁDIZ playas", "tranquilo"] {
                #expect(try await found("Temas", "Tema", term) == [topic], "\(term)")
            }
            for term in ["playa jaén", "lay"] { #expect(try await found("Temas", "Tema", term) == [], "\(term)") }
            #expect(try await found("Comentarios", "comentario", "beach") == [best, first])
            #expect(try await found("Comentarios", "comentario", "beach", ",\"$language\":\"en\"") == [best, first])
            #expect(try await found("Comentarios", "comentario", "caminar", ",\"$language\":\"es\"").count == 1)
            let odd = #"{"Tema":{"$text":{"$search":{"$term":"playa","$language":"klingon"}}}}"#
            #expect(try await village.stranger.get("classes/Temas?where=\(odd.inURL)").code == 102)
        }
    }
}

extension Village {
    /// Makes an account two days old.
    func grow(_ member: Member) async throws {
        try await database?.execute(
            "UPDATE \"_User\" SET \"createdAt\" = now() - interval '2 days' WHERE \"objectId\" = '\(member.id)'")
    }
}
