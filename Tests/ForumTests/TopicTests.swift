import Foundation
import Hermes
import Testing

@Suite struct TopicTests {
    @Test func aNameIsTidyAndItsOwn() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let topic = try await ana.open("  Ávila \t y sus\u{3000}murallas ").topic
            let read = try await village.stranger.get("classes/Temas/\(topic)")
            #expect(read["Tema"] == "Ávila y sus murallas")
            #expect(read["clave"] == nil)
            for name in ["avila y sus murallas", "A\u{301}VILA Y SUS MURALLAS"] {
                let plain = try await ana.client.post("classes/Temas", ["Tema": .string(name)])
                #expect(plain.code == 137)
                #expect(plain["error"]?.string?.hasSuffix(topic) == true, "\(plain.body)")
                let function = try await ana.call("abrirTema", ["tema": .string(name), "comentario": "Hola"])
                #expect(function["error"]?.string?.hasSuffix(topic) == true, "\(function.body)")
            }
            _ = try await ana.open("Cañas y barro")
            _ = try await ana.open("Canas y barro")
            let marked = "Abulense" + String(repeating: "\u{301}", count: 6400)
            for name: Value in [
                .string(marked), "Úbeda", "   Úbeda   ", "", .string(String(repeating: "é", count: 201)), 7, .null,
            ] {
                let answer = try await ana.client.post("classes/Temas", ["Tema": name])
                #expect(answer.code == 142, "\(name): \(answer.body)")
            }
            let unclear = try await ana.client.post("classes/Temas", ["Tema": "Faros del sur", "avisar": "no"])
            #expect(unclear.code == 142 && unclear["error"]?.string?.contains("avisar") == true, "\(unclear.body)")
            let long = try await ana.client.post("classes/Temas", ["Tema": .string(String(repeating: "é", count: 200))])
            #expect(long.status == 201, "\(long.body)")
            let renamed = try await ana.client.put("classes/Temas/\(topic)", ["Tema": "ÁVILA y sus murallas"])
            #expect(renamed.status == 200, "\(renamed.body)")
            let taken = try await ana.client.put("classes/Temas/\(topic)", ["Tema": "cañas  y barro"])
            #expect(taken.code == 137)
        }
    }

    /// By every way that a write can take.
    @Test func whatTheServerKeepsItKeeps() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let lies: [String: Value] = [
                "comentarios": 900, "autor": bea.pointer, "ultimoAutor": bea.pointer, "fijado": true, "clave": "x",
                "importado": true, "ACL": ["*": ["read": true, "write": true]], "avisar": false,
            ]
            let body = { (name: String) -> Value in .object(lies.merging(["Tema": .string(name)]) { _, new in new }) }
            let plain = try await ana.client.post("classes/Temas", body("Faros del norte"))
            let batch = try await ana.client.post(
                "batch",
                [
                    "transaction": true,
                    "requests": [
                        ["method": "POST", "path": "/parse/classes/Temas", "body": body("Faros del sur")]
                    ],
                ])
            let inBatch = batch.body[0]?["success"]?["objectId"]?.string ?? ""
            for id in [plain.id, inBatch] {
                let read = try await village.master.get("classes/Temas/\(id)")
                #expect(read["comentarios"] == 0, "\(read.body)")
                #expect(read["autor"] == ana.pointer)
                #expect(read["ultimoAutor"] == ana.pointer)
                #expect(read["fijado"] == false)
                #expect(read["avisar"] == nil)
                let foreign = try await bea.client.put("classes/Temas/\(id)", ["Tema": "Mío ahora"])
                #expect(foreign.code == 101)
                for (field, value) in lies where !["ACL", "avisar"].contains(field) {
                    let change = try await ana.client.put("classes/Temas/\(id)", [field: value])
                    #expect(change.code == 119, "\(field): \(change.body)")
                }
            }
            let number = try await ana.client.put("classes/Temas/\(plain.id)", ["cerrado": "sí"])
            #expect(number.code == 142)
        }
    }

    @Test func whoDoesWhat() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let mod = try await village.moderator()
            let (topic, _) = try await ana.open("Rutas por Gredos")
            let path = "classes/Temas/\(topic)"
            let nobody = try await village.stranger.post("classes/Temas", ["Tema": "Nadie en casa"])
            #expect(nobody.code == 101)
            for client in [village.stranger, bea.client] {
                for change: Value in [["Tema": "Mío ahora"], ["cerrado": true], ["fijado": true]] {
                    #expect(try await client.put(path, change).code == 101)
                }
                #expect(try await client.delete(path).code == 101)
            }
            #expect(try await ana.client.put(path, ["fijado": true]).code == 119)
            #expect(try await mod.client.put(path, ["Tema": "Otro nombre"]).code == 119)
            #expect(try await mod.client.put(path, ["fijado": true]).status == 200)
            #expect(try await mod.client.put(path, ["cerrado": true]).status == 200)
            for member in [ana, bea, mod] {
                #expect(try await member.comment(topic, "¿Llego tarde?").code == 141)
            }
            let import_ = try await village.master.post("classes/Comentarios", Member.comment(topic, "Importado"))
            #expect(import_.code == 141)
            #expect(try await ana.client.put(path, ["cerrado": false]).status == 200)
            #expect(try await bea.comment(topic, "A tiempo").status == 201)
            #expect(try await ana.client.delete(path).code == 119)
            #expect(try await mod.client.delete(path).status == 200)
            #expect(try await village.rows("Comentarios").isEmpty)
            let alone = try await ana.open("Hostales de Faro").topic
            #expect(try await ana.client.delete("classes/Temas/\(alone)").status == 200)
            #expect(try await village.rows("Lecturas").isEmpty)
        }
    }

    @Test func howManyInADay() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            for index in 1...3 { _ = try await ana.open("Primer día \(index)") }
            let fourth = try await ana.call("abrirTema", ["tema": "Primer día 4", "comentario": "Hola"])
            #expect(fourth.code == 141)
            #expect(try await ana.client.post("classes/Temas", ["Tema": "Primer día 4"]).code == 141)
            // What the master key imports is no doing of hers.
            for index in 1...30 {
                let imported = try await village.master.post(
                    "classes/Temas", ["Tema": "Importado \(index)", "autor": ana.pointer, "avisar": false])
                #expect(imported.status == 201, "\(imported.body)")
            }
            try await village.give(ana, "miembros")
            for index in 4...20 {
                let topic = try await ana.client.post("classes/Temas", ["Tema": "Día largo \(index)", "avisar": false])
                #expect(topic.status == 201, "\(topic.body)")
            }
            #expect(try await ana.client.post("classes/Temas", ["Tema": "Uno de más"]).code == 141)
        }
    }

    @Test func whatIsGoneCountsForItsDay() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let mod = try await village.moderator()
            let first = try await ana.open("Primer día 1")
            for index in 1...9 { #expect(try await ana.comment(first.topic, "Número \(index)").status == 201) }
            // Both ways: by its author, by a moderator, and comments with their topic.
            #expect(try await ana.client.delete("classes/Temas/\(first.topic)").status == 200)
            let spam = try await ana.client.post("classes/Temas", ["Tema": "Primer día 2", "avisar": false])
            #expect(try await mod.client.delete("classes/Temas/\(spam.id)").status == 200)
            let third = try await ana.client.post("classes/Temas", ["Tema": "Primer día 3", "avisar": false])
            #expect(third.status == 201, "\(third.body)")
            #expect(try await ana.client.post("classes/Temas", ["Tema": "Primer día 4"]).code == 141)
            #expect(try await ana.comment(third.id, "Número 10").code == 141)
            #expect(try await village.rows("Borrados").count == 12)
            #expect(try await mod.client.get("classes/Borrados").code == 119)
            // They last a day.
            for gone in try await village.rows("Borrados") {
                let old: Value = .date(Date().addingTimeInterval(-90_000))
                let id = try #require(gone["objectId"]?.string)
                #expect(try await village.master.put("classes/Borrados/\(id)", ["fecha": old]).status == 200)
            }
            #expect(try await ana.open("Primer día 4").topic.isEmpty == false)
            #expect(try await village.master.post("jobs/caducar").status == 200)
            try await settled(village)
            #expect(try await village.rows("Borrados").isEmpty)
        }
    }

    @Test func theListIsPinnedThenLatestAndCountsWhatIsNew() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let mod = try await village.moderator()
            var topics: [String] = []
            for name in ["Alpes a pie", "Bretaña en coche", "Córcega en barco"] {
                topics.append(try await ana.open(name).topic)
            }
            _ = try await bea.comment(topics[0], "Subo yo")
            _ = try await mod.client.put("classes/Temas/\(topics[1])", ["fijado": true])
            let list = try await bea.client.get("classes/Temas")
            #expect(list.results.map { $0["objectId"]?.string } == [topics[1], topics[0], topics[2]])
            #expect(list.results.map { $0["noLeidos"]?.int } == [1, 0, 1])
            let narrow = try await bea.client.get("classes/Temas?keys=Tema")
            #expect(narrow.results.allSatisfy { $0["noLeidos"] == nil })
            let stranger = try await village.stranger.get("classes/Temas")
            #expect(stranger.results.allSatisfy { $0["noLeidos"] == nil })
            let read = try await bea.call("leer", ["tema": .string(topics[2])])
            #expect(read["result"] == ["noLeidos": 0])
            let one = try await bea.client.get("classes/Temas/\(topics[2])")
            #expect(one["noLeidos"] == 0)
            #expect(try await bea.call("leer", ["tema": "inventado1"]).code == 101)
            #expect(try await bea.call("leer").code == 142)
            let mine = try await bea.client.get("classes/Temas?where=\(#"{"noLeidos":{"$gt":0}}"#.inURL)")
            #expect(mine.results.isEmpty)
        }
    }
}
