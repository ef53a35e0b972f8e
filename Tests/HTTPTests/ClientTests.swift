import Core
import HTTP
import Testing

@Suite struct ClientTests {
    private func withClient(
        _ handler: @escaping @Sendable (HTTPRequest, HTTPResponder) async -> Void,
        test: @escaping @Sendable (Served, HTTPClient, String) async throws -> Void
    ) async throws {
        let run: @Sendable (Served) async throws -> Void = { served in
            let client = HTTPClient(loop: served.loop)
            defer { client.close() }
            try await test(served, client, "http://127.0.0.1:\(served.listener.port)")
        }
        try await serve(HTTPServer.Limits(), handler, test: run)
    }

    @Test func requestsAndAnswersCarryEverything() async throws {
        try await withClient { request, responder in
            let head = "\(request.method) \(request.target) \(request.header("X-One") ?? "-") "
            let answer = Array(head.utf8) + request.body
            responder.respond(
                status: 201, headers: [("X-Two", "2"), ("X-Type", request.header("Content-Type") ?? "-")], body: answer)
        } test: { _, client, url in
            for (method, body) in [("GET", ""), ("POST", "text"), ("PUT", ""), ("PATCH", "x"), ("DELETE", "")] {
                let answer = try await client.send(
                    HTTPClientRequest(
                        method: method, url: url + "/a?b=c", headers: [("X-One", "1")], body: Array(body.utf8)))
                #expect(answer.status == 201)
                #expect(String(decoding: answer.body, as: UTF8.self) == "\(method) /a?b=c 1 \(body)")
                #expect(answer.header("x-two") == "2")
                #expect(answer.header("X-Type") == "-")
            }
            let head = try await client.send(HTTPClientRequest(method: "HEAD", url: url))
            #expect(head.body.isEmpty && head.status == 201)
        }
    }

    @Test func connectionsAreUsedAgain() async throws {
        try await withClient {
            await echo($0, $1)
        } test: { served, client, url in
            for _ in 0..<50 {
                let answer = try await client.send(HTTPClientRequest(url: url))
                #expect(answer.status == 200)
            }
            #expect(served.server.connectionCount == 1)
            #expect(served.server.requestCount == 50)
        }
    }

    @Test func manyRequestsRunAtOnce() async throws {
        try await withClient { request, responder in
            try? await responder.loop.sleep(nanoseconds: 10 * milliseconds)
            responder.respond(body: Array(request.path.utf8))
        } test: { served, client, url in
            let tasks = (0..<100).map { number in
                served.loop.spawn {
                    let answer = try? await client.send(HTTPClientRequest(url: "\(url)/\(number)"))
                    #expect(answer?.body == Array("/\(number)".utf8))
                }
            }
            for task in tasks { await task.value }
            #expect(served.server.connectionCount <= 16)
        }
    }

    @Test func aRequestThatTakesTooLongTimesOut() async throws {
        try await withClient { _, responder in
            try? await responder.loop.sleep(nanoseconds: 300 * milliseconds)
            responder.respond()
        } test: { _, client, url in
            #expect(
                await failure {
                    try await client.send(HTTPClientRequest(url: url, timeout: 30 * milliseconds))
                } as? HTTPClientError == HTTPClientError.timedOut)
        }
    }

    @Test func anAnswerOverItsLimitIsGivenUp() async throws {
        try await withClient { _, responder in
            responder.respond(body: [UInt8](repeating: 120, count: 100_000))
        } test: { _, client, url in
            #expect(
                await failure {
                    try await client.send(HTTPClientRequest(url: url, maxResponseSize: 99_999))
                } as? HTTPClientError == HTTPClientError.responseTooLarge)
            let fits = try await client.send(HTTPClientRequest(url: url, maxResponseSize: 100_000))
            #expect(fits.body.count == 100_000)
        }
    }

    @Test func aCancelledTaskEndsItsRequest() async throws {
        let gone = Event()
        let began = Event()
        try await withClient { _, responder in
            let waiter = Waiter()
            responder.onClientGone = {
                gone.happen()
                waiter.resume()
            }
            began.happen()
            try? await waiter.wait()
        } test: { served, client, url in
            let task = served.loop.spawn {
                do {
                    _ = try await client.send(HTTPClientRequest(url: url))
                    Issue.record("it was answered")
                } catch {
                    #expect(error is CancellationError)
                }
            }
            try await began.wait(served.loop)
            task.cancel()
            await task.value
            try await gone.wait(served.loop)
        }
    }

    @Test func redirectsAreFollowedOnlyWhenAskedFor() async throws {
        try await withClient { request, responder in
            if request.path == "/old" { return responder.respond(status: 302, headers: [("Location", "/new")]) }
            await echo(request, responder)
        } test: { _, client, url in
            #expect(try await client.send(HTTPClientRequest(url: url + "/old")).status == 302)
            let followed = try await client.send(HTTPClientRequest(url: url + "/old", maxRedirects: 1))
            #expect(followed.body == Array("GET /new - ".utf8))
            #expect(followed.header("Location") == nil)
        }
    }

    @Test func addressesMayBeRefused() async throws {
        try await withClient {
            await echo($0, $1)
        } test: { served, client, _ in
            let port = served.listener.port
            let asked = Notes()
            for host in ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"] {
                var request = HTTPClientRequest(url: "http://\(host):\(port)/")
                request.refuses = { address in
                    asked.add("\(address.isPrivate)")
                    return address.isPrivate
                }
                let error = await failure { try await client.send(request) }
                #expect(error as? HTTPClientError == .addressRefused, "\(host)")
            }
            #expect(served.server.connectionCount == 0 && served.server.requestCount == 0)
            #expect(Set(asked.all) == ["true"])
            var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/")
            request.refuses = { !$0.isPrivate }
            let answer = try await client.send(request)
            #expect(answer.status == 200)
        }
    }

    @Test func aSchemeMayStandInCapitals() async throws {
        try await withClient {
            await echo($0, $1)
        } test: { _, client, url in
            let answer = try await client.send(HTTPClientRequest(url: "HTTP" + url.dropFirst(4)))
            #expect(answer.status == 200)
        }
    }

    @Test func whatCannotBeSentIsAnError() async throws {
        try await withClient {
            await echo($0, $1)
        } test: { _, client, url in
            #expect(
                await failure {
                    try await client.send(HTTPClientRequest(url: "file:///etc/passwd"))
                } as? HTTPClientError == HTTPClientError.badURL)
            #expect(
                await failure {
                    try await client.send(HTTPClientRequest(url: url, headers: [("X", "a\r\nB: c")]))
                } as? HTTPClientError == HTTPClientError.badHeader("X"))
            let error = await failure {
                try await client.send(HTTPClientRequest(url: "http://127.0.0.1:1/"))
            }
            #expect(error is HTTPClientError)
        }
    }
}
