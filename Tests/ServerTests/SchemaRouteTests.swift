import Testing
import Wire

/// What administrators say of classes, where the recorded conversations are silent.
@Suite struct SchemaRouteTests {
    @Test func aClassWhosePermissionsAreTakenAwayIsOpenAgain() async throws {
        try await withServer { server in
            let client = server.client
            _ = try await client.create("Temas", ["titulo": "x"])
            try await client.must(
                "PUT", "/schemas/Temas", ["classLevelPermissions": ["find": ["role:mods": true]]], master: true)
            let closed = try await client.send("GET", "/classes/Temas")
            #expect(closed.summary == "400/119")
            // What says nothing of them leaves them.
            try await client.must("PUT", "/schemas/Temas", [:], master: true)
            let still = try await client.send("GET", "/classes/Temas")
            #expect(still.summary == "400/119")
            let changed = try await client.must(
                "PUT", "/schemas/Temas", ["classLevelPermissions": nil], master: true)
            #expect(changed.json["classLevelPermissions"]?.object?["find"] == ["*": true])
            let open = try await client.must("GET", "/classes/Temas")
            #expect(open.json["results"]?.array?.count == 1)
        }
    }

    @Test func theServersOwnTablesAreNoClassesToDelete() async throws {
        try await withServer { server in
            for name in ["_GlobalConfig", "_Hooks"] {
                let reply = try await server.client.send("DELETE", "/schemas/\(name)", master: true)
                #expect(reply.summary == "400/103")
            }
        }
    }

    @Test func aProtectedFieldsReadersMayBeNamedByAFieldThatIsNotThere() async throws {
        try await withServer { server in
            let client = server.client
            let ana = try await client.signUp("ana")
            let id = try await client.create("Temas", ["titulo": "x", "votos": 3])
            try await client.must(
                "PUT", "/schemas/Temas",
                [
                    "classLevelPermissions": [
                        "get": ["*": true], "protectedFields": ["*": ["votos"], "userField:autor": ["titulo"]],
                    ]
                ], master: true)
            let seen = try await client.must("GET", "/classes/Temas/\(id)", session: ana.token).json
            #expect(seen["votos"] == nil)
            #expect(seen["titulo"] == "x")
        }
    }
}
