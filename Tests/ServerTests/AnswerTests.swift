import Glibc
import HTTP
import TestSupport
import Testing
import Wire

@testable import Server

/// Routes whose bodies come, or whose answers go, piece by piece; and one that becomes another protocol.
@Suite struct AnswerTests {
    private static let routes = RouteTable([
        // An answer begins behind the end of its request.
        Route("POST", "test/echo", writes: true, body: .stream) { _, request in
            var chunks: [[UInt8]] = []
            while let chunk = try await request.nextChunk?() { chunks.append(chunk) }
            let all = chunks
            return Answer(
                content: .stream(length: nil) { writer in for chunk in all { try await writer.write(chunk) } })
        },
        Route("GET", "test/talk", writes: false, body: .none) { _, _ in
            Answer(
                content: .upgrade(to: "talk") { connection in
                    let greeting = Array("hello".utf8)
                    _ = write(connection.descriptor, greeting, greeting.count)
                })
        },
    ])

    @Test func aStreamedBodyIsAnsweredAsAStream() async throws {
        try await withServer(routes: Self.routes) { server in
            let large = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            let reply = try await server.client.send("POST", "/test/echo", bytes: large)
            #expect(reply.status == 200)
            let isWhole = reply.body == large
            #expect(isWhole)
            #expect(reply.header("Transfer-Encoding") == "chunked")
        }
    }

    /// Who may, is asked before the body is read.
    @Test func aStreamedBodyFromNobodyIsRefused() async throws {
        try await withServer(routes: Self.routes) { server in
            let reply = try await server.client.send(
                "POST", "/test/echo", bytes: [1, 2, 3], headers: [("X-Parse-Session-Token", "r:none")])
            #expect(reply.summary == "400/209")
        }
    }

    @Test func aRouteMayBecomeAnotherProtocol() async throws {
        try await withServer(routes: Self.routes) { server in
            let port = server.client.port
            let answer = try await blocking {
                let connection = RawConnection(port: port)
                connection.request("GET", "/parse/test/talk", headers: ["Connection: Upgrade", "Upgrade: talk"])
                return connection.answer(hasBody: false) + connection.rest()
            }
            #expect(answer.hasPrefix("HTTP/1.1 101"))
            #expect(answer.hasSuffix("hello"))
        }
    }

    @Test func eachAnswerTellsItsRequestsId() async throws {
        try await withServer(nodes: 2) { server in
            var ids: Set<String> = []
            for client in server.clients {
                for _ in 0..<3 { ids.insert(try await client.must("GET", "/health").header("X-Request-Id") ?? "") }
            }
            #expect(ids.count == 6 && !ids.contains(""))
        }
    }
}
