import Hermes
import Testing

/// `cursor` on the forum's classes.
@Suite struct PagingTests {
    /// All pages, one after another, with something done between them.
    private func pages(
        _ client: TestClient, _ path: String, _ between: () async throws -> Void = {}
    ) async throws -> [String] {
        var ids: [String] = []
        var cursor = ""
        for _ in 0..<100 {
            let answer = try await client.get("\(path)&cursor=\(cursor.inURL)")
            try #require(answer.status == 200, "\(answer.body)")
            ids += answer.results.compactMap { $0["objectId"]?.string }
            guard let next = answer["cursor"]?.string else {
                #expect(answer["cursor"] == .null)
                return ids
            }
            cursor = next
            try await between()
        }
        throw ParseError(nil, "the pages do not end")
    }

    @Test func pagesGoOnWhereTheyWere() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            for index in 1...7 {
                let answer = try await village.master.post(
                    "classes/Temas",
                    [
                        "Tema": .string("Etapa \(index) del camino"), "avisar": false, "fijado": .bool(index == 2),
                        // Of one date some.
                        "ultimo": .date(Date(timeIntervalSince1970: 1_700_000_000 + Double(index / 3))),
                    ])
                #expect(answer.status == 201, "\(answer.body)")
            }
            let all = try await ana.client.get("classes/Temas").results.compactMap { $0["objectId"]?.string }
            #expect(all.count == 7)
            for limit in 1...8 {
                #expect(try await pages(ana.client, "classes/Temas?limit=\(limit)") == all, "\(limit)")
            }
            for order in ["Tema", "-Tema", "fijado,-ultimo", "-ultimo,Tema", "ultimoAutor,-createdAt", "objectId"] {
                let whole = try await ana.client.get("classes/Temas?order=\(order)")
                    .results.compactMap { $0["objectId"]?.string }
                #expect(try await pages(ana.client, "classes/Temas?limit=2&order=\(order)") == whole, "\(order)")
            }
            // What is opened in between comes first, and moves nothing.
            var count = 0
            let moved = try await pages(village.stranger, "classes/Temas?limit=3") {
                count += 1
                _ = try await ana.open("Etapa de propina \(count)")
            }
            #expect(moved == all)
        }
    }

    @Test func commentsMessagesNoticesAndConversations() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            try await village.befriend(ana, bea)
            let topic = try await ana.open("Muchas páginas").topic
            let chat = try await ana.chat(with: bea)
            for index in 1...24 {
                _ = try await ana.comment(topic, "Número \(index)")
                _ = try await ana.write(chat, "Número \(index)")
            }
            for index in 1...4 {
                _ = try await ana.call("crearGrupo", ["nombre": .string("G\(index)"), "miembros": ["bea"]])
            }
            for index in 1...5 {
                _ = try await village.member("m\(index)").call("buscarAmigo", ["correo": "bea@example.com"])
            }
            for (path, total, usual) in [
                ("Comentarios", 25, 20), ("Mensajes", 24, 24), ("Avisos", 6, 6), ("Conversaciones", 5, 5),
            ] {
                let whole = try await bea.client.get("classes/\(path)?limit=100")
                #expect(whole.results.count == total, "\(path): \(whole.results.count)")
                #expect(try await bea.client.get("classes/\(path)").results.count == usual)
                let ids = whole.results.compactMap { $0["objectId"]?.string }
                #expect(try await pages(bea.client, "classes/\(path)?limit=5") == ids, "\(path)")
                #expect(try await pages(bea.client, "classes/\(path)?limit=100") == ids, "\(path)")
            }
            let counted = try await bea.client.get("classes/Comentarios?cursor=&limit=5&count=1")
            #expect(counted["count"] == 25)
        }
    }

    @Test func aFalseCursorIsRefused() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            for name in ["Uno de tres", "Dos de tres", "Tres de tres"] { _ = try await ana.open(name) }
            let first = try await ana.client.get("classes/Temas?limit=1&cursor=")
            let cursor = try #require(first["cursor"]?.string)
            for query in [
                "cursor=inventado", "cursor=\(cursor.dropLast(4))", "cursor=\(cursor)&order=Tema", "cursor=7",
                "cursor=\(cursor)&skip=3", "cursor=&skip=1", "cursor=&order=$score",
            ] {
                let answer = try await ana.client.get("classes/Temas?limit=1&\(query)")
                #expect(answer.code == 102, "\(query): \(answer.body)")
            }
            #expect(try await ana.client.get("classes/Temas?limit=1&cursor=\(cursor)&skip=0").status == 200)
            #expect(try await ana.client.get("classes/Comentarios?cursor=\(cursor)").code == 102)
        }
    }
}
