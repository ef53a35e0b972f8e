import Testing
import Wire

/// Pages of other origins.
@Suite struct CORSTests {
    private func headers(_ client: Client, _ origin: String?) async throws -> (allow: String?, vary: String?) {
        let reply = try await client.send("GET", "/health", headers: origin.map { [("Origin", $0)] } ?? [])
        return (reply.header("Access-Control-Allow-Origin"), reply.header("Vary"))
    }

    @Test func everyOriginOfTheListIsAnsweredWithItself() async throws {
        try await withServer { options in
            options.allowOrigin = ["https://foro.example", "https://otro.example"]
        } _: { server in
            for origin in ["https://foro.example", "https://otro.example"] {
                let found = try await headers(server.client, origin)
                #expect(found.allow == origin && found.vary == "Origin")
            }
            for origin in ["https://malo.example", "https://otro.example.malo.example", "null", nil] {
                let found = try await headers(server.client, origin)
                #expect(found.allow == "https://foro.example" && found.vary == "Origin")
            }
            // What a browser asks before a request with headers, and a refusal, carry the same.
            let preflight = try await server.client.send(
                "OPTIONS", "/classes/Temas", headers: [("Origin", "https://otro.example")])
            #expect(preflight.header("Access-Control-Allow-Origin") == "https://otro.example")
            #expect(preflight.header("Access-Control-Allow-Methods") == "GET,PUT,POST,DELETE,OPTIONS")
            let refused = try await server.client.send(
                "GET", "/schemas/Temas", headers: [("Origin", "https://otro.example")])
            #expect(refused.status == 403)
            #expect(refused.header("Access-Control-Allow-Origin") == "https://otro.example")
        }
    }

    @Test func anEmptyListOpensTheServerToNoPage() async throws {
        try await withServer { options in
            options.allowOrigin = []
        } _: { server in
            let found = try await headers(server.client, "https://foro.example")
            #expect(found.allow == nil)
        }
    }

    @Test func everybodyMayCallWhereTheListSaysSoAnywhere() async throws {
        for list in [["*"], ["https://foro.example", "*"]] {
            try await withServer { options in
                options.allowOrigin = list
            } _: { server in
                let found = try await headers(server.client, "https://malo.example")
                #expect(found.allow == "*" && found.vary == nil)
            }
        }
    }

    @Test func moreHeadersMayBeAllowed() async throws {
        try await withServer { options in
            options.allowHeaders = ["X-Foro"]
        } _: { server in
            let reply = try await server.client.send("OPTIONS", "/classes/Temas")
            #expect(reply.header("Access-Control-Allow-Headers")?.hasSuffix("Cache-Control, X-Foro") == true)
        }
    }
}
