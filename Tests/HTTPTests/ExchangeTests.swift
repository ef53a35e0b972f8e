import Core
import Glibc
import HTTP
import TestSupport
import Testing

/// Answers at odd moments: too late, twice, impossible ones; and answers as values.
@Suite struct ExchangeTests {
    @Test func aReaderThatWaitsWhenItsBodyCrossesTheLimitMayAnswerStill() async throws {
        let waits = Event()
        let refused = Event()
        try await serve { server in
            server.bodyMode = { _ in .streamed(limit: 10) }
        } _: { request, responder in
            waits.happen()
            do { while try await request.nextChunk() != nil {} } catch {
                #expect(error as? HTTPServerError == .bodyTooLarge)
                #expect(responder.hasAnswered)
                // The server's refusal is on its way already.
                responder.respond(status: 400)
                refused.happen()
                return
            }
            responder.respond()
        } test: { served in
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await waits.wait(served.loop)
            try await client.send("b\r\nhello world\r\n0\r\n\r\n")
            #expect(try await client.response().status == 413)
            try await refused.wait(served.loop)
            // The connection goes on.
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello")
            #expect(try await client.response().status == 200)
        }
    }

    @Test func aSecondAnswerIsDropped() async throws {
        try await serve { _, responder in
            responder.respond(body: Array("first".utf8))
            responder.respond(body: Array("second".utf8))
            let writer = responder.respondStreaming()
            #expect(await failure { try await writer.write([1]) } as? HTTPServerError == .clientGone)
        } test: { served in
            let client = try served.client()
            for _ in 0..<3 { #expect(try await client.get("/").text == "first") }
        }
    }

    @Test(arguments: [1000, 42])
    func anAnswerThatCannotBeSentClosesTheConnection(status: Int) async throws {
        for waits in [false, true] {
            try await serve { _, responder in
                if waits { try? await responder.loop.sleep(nanoseconds: milliseconds) }
                responder.respond(status: status)
            } test: { served in
                let client = try served.client()
                try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
                #expect(try await client.rest() == "")
                try await until(served.loop) { served.server.connectionCount == 0 }
                #expect(served.server.activeRequests == 0)
            }
        }
    }

    @Test func aRouteAnswersWithAValue() async throws {
        try await serve { request, responder in
            let answer: HTTPAnswer
            switch request.path {
            case "/stream":
                answer = HTTPAnswer(
                    .stream(length: nil) { writer in
                        for _ in 0..<3 { try await writer.write(Array("piece ".utf8)) }
                    })
            case "/broken":
                answer = HTTPAnswer(
                    .stream(length: 100) { writer in
                        try await writer.write(Array("half".utf8))
                        throw CancellationError()
                    })
            case "/upgrade":
                answer = HTTPAnswer(
                    .upgrade(to: "shout") { connection in
                        _ = write(connection.descriptor, "HELLO", 5)
                    })
            default: answer = HTTPAnswer(status: 201, headers: [("X-Extra", "1")], .whole(Array("whole".utf8)))
            }
            await responder.send(answer)
        } test: { served in
            let client = try served.client()
            let whole = try await client.get("/")
            #expect(whole.status == 201 && whole.text == "whole" && whole.header("X-Extra") == "1")
            #expect(try await client.get("/stream").text == "piece piece piece ")
            // HTTP/1.0 cannot change its protocol.
            let old = try served.client()
            try await old.send("GET /upgrade HTTP/1.0\r\n\r\n")
            #expect(try await old.response().status == 426)
            try await client.send(
                "GET /upgrade HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n")
            #expect(try await client.response().status == 101)
            #expect(try await client.rest() == "HELLO")
            let broken = try served.client()
            try await broken.send("GET /broken HTTP/1.1\r\nHost: test\r\n\r\n")
            #expect(try await broken.rest().hasSuffix("half"))
        }
    }

    @Test func largeBodiesStayWhatTheyWere() async throws {
        try await serve { request, responder in
            var body = [UInt8](repeating: 97, count: Int(request.path.dropFirst()) ?? 0)
            responder.respond(headers: [("Content-Type", "image/png")], body: body)
            // What the handler does with it afterwards is its own affair.
            for index in body.indices { body[index] = 98 }
        } test: { served in
            let client = try served.client()
            for size in [0, 1, 1023, 1024, 100_000, 5 << 20] {
                let answer = try await client.get("/\(size)")
                #expect(answer.body == [UInt8](repeating: 97, count: size))
            }
        }
    }

    @Test func idsOfRequestsAreNeverTheSame() async throws {
        let seen = Notes()
        for _ in 0..<3 {
            try await serve { request, responder in
                seen.add(request.id)
                responder.respond()
            } test: { served in
                for _ in 0..<20 { _ = try await served.client().get("/") }
            }
        }
        #expect(Set(seen.all).count == 60)
    }

    @Test(arguments: [
        ("http://host/a?b", "/a", "b"), ("https://host:80/a/b", "/a/b", "-"), ("HTTP://host/a", "/a", "-"),
        ("http://host", "/", "-"), ("http://host?a/b", "/", "a/b"),
        ("/redirect?to=http://host/a", "/redirect", "to=http://host/a"), ("/a/http://b/c", "/a/http://b/c", "-"),
        ("x/http://host/a", "x/http://host/a", "-"), ("ftp://host/a", "ftp://host/a", "-"), ("*", "*", "-"),
    ])
    func onlyHTTPAtTheStartOfATargetIsAnAuthority(target: String, path: String, query: String) async throws {
        try await serveEcho { served in
            let answer = try await served.client().get(target)
            #expect(answer.text == "GET \(path) \(query) ")
        }
    }

    @Test func headersAreFoundWhateverTheirCase() async throws {
        try await serve { request, responder in
            let found = [
                request.header("x-one"), request.header("X-ONE-MORE"), request.header("X-On"), request.header(""),
            ]
            let all =
                request.headers("x-two").joined(separator: ",") + "|"
                + request.headers.map(\.name).joined(separator: ",")
            responder.respond(body: Array("\(found.map { $0 ?? "-" }) \(all)".utf8))
        } test: { served in
            let client = try served.client()
            let text = try await client.get("/", "X-One: 1\r\nx-two: a\r\nX-TWO: b\r\nX-One-More:\r\n").text
            #expect(text == #"["1", "", "-", "-"] a,b|Host,X-One,x-two,X-TWO,X-One-More"#)
            // Another request's are not seen.
            #expect(try await client.get("/").text == #"["-", "-", "-", "-"] |Host"#)
        }
    }

    @Test func requestsThatWaitAndRequestsThatDontShareAServer() async throws {
        // Short waits, long ones (whose connection is suspended meanwhile) and none, with bodies and pipelined.
        try await serve { request, responder in
            let wait = UInt64(request.query ?? "") ?? 0
            if wait > 0 { try? await responder.loop.sleep(nanoseconds: wait * milliseconds) }
            responder.respond(body: Array(request.path.utf8) + request.body)
        } test: { served in
            let tasks = (0..<40).map { number in
                served.loop.spawn {
                    do {
                        let client = try served.client()
                        var text = ""
                        for step in 0..<20 {
                            text += "POST /\(number)/\(step)?\((number + step) % 13) HTTP/1.1\r\nHost: test\r\n"
                            text += "Content-Length: 4\r\n\r\nbody"
                        }
                        try await client.send(text)
                        for step in 0..<20 {
                            #expect(try await client.response().text == "/\(number)/\(step)body")
                        }
                    } catch { Issue.record(error) }
                }
            }
            for task in tasks { await task.value }
            #expect(served.server.activeRequests == 0)
        }
    }
}
