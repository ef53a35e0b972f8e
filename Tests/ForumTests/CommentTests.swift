import Hermes
import Testing

@Suite struct CommentTests {
    @Test func whatIsRefused() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let topic = try await ana.open("Sin palabras").topic
            for words in ["", "   ", " \n\t\u{3000}\u{2003}\u{00A0}"] {
                #expect(try await ana.comment(topic, words).code == 142)
            }
            let bare = try await ana.client.post("classes/Comentarios", [:])
            #expect(bare.code == 142)
            #expect(bare["error"]?.string?.contains("Tema, comentario") == true, "\(bare.body)")
            let text = try await ana.client.post("classes/Comentarios", ["Tema": "texto", "comentario": "Hola"])
            #expect(text.code == 142)
            #expect(try await ana.comment("inventado1", "Al vacío").code == 101)
            let stranger = try await village.stranger.post("classes/Comentarios", Member.comment(topic, "Desde fuera"))
            #expect(stranger.code == 101)
            let read = try await village.stranger.get("classes/Temas/\(topic)")
            #expect(read["comentarios"] == 1)
        }
    }

    @Test func whoAndWhenAreTheServers() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let topic = try await ana.open("Relojes de Praga").topic
            var lies = Member.comment(topic, "La puntualidad").object ?? [:]
            let past = Date(timeIntervalSince1970: 1_600_000_000)
            lies.merge([
                "usuario": ana.pointer, "fecha": .date(past), "editado": .date(past), "oculto": true,
                "ACL": ["*": ["write": true]],
            ]) { _, new in new }
            let made = try await bea.client.post("classes/Comentarios", .object(lies))
            let read = try await village.stranger.get("classes/Comentarios/\(made.id)")
            #expect(read["usuario"]?["username"] == nil)
            #expect(read["usuario"]?.pointer?.object?["username"] == "bea", "\(read.body)")
            #expect(read["usuario"]?.pointer?.object?["email"] == nil)
            #expect(read["editado"] == nil && read["oculto"] == false)
            #expect(read["fecha"]?.date ?? past > past)
            let own = try await bea.client.get("classes/Comentarios/\(made.id)")
            #expect(own["usuario"]?.pointer?.object?["email"] == nil, "with the name, and with nothing else")
            let foreign = try await village.stranger.put("classes/Comentarios/\(made.id)", ["comentario": "No"])
            #expect(foreign.code == 101)
            for field in ["usuario", "fecha", "editado", "oculto", "Tema"] {
                let change = try await bea.client.put("classes/Comentarios/\(made.id)", [field: lies[field] ?? .null])
                #expect(change.code == 119, "\(field): \(change.body)")
            }
        }
    }

    @Test func anAuthorChangesTheWordsForAQuarterOfAnHour() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let mod = try await village.moderator()
            let topic = try await ana.open("Erratas de viaje").topic
            let path = "classes/Comentarios/\(try await bea.comment(topic, "Allí ay playas").id)"
            for client in [village.stranger, ana.client] {
                #expect(try await client.put(path, ["comentario": "Mentira"]).code == 101)
                #expect(try await client.delete(path).code == 101)
            }
            #expect(try await mod.client.put(path, ["comentario": "Censura"]).code == 119)
            #expect(try await bea.client.put(path, ["comentario": " "]).code == 142)
            #expect(try await bea.client.put(path, ["comentario": "Allí hay playas"]).status == 200)
            let read = try await village.stranger.get(path)
            #expect(read["comentario"] == "Allí hay playas" && read["editado"]?.date != nil)
            let late = Date().addingTimeInterval(-16 * 60)
            #expect(try await village.master.put(path, ["fecha": .date(late)]).status == 200)
            #expect(try await bea.client.put(path, ["comentario": "Tarde"]).code == 119)
            #expect(try await bea.client.delete(path).status == 200)
        }
    }

    @Test func countsDatesAndAuthorsFollow() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let mod = try await village.moderator()
            let (topic, first) = try await ana.open("Tren a Tombuctú")
            func standing() async throws -> (Int?, Value?, Value?) {
                let read = try await village.stranger.get("classes/Temas/\(topic)")
                return (read["comentarios"]?.int, read["ultimo"], read["ultimoAutor"])
            }
            let begun = try await standing()
            let second = try await bea.comment(topic, "No hay tren").id
            let date = try await village.stranger.get("classes/Comentarios/\(second)")["fecha"]
            #expect(try await standing() == (2, date, bea.pointer))
            let hide = try await mod.client.put("classes/Comentarios/\(second)", ["oculto": true])
            #expect(hide.status == 200, "\(hide.body)")
            #expect(try await standing() == (1, begun.1, ana.pointer))
            _ = try await mod.client.put("classes/Comentarios/\(second)", ["oculto": true])
            #expect(try await standing().0 == 1)
            _ = try await mod.client.put("classes/Comentarios/\(second)", ["oculto": false])
            #expect(try await standing() == (2, date, bea.pointer))
            _ = try await bea.client.delete("classes/Comentarios/\(second)")
            #expect(try await standing() == (1, begun.1, ana.pointer))
            _ = try await ana.client.delete("classes/Comentarios/\(first)")
            let empty = try await standing()
            #expect(empty.0 == 0 && empty.2 == ana.pointer)
            let created = try await village.stranger.get("classes/Temas/\(topic)")["createdAt"]
            #expect(empty.1?.date.map { Value.date($0) } == empty.1 && created != nil)
        }
    }

    @Test func aHiddenOneIsGoneForAllButItsAuthorAndModerators() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let mod = try await village.moderator()
            let topic = try await ana.open("Mercado negro").topic
            let id = try await bea.comment(topic, "Vendo pasaportes").id
            let path = "classes/Comentarios/\(id)"
            #expect(try await mod.client.put(path, ["oculto": true]).status == 200)
            let condition = #"{"comentario":{"$text":{"$search":{"$term":"pasaporte"}}}}"#.inURL
            let inside =
                #"{"objectId":{"$select":{"query":{"className":"Comentarios","where":{"oculto":true}},"key":"Tema.objectId"}}}"#
            for (client, sees) in [
                (village.stranger, false), (ana.client, false), (bea.client, true), (mod.client, true),
            ] {
                #expect(try await client.get(path).code == (sees ? nil : 101))
                #expect(try await client.get("classes/Comentarios?where=\(condition)").results.count == (sees ? 1 : 0))
                let count = try await client.get("classes/Comentarios?count=1&limit=0")
                #expect(count["count"] == (sees ? 2 : 1))
                _ = try await client.get("classes/Temas?where=\(inside.inURL)")
            }
            #expect(try await bea.client.put(path, ["comentario": "Regalo pasaportes"]).code == 101)
            #expect(try await bea.client.delete(path).code == 101)
            #expect(try await ana.call("denunciar", ["comentario": .string(id)]).code == 101)
            #expect(try await mod.client.delete(path).status == 200)
            let read = try await village.stranger.get("classes/Temas/\(topic)")
            #expect(read["comentarios"] == 1)
        }
    }

    @Test func theThirdFlagHides() async throws {
        try await withForum { village in
            let bea = try await village.oldMember("bea")
            let (topic, comment) = try await bea.open("Ofertas de hoy", "Compre ya")
            let mod = try await village.moderator()
            let parameters: Value = ["comentario": .string(comment), "motivo": "Publicidad"]
            #expect(try await bea.call("denunciar", parameters).code == 119)
            #expect(try await village.stranger.post("functions/denunciar", parameters).code == 142)
            #expect(try await mod.call("denunciar").code == 142)
            #expect(try await mod.call("denunciar", ["comentario": "inventado1"]).code == 101)
            for (index, name) in ["ana", "eva", "leo"].enumerated() {
                let visible = try await village.stranger.get("classes/Comentarios/\(comment)")
                #expect(visible.status == 200, "after \(index) flags")
                let member = try await village.member(name)
                #expect(try await member.call("denunciar", parameters)["result"] == [:])
                let again = try await member.call("denunciar", parameters)
                #expect(again.code == (index < 2 ? 137 : 101))
                let flags = try await member.client.get("classes/Denuncias")
                #expect(flags.code == 119)
            }
            #expect(try await village.stranger.get("classes/Comentarios/\(comment)").code == 101)
            #expect(try await village.stranger.get("classes/Temas/\(topic)")["comentarios"] == 0)
            #expect(try await mod.client.get("classes/Denuncias").results.count == 3)
            #expect(try await mod.client.put("classes/Comentarios/\(comment)", ["oculto": false]).status == 200)
            #expect(try await mod.client.get("classes/Denuncias").results.isEmpty)
            #expect(try await village.stranger.get("classes/Temas/\(topic)")["comentarios"] == 1)
            #expect(try await mod.client.post("classes/Denuncias", parameters).code == 119)
        }
    }

    @Test func limitsOfNewMembersAndOfRepetition() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.member("bea")
            let topic = try await ana.open("Cuenta conmigo").topic
            let other = try await ana.open("Cuenta sin mí").topic
            for index in 1...9 { #expect(try await bea.comment(topic, "Número \(index)").status == 201) }
            #expect(try await bea.comment(topic, "Número 9").code == 137)
            #expect(try await bea.comment(other, " Número 9\n").code == 137)
            #expect(try await ana.comment(topic, "Número 9").status == 201)
            #expect(try await bea.comment(topic, "Número 10").status == 201)
            #expect(try await bea.comment(topic, "Número 11").code == 141)
            // One less does not make room for another.
            let last = try await village.master.get("classes/Comentarios?order=-fecha&limit=1")
            let id = last.results.first?["objectId"]?.string ?? ""
            #expect(try await bea.client.delete("classes/Comentarios/\(id)").status == 200)
            #expect(try await bea.comment(topic, "Número 11").code == 141)
            try await village.give(bea, "miembros")
            #expect(try await bea.comment(topic, "Número 11").status == 201)
            #expect(try await village.stranger.get("classes/Temas/\(topic)")["comentarios"] == 12)
        }
    }

    @Test func aLongOneIsKeptWholeAndFound() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let topic = try await ana.open("Mi vuelta al mundo").topic
            // Words enough to be past what PostgreSQL's list of words holds.
            let long = "Playas tranquilas. " + (0..<200_000).map { "palabra\($0)" }.joined(separator: " ") + " "
            let made = try await ana.comment(topic, long)
            #expect(made.status == 201, "\(made.body)")
            #expect(try await ana.client.get("classes/Comentarios/\(made.id)")["comentario"]?.string == long)
            let search = #"{"comentario":{"$text":{"$search":{"$term":"PLAYA tranquila"}}}}"#.inURL
            #expect(try await ana.client.get("classes/Comentarios?keys=objectId&where=\(search)").results.count == 1)
        }
    }
}
