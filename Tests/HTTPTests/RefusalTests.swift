import Core
import HTTP
import TestSupport
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
        // Folded: libmicrohttpd makes these "Content-Lengthx" and so on, and finds no body.
        ("Content-Lengt: 5\r\n h", "hello", 400),
        ("Content-Length: 5\r\n\t", "hello", 400),
        ("X-Any: a\r\n b", "", 400),
        ("X-Any:\r\n b\r\nX-Other: c", "", 400),
        ("X-Any: a\r\n b\r\n c", "", 400),
        // Lines that end with a line feed alone.
        ("X-Any: a\nContent-Length: 5", "hello", 400),
        ("X-Any: a\nX-Other: b", "", 400),
        ("Content-Length: 5\n", "hello", 400),
        ("X-Any: a\r\n\n", "", 400),
        ("X-Any: a\u{0}b", "", 400),
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

    @Test func theRequestLineEndsWithCRLFToo() async throws {
        try await serveEcho { served in
            for text in ["GET /a HTTP/1.1\nHost: test\r\n\r\n", "GET /a HTTP/1.0\n\n", "GET /a HTTP/1.0\r\n\n"] {
                let client = try served.client()
                try await client.send(text)
                #expect(try await client.rest().hasPrefix("HTTP/1.1 400"), "\(text)")
            }
        }
    }

    @Test func aHeadOverTheLimitIs431() async throws {
        try await serveEcho { served in
            // Up to the limit it is answered, be the rest of the memory as full as it can.
            let fits = try await served.client().get("/", "X-Long: \(String(repeating: "x", count: 12_000))\r\n")
            #expect(fits.status == 200)
            let many = (0..<60).map { "X-Header-\($0): \(String(repeating: "y", count: 100))\r\n" }.joined()
            #expect(try await served.client().get("/", many).status == 200)
            let client = try served.client()
            let long = try await client.get("/", "X-Long: \(String(repeating: "x", count: 12_300))\r\n")
            #expect(long.status == 431)
            #expect(long.text == #"{"error":"The request's head is over 12288 bytes."}"#)
            #expect(try await client.rest() == "")
            // Headers and cookies take memory beside their text, arguments take none.
            for count in [90, 200, 250, 400, 600, 1000, 1300] {
                let fields = (0..<count).map { "X-\($0): y\r\n" }.joined()
                let cookies = (0..<count).map { "n\($0)=v" }.joined(separator: "; ")
                for headers in [fields, "Cookie: \(cookies)\r\n"] {
                    let tooMany = try await served.client().get("/", headers)
                    #expect(tooMany.status == 431)
                    // libmicrohttpd's own words, where it has room for them.
                    if count > 90, tooMany.text.contains("<html>") { continue }
                    #expect(tooMany.text == #"{"error":"The request has too many headers or cookies."}"#, "\(count)")
                }
                let arguments = (0..<count).map { "n\($0)=v" }.joined(separator: "&")
                let client = try served.client()
                for _ in 0..<2 { #expect(try await client.get("/?\(arguments)").status == 200) }
            }
            // Far over it, libmicrohttpd itself refuses.
            let other = try served.client()
            try await other.send("GET /\(String(repeating: "x", count: 60_000)) HTTP/1.1\r\nHost: test\r\n\r\n")
            let status = try await other.response().status
            #expect(status == 431 || status == 414)
        }
    }

    /// libmicrohttpd does not tell the end of each connection that it drops.
    @Test func whatIsDroppedLeavesNothingBehind() async throws {
        try await serveEcho { served in
            weak var refused: HTTPRequest?
            var count = 0
            served.server.onRefusal = { request, _, _ in (refused, count) = (request, count + 1) }
            let cookies = (0..<400).map { "n\($0)=v" }.joined(separator: "; ")
            let client = try served.client()
            #expect(try await client.get("/", "Cookie: \(cookies)\r\n").status == 431)
            #expect(try await client.rest() == "")
            #expect(try await served.client().get("/").status == 200)
            #expect(count == 1 && refused == nil)
        }
    }

    @Test func everyHeadIsAnsweredWhateverItsSize() async throws {
        try await serve { _, responder in
            // As much of a head as the Server room sends.
            let headers = (0..<8).map { ("X-Answer-\($0)", String(repeating: "z", count: 150)) }
            responder.respond(headers: headers, body: Array("done".utf8))
        } test: { served in
            for size in stride(from: 7_000, through: 17_000, by: 97) {
                let client = try served.client()
                let half = String(repeating: "x", count: size / 2)
                try await client.send("GET /\(half)?a=b HTTP/1.1\r\nHost: test\r\nX-Long: \(half)\r\n\r\n")
                let status = try await client.response().status
                #expect(status == 200 || status == 431 || status == 414, "\(size)")
                if size < 12_000 { #expect(status == 200, "\(size)") }
            }
            // What is pipelined behind a head takes of the same memory.
            let fields = (0..<40).map { "X-Header-\($0): \(String(repeating: "y", count: 20))\r\n" }.joined()
            let request = "GET / HTTP/1.1\r\nHost: test\r\n\(fields)\r\n"
            let client = try served.client()
            try await client.send(String(repeating: request, count: 40))
            for _ in 0..<40 { #expect(try await client.response().status == 200) }
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

    @Test func theServersOwnAnswersCanBeWordedAndAreTold() async throws {
        var limits = HTTPServer.Limits()
        limits.bodySize = 10
        let told = Notes()
        try await serve(limits) { server in
            server.refusalAnswer = { request, refusal in
                (
                    [("Content-Type", "text/plain"), ("Access-Control-Allow-Origin", request.header("Origin") ?? "*")],
                    Array("sorry: \(refusal.status)".utf8)
                )
            }
            server.onRefusal = { request, refusal, bytes in
                told.add("\(request.method) \(request.path) \(refusal.status) \(bytes) \(request.remoteAddress.text)")
            }
        } _: { _, _ in
        } test: { served in
            let client = try served.client()
            #expect(try await client.get("/").text == "sorry: 500")
            try await client.send(
                "POST /a HTTP/1.1\r\nHost: test\r\nOrigin: https://b\r\nContent-Length: 11\r\n\r\nhello world")
            let answer = try await client.response()
            #expect(answer.text == "sorry: 413")
            #expect(answer.header("Content-Type") == "text/plain")
            #expect(answer.header("Access-Control-Allow-Origin") == "https://b")
            #expect(try await client.get("/b", "X-Long: \(String(repeating: "x", count: 12_300))\r\n").status == 431)
            // libmicrohttpd's own.
            let other = try served.client()
            try await other.send("GET /c HTTP/1.1\r\n\r\n")
            #expect(try await other.rest().hasPrefix("HTTP/1.1 400"))
            #expect(
                told.all == [
                    "GET / 500 10 127.0.0.1", "POST /a 413 10 127.0.0.1", "GET /b 431 10 127.0.0.1",
                    " /c 400 0 127.0.0.1",
                ])
        }
    }

    @Test func bodiesPastTheBudgetAre503() async throws {
        var limits = HTTPServer.Limits()
        limits.bodyBudget = MemoryBudget(limit: 1000)
        let budget = limits.bodyBudget
        let began = Event()
        let proceed = Event()
        try await serve(limits) { request, responder in
            if request.path == "/slow" {
                began.happen()
                try? await proceed.wait(responder.loop)
            }
            responder.respond(body: Array("\(request.body.count)".utf8))
        } test: { served in
            let slow = try served.client()
            try await slow.send("POST /slow HTTP/1.1\r\nHost: test\r\nContent-Length: 600\r\n\r\n")
            try await slow.send([UInt8](repeating: 120, count: 600))
            try await began.wait(served.loop)
            #expect(budget.held == 600)
            let client = try served.client()
            // Refused by what its head says, or by what comes.
            for head in ["Content-Length: 500", "Transfer-Encoding: chunked"] {
                try await client.send("POST / HTTP/1.1\r\nHost: test\r\n\(head)\r\n\r\n")
                if head.hasPrefix("T") { try await client.send("1f4\r\n") }
                try await client.send([UInt8](repeating: 120, count: 500))
                if head.hasPrefix("T") { try await client.send("\r\n0\r\n\r\n") }
                let answer = try await client.response()
                #expect(answer.status == 503)
                #expect(answer.header("Retry-After") == "1")
            }
            // There is room for a small one, on the same connection.
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello")
            #expect(try await client.response().text == "5")
            proceed.happen()
            #expect(try await slow.response().text == "600")
            try await until(served.loop) { budget.held == 0 }
            // What a client leaves unfinished is given back too.
            try await slow.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 900\r\n\r\nhalf")
            try await until(served.loop) { budget.held == 4 }
            slow.close()
            try await until(served.loop) { budget.held == 0 }
        }
    }

    @Test func largeAnswersCountUntilTheyAreSent() async throws {
        var limits = HTTPServer.Limits()
        limits.answerBudget = MemoryBudget(limit: 1000)
        let budget = limits.answerBudget
        try await serve(limits) { request, responder in
            let type = request.path == "/text" ? "text/plain" : "application/octet-stream"
            let count = request.path == "/" ? 9 : 8 << 20
            responder.respond(headers: [("Content-Type", type)], body: [UInt8](repeating: 120, count: count))
        } test: { served in
            let client = try served.client()
            #expect(try await client.get("/").text.count == 9)
            #expect(budget.held == 0)
            // Who does not read holds it.
            let slow = try served.client()
            try await slow.send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n")
            try await until(served.loop) { budget.held == 8 << 20 }
            #expect(try await client.get("/large").body.count == 8 << 20)
            try await until(served.loop) { budget.held == 8 << 20 }
            slow.close()
            try await until(served.loop) { budget.held == 0 }
            // Packed it is small.
            _ = try await client.get("/text", "Accept-Encoding: gzip\r\n")
            #expect(budget.held == 0)
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
            try await until(served.loop) { served.listener.connectionCount <= 2 }
            #expect(try await served.client().get("/").status == 200)
        }
    }

    @Test func aFewAddressesDoNotKeepTheOthersOut() async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 16
        limits.connectionsPerAddress = 8
        try await serveEcho(limits) { served in
            var clients: [RawClient] = []
            func open(from source: UInt8) async throws -> Int {
                var count = 0
                while true {
                    let client = try served.client(source: source)
                    guard let answer = try? await client.get("/"), answer.status == 200 else { return count }
                    clients.append(client)
                    count += 1
                }
            }
            // Two take all that they may; later ones find room still.
            var counts: [Int] = []
            for source: UInt8 in 1...4 { counts.append(try await open(from: source)) }
            #expect(counts == [8, 4, 2, 1])
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
