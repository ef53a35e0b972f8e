import Core
import Options
import Testing
import Wire

/// `X-Parse-Request-Id` under `idempotencyOptions`: what a client sends again is not done again.
@Suite struct IdempotencyTests {
    private static func server(nodes: Int = 1, _ body: @Sendable (TestServer) async throws -> Void) async throws {
        let paths = try [Pattern("classes/Order"), Pattern("users")]
        try await withServer(nodes: nodes) { options in
            options.idempotencyOptions.paths = paths
        } _: {
            try await body($0)
        }
    }

    private static func order(_ client: Client, _ id: String, _ path: String = "/classes/Order") async throws -> Reply {
        try await client.send("POST", path, ["n": 1], master: true, headers: [("X-Parse-Request-Id", id)])
    }

    @Test func aRequestThatComesAgainIsRefused() async throws {
        try await Self.server { server in
            let first = try await Self.order(server.client, "a")
            #expect(first.status == 201)
            let again = try await Self.order(server.client, "a")
            #expect(again.status == 400 && again.code == 159)
            // An id belongs to no path, and a PUT is bound as well; reads and other paths are not.
            let id = try #require(first.objectId)
            let header = [("X-Parse-Request-Id", "a")]
            let put = try await server.client.send(
                "PUT", "/classes/Order/\(id)", ["n": 2], master: true, headers: header)
            #expect(put.code == 159)
            let read = try await server.client.send("GET", "/classes/Order/\(id)", headers: header)
            #expect(read.status == 200)
            #expect(try await Self.order(server.client, "a", "/classes/Note").status == 201)
            #expect(try await Self.order(server.client, "b").status == 201)
            #expect(try await server.all("Order").count == 2)
        }
    }

    /// Ten at once, dealt to two nodes: one is done.
    @Test func ofManyAtOnceOneIsDone() async throws {
        try await Self.server(nodes: 2) { server in
            try await server.client.must(
                "POST", "/schemas/Order", ["className": "Order", "fields": ["n": ["type": "Number"]]], master: true)
            let clients = server.clients
            let replies = await server.loop.concurrently(10) { try await Self.order(clients[$0 % 2], "same") }
            #expect(tally(replies) == ["201": 1, "400/159": 9])
            #expect(try await server.all("Order").count == 1)
        }
    }

    @Test func anIdIsFreeAgainAfterItsTime() async throws {
        try await Self.server { server in
            #expect(try await Self.order(server.client, "a").status == 201)
            // As if its time were over.
            _ = try await server.sql.write("UPDATE \"_Idempotency\" SET \"expire\" = now() - interval '1 second'")
            #expect(try await Self.order(server.client, "a").status == 201)
            #expect(try await Self.order(server.client, "a").code == 159)
        }
    }

    @Test func anIdIsUsedUpByARequestThatFails() async throws {
        try await Self.server { server in
            let header = [("X-Parse-Request-Id", "c")]
            let refused = try await server.client.send("POST", "/users", ["username": "x"], headers: header)
            #expect(refused.status == 400 && refused.code != 159)
            let again = try await server.client.send(
                "POST", "/users", ["username": "x", "password": "y"], headers: header)
            #expect(again.code == 159)
            let long = try await Self.order(server.client, String(repeating: "x", count: 256))
            #expect(long.status == 400 && long.code == 102)
        }
    }
}
