import Hermes
import Testing

@Suite struct FriendTests {
    @Test func oneIsFoundByTheWholeAddressOrNumber() async throws {
        try await withForum { village in
            let ana = try await village.member("ana", number: "+34611000001")
            let bea = try await village.member("bea", number: "+34611000002")
            let eva = try await village.member("eva", number: "+34611000003")
            let leo = try await village.member("leo", number: "+34611000003")
            _ = try await leo.client.get("users/me")
            for (parameters, code) in [
                (["movil": "+3461100000"], 101), (["movil": "+34611000003"], 101), (["movil": "+34611%"], 142),
                (["movil": ["$gt": "+34"]], 142), (["correo": "nadie@example.com"], 101), ([:], 142),
                (["correo": "ana@example.com"], 141), (["movil": "+34611000001"], 141),
                (["correo": "bea@example.com", "movil": "+34611000002"], 142), (["correo": 7], 142),
            ] as [(Value, Int)] {
                let answer = try await ana.call("buscarAmigo", parameters)
                #expect(answer.code == code, "\(parameters): \(answer.body)")
            }
            let stranger = try await village.stranger.post("functions/buscarAmigo", ["correo": "bea@example.com"])
            #expect(stranger.code == 142)
            _ = try await bea.client.put("classes/Persona/\(bea.persona)", ["localizable": false])
            #expect(try await ana.call("buscarAmigo", ["correo": "bea@example.com"]).code == 101)
            _ = try await bea.client.put("classes/Persona/\(bea.persona)", ["localizable": true])
            let found = try await ana.call("buscarAmigo", ["movil": "+34 611-00-00-02"])
            #expect(found["result"] == ["objectId": .string(bea.id), "username": "bea", "nueva": true])
            let again = try await bea.call("buscarAmigo", ["correo": "ANA@example.com"])
            #expect(again["result"]?["nueva"] == false)
            _ = try await eva.client.put("classes/Persona/\(eva.persona)", ["localizable": false])
            // One of two with this number wants to be found.
            #expect(try await ana.call("buscarAmigo", ["movil": "+34611000003"])["result"]?["username"] == "leo")
            #expect(try await village.rows("Amistades").count == 4)
            #expect(try await village.rows("Avisos").count == 4)
        }
    }

    @Test func thirtyTriesAnHourAlsoWrongOnes() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            for index in 10..<40 {
                #expect(try await ana.call("buscarAmigo", ["movil": .string("+346990000\(index)")]).code == 101)
            }
            #expect(try await ana.call("buscarAmigo", ["correo": "bea@example.com"]).code == 141)
            #expect(try await bea.call("buscarAmigo", ["correo": "ana@example.com"])["result"]?["nueva"] == true)
            let tries = try await village.rows("Intentos", #"{"cuenta":30}"#)
            let id = try #require(tries.first?["objectId"]?.string)
            let hourAgo = Date().addingTimeInterval(-3700)
            _ = try await village.master.put("classes/Intentos/\(id)", ["desde": .date(hourAgo)])
            #expect(try await ana.call("buscarAmigo", ["correo": "bea@example.com"])["result"]?["nueva"] == false)
            #expect(try await ana.client.get("classes/Intentos").code == 119)
        }
    }

    @Test func theListFindsWordsAndTellsWhoIsThere() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("Bea")
            let leo = try await village.member("leo")
            _ = try await leo.client.put(
                "classes/Persona/\(leo.persona)", ["Nombre": "Álvaro José", "Apellidos": "Núñez"])
            for other in [leo, bea] { try await village.befriend(ana, other) }
            func names(_ text: String?) async throws -> [Value?] {
                let answer = try await ana.call("amigos", text.map { ["texto": .string($0)] } ?? [:])
                return (answer["result"]?.array ?? []).map { $0["username"] }
            }
            #expect(try await names(nil) == ["Bea", "leo"])
            #expect(try await names("alv") == ["leo"])
            #expect(try await names("JOSE") == ["leo"])
            #expect(try await names("nuñ") == ["leo"])
            #expect(try await names("varo") == [])
            #expect(try await names("bEA") == ["Bea"])
            #expect(try await village.stranger.post("functions/amigos").code == 142)
            #expect(try await ana.call("amigos", ["texto": 7]).code == 142)
            _ = try await bea.client.get("users/me")
            #expect(try await ana.call("amigos", ["texto": "bea"])["result"]?[0]?["conectado"] == true)
            _ = try await bea.client.post("logout")
            #expect(try await ana.call("amigos", ["texto": "bea"])["result"]?[0]?["conectado"] == false)
        }
    }

    @Test func friendshipsAreMadeByNoOnesHandAndDroppedBothWays() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let mod = try await village.moderator()
            try await village.befriend(ana, bea)
            let own = try await ana.client.get("classes/Amistades")
            #expect(own.results.map { $0["con"] } == [bea.pointer])
            let path = "classes/Amistades/\(own.results.first?["objectId"]?.string ?? "")"
            #expect(try await village.stranger.get("classes/Amistades").code == 101)
            #expect(try await mod.client.get(path).code == 101)
            for member in [ana, bea, mod] {
                #expect(try await member.client.delete(path).code == 119)
                let made = try await member.client.post("classes/Amistades", ["de": ana.pointer, "con": mod.pointer])
                #expect(made.code == 119)
                #expect(try await member.client.put(path, ["con": mod.pointer]).code == 119)
            }
            let before = try await village.rows("Avisos").count
            #expect(try await ana.call("dejarAmistad", ["usuario": "BEA"])["result"] == [:])
            #expect(try await village.rows("Amistades").isEmpty)
            #expect(try await village.rows("Avisos").count == before)
            for name in ["bea", "nadie"] {
                #expect(try await ana.call("dejarAmistad", ["usuario": .string(name)]).code == 101)
            }
            #expect(try await ana.call("dejarAmistad").code == 142)
        }
    }
}
