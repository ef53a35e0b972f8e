import Core
import HTTP
import TestSupport
import Testing

/// Clients that dawdle, fall silent or go away.
@Suite struct SlowClientTests {
    private var impatient: HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        limits.headTimeout = 60 * milliseconds
        limits.idleTimeout = 120 * milliseconds
        limits.watchAfter = 10 * milliseconds
        return limits
    }

    /// Sends a byte every few milliseconds until the server has had enough; tells for how long that went.
    private func trickle(_ client: RawClient, _ text: String, _ loop: Loop) async throws -> UInt64 {
        let start = Loop.monotonicNow()
        do {
            for byte in text.utf8 {
                try await client.send([byte])
                try await loop.sleep(nanoseconds: 5 * milliseconds)
            }
            Issue.record("the whole text was taken")
        } catch is RawClient.Failure {}
        return Loop.monotonicNow() - start
    }

    @Test func aSlowHeadIsCutOff() async throws {
        try await serveEcho(impatient) { served in
            let head = "GET / HTTP/1.1\r\nHost: test\r\nX-Long: \(String(repeating: "x", count: 2000))\r\n\r\n"
            let took = try await trickle(try served.client(), head, served.loop)
            #expect(took > 50 * milliseconds)
            // On a connection that has served a request already, too.
            let client = try served.client()
            _ = try await client.get("/")
            // Records an issue itself when all of it is taken.
            _ = try await trickle(client, head, served.loop)
        }
    }

    @Test func aSlowBodyIsCutOff() async throws {
        try await serveEcho(impatient) { served in
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5000\r\n\r\n")
            // 200 bytes a second: there is progress, but less than the minimal rate.
            let took = try await trickle(client, String(repeating: "x", count: 4000), served.loop)
            #expect(took > 100 * milliseconds)
        }
    }

    @Test(arguments: [
        "", "GET /a HT", "GET /a HTTP/1.1\r\nHost: te",
        "POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nabc",
    ])
    func silenceEndsAConnection(text: String) async throws {
        let reached = Tally()
        try await serve(impatient) { _, responder in
            reached.add()
            responder.respond()
        } test: { served in
            let client = try served.client()
            try await client.send(text)
            #expect(try await client.rest() == "")
            #expect(reached.value == 0)
        }
    }

    @Test func anIdleConnectionOutlivesTheTimeForAHead() async throws {
        var limits = impatient
        limits.idleTimeout = 5000 * milliseconds
        try await serveEcho(limits) { served in
            let fresh = try served.client()
            let used = try served.client()
            _ = try await used.get("/")
            try await served.loop.sleep(nanoseconds: 80 * milliseconds)
            #expect(try await fresh.get("/").status == 200)
            #expect(try await used.get("/").status == 200)
        }
    }

    @Test func aClientThatLeavesDuringARequestIsNoticed() async throws {
        let began = Event()
        let noticed = Event()
        try await serve(impatient) { _, responder in
            let waiter = Waiter()
            responder.onClientGone = {
                noticed.happen()
                waiter.resume()
            }
            began.happen()
            try? await waiter.wait()
            #expect(responder.isClientGone)
            responder.respond(body: Array("for nobody".utf8))
        } test: { served in
            let client = try served.client()
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            try await began.wait(served.loop)
            client.close()
            try await noticed.wait(served.loop)
            try await until(served.loop) { served.server.connectionCount == 0 }
            #expect(served.server.activeRequests == 0)
        }
    }

    @Test func aClientThatLeavesDuringAnAnswerFailsItsWriter() async throws {
        let failed = Event()
        try await serve(impatient) { _, responder in
            let writer = responder.respondStreaming()
            do {
                while true { try await writer.write([UInt8](repeating: 120, count: 10_000)) }
            } catch {
                #expect(error as? HTTPServerError == .clientGone)
                failed.happen()
            }
        } test: { served in
            let client = try served.client()
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            _ = try await client.receive()
            client.reset()
            try await failed.wait(served.loop)
            try await until(served.loop) { served.server.connectionCount == 0 }
        }
    }

    @Test func anAnswerThatNobodyReadsIsGivenUp() async throws {
        try await serve(impatient) { _, responder in
            responder.respond(body: [UInt8](repeating: 120, count: 30 << 20))
        } test: { served in
            let client = try served.client(receiveBuffer: 4096)
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            try await until(served.loop) { served.server.requestCount > 0 }
            try await until(served.loop) { served.server.connectionCount == 0 }
        }
    }

    @Test func aSlowReaderWhoMakesProgressGetsAllOfIt() async throws {
        let size = 3 << 20
        try await serve(impatient) { _, responder in
            responder.respond(body: [UInt8](repeating: 120, count: size))
        } test: { served in
            let client = try served.client(receiveBuffer: 65536)
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            let start = Loop.monotonicNow()
            // Slower than the idle limit in all, never idle for that long.
            while try await client.receive() {
                if Loop.monotonicNow() - start < 400 * milliseconds {
                    try await served.loop.sleep(nanoseconds: 10 * milliseconds)
                }
            }
            #expect(client.received.count > size)
        }
    }

    @Test func stoppingWhileRequestsRunTellsThem() async throws {
        let began = Event()
        let told = Event()
        try await serve { _, responder in
            let waiter = Waiter()
            responder.onClientGone = {
                told.happen()
                waiter.resume()
            }
            began.happen()
            try? await waiter.wait()
        } test: { served in
            let client = try served.client()
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            try await began.wait(served.loop)
            await served.server.drain(atMost: 20 * milliseconds)
            try await told.wait(served.loop)
            #expect(try await client.rest() == "")
        }
    }

    /// What comes together with the end of the client's side is one event: the end must not be missed.
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: test\r\n\r\n", 1),
        ("GET / HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n", 2),
        ("GET / HTTP/1.1\r\nHos", 0), ("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nhel", 0),
    ])
    func aClientThatHasSentAllIsAnsweredAndLetGo(_ text: String, _ answers: Int) async throws {
        try await serveEcho { served in
            let client = try served.client()
            try await client.send(text)
            client.halfClose()
            let rest = try await client.rest()
            #expect(rest.matches(of: /HTTP\/1.1 200/).count == answers, "\(rest)")
            try await until(served.loop) { served.server.connectionCount == 0 }
        }
    }
}
