import Hermes
import Testing

@Suite struct PersonaTests {
    @Test func anOldClientFillsItInOnce() async throws {
        try await withForum { village in
            let signedUp = try await village.stranger.post(
                "users", ["username": "ana", "password": "x", "email": "ana@example.com"])
            let ana = village.stranger.asSession(signedUp["sessionToken"]?.string ?? "")
            let bea = try await village.member("bea")
            let right: [String: Value] = [
                "Nombre": "Ana", "Correo": "ANA@example.com", "Movil": "611 00-02 22", "ciudad": "Lugo",
            ]
            func post(_ client: TestClient, _ change: [String: Value]) async throws -> TestAnswer {
                try await client.post("classes/Persona", .object(right.merging(change) { _, new in new }))
            }
            let stranger = try await post(village.stranger, [:])
            #expect(stranger.code == 101)
            let others = try await post(bea.client, ["usuario": .pointer(AnyPointer("_User", signedUp.id))])
            #expect(others.code == 119)
            for (field, value) in [
                ("Correo", "bea@example.com"), ("Movil", "12"), ("Movil", "+34 611 x"), ("Nombre", "\u{3000} "),
                ("ciudad", ""), ("idioma", "fr"), ("Password", "secreta"),
            ] as [(String, Value)] {
                let wrong = try await post(ana, [field: value])
                #expect(wrong.code == 142, "\(field): \(wrong.body)")
                #expect(wrong["error"]?.string?.contains(field) == true, "\(wrong.body)")
            }
            let unknown = try await post(ana, ["color": "azul"])
            #expect(unknown.code == 119)
            let made = try await post(ana, ["ACL": ["*": ["read": true, "write": true]]])
            #expect(made.status == 201, "\(made.body)")
            let own = try await ana.get("classes/Persona/\(made.id)")
            #expect(own["Movil"] == "611000222")
            #expect(own["Correo"] == "ana@example.com")
            #expect(own["avisos"] == true)
            #expect(own["localizable"] == true)
            #expect(own["ACL"]?["*"] == nil)
            let again = try await post(ana, [:])
            #expect(again.code == 137)
            let schema = try await village.master.get("schemas/Persona")
            #expect(schema["fields"]?["Password"] == nil)
        }
    }

    @Test func whoReadsWhat() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let mod = try await village.moderator()
            let path = "classes/Persona/\(ana.persona)"
            let stranger = try await village.stranger.get(path)
            #expect(stranger.code == 101)
            for other in [bea, mod] {
                let seen = try await other.client.get(path)
                #expect(seen["Nombre"] == "ANA")
                #expect(seen["Correo"] == nil && seen["Movil"] == nil, "\(seen.body)")
                for query in [
                    "where=\(#"{"Movil":{"$exists":true}}"#.inURL)", "order=Correo",
                    "where=\(#"{"usuario":{"$select":{"query":{"className":"Persona","where":{"Correo":"ana@example.com"}},"key":"usuario"}}}"#.inURL)",
                ] {
                    let asked = try await other.client.get("classes/Persona?\(query)")
                    #expect(asked.code == 119, "\(query): \(asked.body)")
                }
                let distinct = try await other.client.get("aggregate/Persona?distinct=Movil")
                #expect(distinct.status == 403)
            }
            try await village.befriend(ana, bea)
            let friend = try await bea.client.get(path)
            #expect(friend["Correo"] == "ana@example.com" && friend["Movil"] == "+34600100200")
            let part = try await bea.client.get(path + "?keys=Nombre,Movil")
            #expect(part["Correo"] == nil && part["Movil"] == "+34600100200", "\(part.body)")
            let rest = try await bea.client.get(path + "?excludeKeys=Movil")
            #expect(rest["Movil"] == nil && rest["Correo"] == "ana@example.com", "\(rest.body)")
            let listed = try await bea.client.get("classes/Persona?keys=Nombre")
            #expect(listed.results.allSatisfy { $0["Correo"] == nil })
            let still = try await bea.client.get("classes/Persona?order=Correo")
            #expect(still.code == 119)
        }
    }

    @Test func onlyItsOwnerChangesIt() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let mod = try await village.moderator()
            let path = "classes/Persona/\(ana.persona)"
            for client in [village.stranger, bea.client, mod.client] {
                let answer = try await client.put(path, ["ciudad": "Hackeada"])
                #expect(answer.code == 101)
            }
            for (change, code) in [
                (["usuario": bea.pointer], 119), (["Correo": "bea@example.com"], 142), (["Movil": "x"], 142),
                (["avisos": "no"], 142), (["Nombre": ["__op": "Delete"]], 142), (["Password": "x"], 142),
            ] as [(Value, Int)] {
                let answer = try await ana.client.put(path, change)
                #expect(answer.code == code, "\(change): \(answer.body)")
            }
            let moved = try await ana.client.put(path, ["ciudad": "Burgos", "ACL": ["*": ["read": true]]])
            #expect(moved.status == 200, "\(moved.body)")
            let address = try await ana.client.put("users/\(ana.id)", ["email": "nueva@example.com"])
            #expect(address.status == 200, "\(address.body)")
            let now = try await ana.client.get(path)
            #expect(now["ciudad"] == "Burgos")
            #expect(now["Correo"] == "nueva@example.com")
            #expect(now["ACL"]?["*"] == nil)
            let gone = try await ana.client.delete(path)
            #expect(gone.code == 119)
        }
    }
}
