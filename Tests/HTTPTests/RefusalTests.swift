import Core
import HTTP
import Testing

/// What is refused, and how: malformed framing, and what is over a limit.
@Suite struct RefusalTests {
    @Test(arguments: [
        ("Content-Length: 5\r\nContent-Length: 6", "hello", 400),
        ("Content-Length: 5\r\nContent-Length: 5", "hello", 400),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n", 400),
        ("Content-Length: 5, 5", "hello", 400),
        ("Content-Length: -5", "hello", 400),
        ("Content-Length: +5", "hello", 400),
        ("Content-Length: 5x", "hello", 400),
        ("Content-Length: 99999999999999999999999", "", 413),
        ("Content-Length : 5", "hello", 400),
        ("X-Any\t: 5", "hello", 400),
        ("Transfer-Encoding: gzip", "hello", 501),
        ("Transfer-Encoding: gzip, chunked", "0\r\n\r\n", 501),
        ("Transfer-Encoding: chunked, chunked", "0\r\n\r\n", 501),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n", 501),
        ("Transfer-Encoding: chunked", "zz\r\nhello\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked", "-5\r\nhello\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked", "5\r\nhelloXX0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked", "ffffffffffffffffff\r\nhello", 413),
    ])
    func framingThatLeavesDoubtIsRefused(headers: String, body: String, status: Int) async throws {
        try await serveEcho { served in
            let client = try served.client()
            // A second request rides along: it must not be taken for one.
            let smuggled = "GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n"
            try await client.send("POST /first HTTP/1.1\r\nHost: test\r\n\(headers)\r\n\r\n\(body)\(smuggled)")
            let text = try await client.rest()
            #expect(text.hasPrefix("HTTP/1.1 \(status)"), "\(text)")
            #expect(!text.contains("/smuggled"))
            #expect(!text.contains("/first"))
        }
    }

    @Test(arguments: [
        "\0\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/3.7\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / x HTTP/1.1\r\nHost: test\r\n\r\n", "GET / HTTP/1.1\r\nHost: test\r\nno colon\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{0}\r\n\r\n",
    ])
    func whatIsNoRequestNeverReachesTheHandler(text: String) async throws {
        let reached = Tally()
        var limits = HTTPServer.Limits()
        limits.headTimeout = 100 * milliseconds
        try await serve(limits) { _, responder in
            reached.add()
            responder.respond()
        } test: { served in
            let client = try served.client()
            try await client.send(text)
            client.halfClose()
            let answer = try await client.rest()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 505"), "\(answer)")
            #expect(reached.value == 0)
        }
    }

    @Test func aHeadOverTheLimitIs431() async throws {
        try await serveEcho { served in
            let fits = try await served.client().get("/", "X-Long: \(String(repeating: "x", count: 30_000))\r\n")
            #expect(fits.status == 200)
            let client = try served.client()
            let long = try await client.get("/", "X-Long: \(String(repeating: "x", count: 33_000))\r\n")
            #expect(long.status == 431)
            #expect(long.text == #"{"error":"The request's head is over 32768 bytes."}"#)
            #expect(try await client.rest() == "")
            // Far over it, libmicrohttpd itself refuses.
            let other = try served.client()
            try await other.send("GET /\(String(repeating: "x", count: 60_000)) HTTP/1.1\r\nHost: test\r\n\r\n")
            let status = try await other.response().status
            #expect(status == 431 || status == 414)
        }
    }

    @Test func aBodyOverTheLimitIs413AndTheConnectionGoesOnWhereItCan() async throws {
        var limits = HTTPServer.Limits()
        limits.bodySize = 1000
        try await serveEcho(limits) { served in
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
            try await client.send([UInt8](repeating: 120, count: 1000))
            #expect(try await client.response().status == 200)
            // A little over: the rest is read, so that the client can read the answer and go on.
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\n\r\n")
            try await client.send([UInt8](repeating: 120, count: 1001))
            let over = try await client.response()
            #expect(over.status == 413)
            #expect(over.text == #"{"error":"The request's body is over 1000 bytes."}"#)
            // The same in chunks, where the size shows late.
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n")
            try await client.send([UInt8](repeating: 120, count: 1001))
            try await client.send("\r\n0\r\n\r\n")
            #expect(try await client.response().status == 413)
            #expect(try await client.get("/next").status == 200)
            // With Expect nothing has been sent yet.
            try await client.send(
                "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.response().status == 413)
            #expect(try await client.rest() == "")
        }
    }

    @Test func aBodyFarOverTheLimitIsNotWaitedFor() async throws {
        var limits = HTTPServer.Limits()
        limits.bodySize = 1000
        try await serveEcho(limits) { served in
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n")
            #expect(try await client.response().status == 413)
            let endless = try served.client()
            try await endless.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n")
            let error = await failure {
                while true { try await endless.send([UInt8](repeating: 120, count: 10_000)) }
            }
            #expect(error is RawClient.Failure)
            #expect(served.listener.connectionCount <= 2)
        }
    }

    @Test func theServersOwnAnswersAreTheHandlersToWord() async throws {
        var limits = HTTPServer.Limits()
        limits.bodySize = 10
        try await serve(limits) { server in
            server.errorBody = { status, _ in ("text/plain", Array("sorry: \(status)".utf8)) }
        } _: { _, _ in
        } test: { served in
            let client = try served.client()
            #expect(try await client.get("/").text == "sorry: 500")
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\nhello world")
            let answer = try await client.response()
            #expect(answer.text == "sorry: 413")
            #expect(answer.header("Content-Type") == "text/plain")
        }
    }

    @Test func aRequestMayHaveALimitOfItsOwn() async throws {
        var limits = HTTPServer.Limits()
        limits.bodySize = 10
        try await serve(limits) { server in
            server.bodyMode = { .collected(limit: $0.path.hasPrefix("/files/") ? 100 : nil) }
        } _: { request, responder in
            await echo(request, responder)
        } test: { served in
            let client = try served.client()
            for (path, status) in [("/files/a", 200), ("/a", 413)] {
                try await client.send("POST \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\nhello world")
                #expect(try await client.response().status == status)
            }
        }
    }

    @Test func oneAddressHasOnlySoManyConnections() async throws {
        var limits = HTTPServer.Limits()
        limits.connectionsPerAddress = 3
        try await serveEcho(limits) { served in
            var clients: [RawClient] = []
            for _ in 0..<3 {
                let client = try served.client()
                _ = try await client.get("/")
                clients.append(client)
            }
            let fourth = try served.client()
            #expect(try await fourth.rest() == "")
            // One that leaves makes room.
            clients.removeLast().close()
            while served.listener.connectionCount > 2 { try await served.loop.sleep(nanoseconds: milliseconds) }
            #expect(try await served.client().get("/").status == 200)
        }
    }

    @Test func connectionsAreBoundedInAll() async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 2
        try await serveEcho(limits) { served in
            let one = try served.client()
            let other = try served.client()
            _ = try await one.get("/")
            _ = try await other.get("/")
            #expect(try await served.client().rest() == "")
            #expect(try await one.get("/").status == 200)
        }
    }
}
