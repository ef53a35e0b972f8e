import Core
import Glibc
import Hermes
import Postgres
import TestSupport
import Testing

@Suite struct NoticeTests {
    /// What a member is told of an object, once all jobs have ended.
    private func notices(_ village: Village, of object: String) async throws -> [Value] {
        try await settled(village)
        return try await village.rows("Avisos", "{\"objeto\":\"\(object)\"}")
    }

    @Test func whoIsToldOfWhat() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let eva = try await village.oldMember("eva")
            _ = try await eva.client.put("classes/Persona/\(eva.persona)", ["avisos": false])
            let opened = try await ana.call("abrirTema", ["tema": "Novedades", "comentario": "Hola"])
            let topic = opened["result"]?["tema"]?.string ?? ""
            let told = try await notices(village, of: topic)
            #expect(told.map { $0["para"] } == [bea.pointer])
            #expect(told.first?["tipo"] == "tema" && told.first?["de"] == ana.pointer && told.first?["leido"] == false)
            // Who is told reads it, and nobody else.
            let own = try await bea.client.get("classes/Avisos")
            #expect(own.results.map { $0["objeto"]?.string } == [topic])
            for other in [ana, eva] { #expect(try await other.client.get("classes/Avisos").results.isEmpty) }
            let answer = try await bea.client.post(
                "classes/Comentarios", ["Tema": .pointer(AnyPointer("Temas", topic)), "comentario": "Respuesta"])
            let second = try await notices(village, of: answer.id)
            #expect(second.map { $0["para"] } == [ana.pointer])
            #expect(second.first?["tema"] == .pointer(AnyPointer("Temas", topic)))
            let whisper = try await bea.comment(topic, "Susurro")
            #expect(try await notices(village, of: whisper.id).isEmpty)
            let kept = try await village.stranger.get("classes/Comentarios/\(whisper.id)")
            #expect(kept["avisar"] == nil)
        }
    }

    @Test func theyAreTheirAddresseesAlone() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let mod = try await village.moderator()
            try await village.befriend(ana, bea)
            let list = try await bea.client.get("classes/Avisos")
            #expect(list.results.map { $0["tipo"] } == ["amistad"])
            let path = "classes/Avisos/\(list.results.first?["objectId"]?.string ?? "")"
            #expect(try await village.stranger.get("classes/Avisos").code == 101)
            for other in [ana, mod] {
                #expect(try await other.client.get(path).code == 101)
                #expect(try await other.client.put(path, ["leido": true]).code == 101)
                #expect(try await other.client.delete(path).code == 101)
                #expect(
                    try await other.client.post("classes/Avisos", ["para": bea.pointer, "tipo": "tema"]).code == 119)
            }
            for change: Value in [["tipo": "tema"], ["para": ana.pointer], ["leido": true, "objeto": "x"]] {
                #expect(try await bea.client.put(path, change).code == 119)
            }
            #expect(try await bea.client.put(path, ["leido": true]).status == 200)
            let unread = try await bea.client.get("classes/Avisos?count=1&limit=0&where=\(#"{"leido":false}"#.inURL)")
            #expect(unread["count"] == 0)
            #expect(try await bea.client.delete(path).status == 200)
        }
    }

    /// How many notices there are of an object, and of how many members.
    private func told(_ database: Postgres.Database, _ object: String) async throws -> (Int64, Int64) {
        let rows = try await database.read(
            "SELECT count(*), count(DISTINCT \"para\") FROM \"Avisos\" WHERE \"objeto\" = $1", [.text(object)])
        return (rows.int(0, 0), rows.int(0, 1))
    }

    /// The server that tells many is killed, and another one goes on.
    @Test func aJobThatIsKilledTellsNobodyTwice() async throws {
        let folder = HermesProcess.makeFolder("forum-notices")
        defer { removeFolder(folder) }
        let test = try await TestDatabase.make()
        try await onWorker { loop in
            let first = try HermesProcess(folder: folder, name: "one", conninfo: test.conninfo, options: forumOptions)
            try await first.waitUntilReady(loop)
            // Members enough for a job that takes a while; made past all rules.
            let count = 6_000
            try await test.execute(
                """
                INSERT INTO "Persona" ("objectId", "createdAt", "updatedAt", "usuario", "avisos", "Nombre", "ciudad")
                SELECT 'p' || lpad(n::text, 9, '0'), now(), now(), 'u' || lpad(n::text, 9, '0'), n % 10 > 0, 'N', 'C'
                FROM generate_series(1, \(count)) AS n
                """)
            let author = try await post(
                first, "functions/registrar",
                [
                    "usuario": "ana", "contraseña": "Clave-7", "correo": "ana@example.com", "nombre": "Ana",
                    "movil": "611000222", "ciudad": "Soria",
                ], loop)
            let token = author["result"]?.object?["sessionToken"]?.string ?? ""
            let opened = try await post(
                first, "functions/abrirTema", ["tema": "Para todos", "comentario": "Hola"], loop, token: token)
            let topic = opened["result"]?.object?["tema"]?.string ?? ""
            try await test.withDatabase { _, database in
                try await until(database.loop) { try await told(database, topic).0 > 0 }
                first.child.signal(SIGKILL)
                let middle = try await told(database, topic)
                let second = try HermesProcess(
                    folder: folder, name: "two", conninfo: test.conninfo, options: forumOptions)
                try await second.waitUntilReady(database.loop)
                try await until(database.loop) {
                    let rows = try await database.read(
                        "SELECT count(*) FROM \"_Job\" WHERE \"state\" IN ('waiting', 'running') AND \"kind\" = 'parse'",
                        [])
                    return rows.int(0, 0) == 0
                }
                let now = try await told(database, topic)
                #expect(now == (Int64(count * 9 / 10), Int64(count * 9 / 10)), "after \(middle): \(second.printed)")
                second.child.signal(SIGTERM)
                _ = try await second.exit(within: 60)
            }
        }
        withExtendedLifetime(test) {}
    }
}
