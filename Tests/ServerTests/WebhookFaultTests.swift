import Core
import TestSupport
import Testing
import Wire

/// Webhooks that are down, slow, broken or hostile: the client is told with 141 and a sentence, nothing is stored, and
/// nobody else notices.
@Suite struct WebhookFaultTests {
    /// What comes of a save whose `beforeSave` lies at `url`, and of a function that does.
    private func outcome(_ server: TestServer, _ url: JSON, _ about: String) async throws -> [String] {
        try await server.hook("beforeSave", of: "Temas", url)
        try await server.hook(function: "f", url)
        var errors: [String] = []
        for (path, body) in [("/classes/Temas", JSON.object(JSONObject([("n", 1)]))), ("/functions/f", [:])] {
            let reply = try await server.client.send("POST", path, body, master: true)
            #expect(reply.summary == "400/141", "\(about): \(reply.text)")
            errors.append(reply.json["error"]?.string ?? "")
        }
        let stored = try await server.all("Temas")
        #expect(stored.isEmpty, "\(about)")
        let other = try await server.client.send("POST", "/classes/Comentarios", ["n": 1], master: true)
        #expect(other.status == 201)
        return errors
    }

    @Test func nobodyListens() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop)
            let url = host.url()
            host.close()
            let errors = try await outcome(server, url, "down")
            #expect(errors == Array(repeating: "The webhook cannot be reached.", count: 2))
        }
    }

    @Test func itNeverAnswers() async throws {
        try await withServer {
            $0.webhooks.timeLimit = 0.2
        } _: { server in
            let host = BadHost(server.loop, .silent)
            defer { host.close() }
            let errors = try await outcome(server, host.url, "silent")
            #expect(errors == Array(repeating: "The webhook did not answer within 0.2 s.", count: 2))
        }
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"succ", "HTTP/1.1 200", "hola"])
    func itClosesInTheMiddle(said: String) async throws {
        try await withServer { server in
            let host = BadHost(server.loop, .closes(after: said))
            defer { host.close() }
            let errors = try await outcome(server, host.url, said)
            #expect(errors == Array(repeating: "The webhook cannot be reached.", count: 2))
        }
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"])
    func itAnswersWithoutEnd(head: String) async throws {
        try await withServer {
            $0.webhooks.maxAnswerSize.bytes = 1 << 20
        } _: { server in
            let host = BadHost(server.loop, .endless(after: head))
            defer { host.close() }
            let errors = try await outcome(server, host.url, "endless")
            #expect(errors == Array(repeating: "The webhook's answer is larger than 1048576 bytes.", count: 2))
            // Of what would have been 2 GB each, what fits into the sockets' buffers was sent at most.
            #expect(host.written < 64 << 20)
        }
    }

    /// libcurl bounds the headers before a body, and not those behind it.
    @Test(arguments: ["", "2\r\n{}\r\n0\r\n"]) func itsHeadersHaveNoEnd(body: String) async throws {
        try await withServer { server in
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + (body.isEmpty ? "" : "\r\n")
            let host = BadHost(server.loop, .endless(after: head + body, saying: "X-Header: some words of it\r\n"))
            defer { host.close() }
            let errors = try await outcome(server, host.url, "headers")
            let isBounded = errors.allSatisfy { $0.contains("larger than") || $0.contains("cannot be reached") }
            #expect(isBounded, "\(errors)")
            #expect(host.written < 64 << 20)
        }
    }

    @Test func redirectsAreNotFollowed() async throws {
        try await withServer { server in
            let target = try HookHost(server.loop, .json(["success": [:]]))
            let host = try HookHost(
                server.loop, .status(307, headers: [("Location", target.url().string ?? "")]))
            defer {
                host.close()
                target.close()
            }
            let errors = try await outcome(server, host.url(), "redirect")
            #expect(errors == Array(repeating: "The webhook answered with the status 307.", count: 2))
            #expect(host.sent.count == 2 && target.sent.isEmpty)
        }
    }

    @Test(arguments: ["<html></html>", "[]", "7", "{\"success\":", "null"])
    func itAnswersNonsense(text: String) async throws {
        try await withServer { server in
            let host = try HookHost(server.loop, .status(200, body: text))
            defer { host.close() }
            let errors = try await outcome(server, host.url(), text)
            #expect(errors.allSatisfy { $0.hasPrefix("The webhook's answer is not") }, "\(errors)")
        }
    }

    @Test(arguments: ["[7]", "[null]", "[{}]", "[{\"objectId\":7}]", "\"x\"", "false"])
    func findsAreAnsweredNonsense(success: String) async throws {
        try await withServer { server in
            _ = try await server.client.create("Temas", ["n": 1])
            let host = try HookHost(server.loop, .status(200, body: "{\"success\":\(success)}"))
            defer { host.close() }
            for trigger in ["beforeFind", "afterFind"] {
                try await server.hook(trigger, of: "Temas", host.url())
                let reply = try await server.client.send("GET", "/classes/Temas", master: true)
                #expect(reply.summary == "400/141", "\(trigger): \(reply.text)")
                try await server.client.must("DELETE", "/hooks/triggers/Temas/\(trigger)", master: true)
            }
            let reply = try await server.client.send("GET", "/classes/Temas", master: true)
            #expect(reply.isSuccess)
        }
    }

    // MARK: addresses

    @Test(arguments: [
        "http://169.254.169.254/latest/meta-data", "http://[::ffff:169.254.169.254]/", "http://[fe80::1]/",
        "http://2852039166/", "http://0xa9fea9fe/",
    ]) func linkLocalAddressesAreNeverCalled(url: String) async throws {
        try await withServer {
            $0.webhooks.timeLimit = 60
        } _: { server in
            let errors = try await outcome(server, .string(url), url)
            #expect(errors == Array(repeating: "The webhook's address may not be called.", count: 2))
        }
    }

    @Test func privateNetworksMayBeClosed() async throws {
        try await withServer {
            $0.webhooks.allowPrivateNetworks = false
        } _: { server in
            let host = try HookHost(server.loop)
            defer { host.close() }
            for name in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1"] {
                let errors = try await outcome(server, .string("http://\(name):\(host.port)/"), name)
                #expect(errors == Array(repeating: "The webhook's address may not be called.", count: 2), "\(name)")
                try await server.client.must("DELETE", "/hooks/triggers/Temas/beforeSave", master: true)
                try await server.client.must("DELETE", "/hooks/functions/f", master: true)
            }
            #expect(host.sent.isEmpty)
        }
    }

    // MARK: hosts that are out of order

    @Test func aHostThatIsDownGetsAPauseAndOthersDoNot() async throws {
        try await withServer {
            $0.webhooks.failuresBeforePause = 2
            $0.webhooks.pause = 3600
        } _: { server in
            let well = try HookHost(server.loop, .json(["success": "bien"]))
            let down = try HookHost(server.loop)
            let port = down.port
            try await server.hook(function: "bien", well.url())
            try await server.hook(function: "mal", down.url())
            down.close()
            for _ in 0..<2 {
                let reply = try await server.client.send("POST", "/functions/mal")
                #expect(reply.json["error"] == "The webhook cannot be reached.")
            }
            // It is back, but nobody asks it.
            let back = try HookHost(server.loop, port: port, .json(["success": "ya"]))
            defer {
                well.close()
                back.close()
            }
            let reply = try await server.client.send("POST", "/functions/mal")
            #expect(reply.summary == "400/141")
            #expect(reply.json["error"] == "The webhook's server is out of order. Try again in a moment.")
            #expect(back.sent.isEmpty)
            let other = try await server.client.send("POST", "/functions/bien")
            #expect(other.json["result"] == "bien")
        }
    }

    @Test func aHostThatIsBackIsCalledAgain() async throws {
        try await withServer {
            $0.webhooks.failuresBeforePause = 1
            $0.webhooks.pause = 0.05
        } _: { server in
            let down = try HookHost(server.loop)
            let port = down.port
            try await server.hook(function: "f", down.url())
            down.close()
            let refused = try await server.client.send("POST", "/functions/f")
            #expect(refused.code == 141)
            let back = try HookHost(server.loop, port: port, .json(["success": "ya"]))
            defer { back.close() }
            let isBack = try await eventually(server.loop) {
                try await server.client.send("POST", "/functions/f").json["result"] == "ya"
            }
            #expect(isBack)
        }
    }

    @Test func onlySoManyCallsWait() async throws {
        try await withServer {
            $0.webhooks.callsPerHost = 1
            $0.webhooks.queuePerHost = 1
            $0.webhooks.timeLimit = 60
        } _: { server in
            let host = try HookHost(server.loop, .held(["success": "ya"]))
            defer { host.close() }
            try await server.hook(function: "f", host.url())
            let replies = await server.loop.concurrently(3) { _ in
                let reply = try await server.client.send("POST", "/functions/f")
                if reply.code == 141 {
                    // The one for which there was no room: the others may end now.
                    host.answer = .json(["success": "ya"])
                    host.release()
                }
                return reply
            }
            let texts = try replies.map { try $0.get() }.map { $0.json["error"]?.string ?? $0.text }.sorted()
            #expect(
                texts == [
                    "Too many calls wait for this webhook. Try again in a moment.", "{\"result\":\"ya\"}",
                    "{\"result\":\"ya\"}",
                ])
        }
    }

    /// A webhook answers with all that it was sent, while others change the object.
    @Test func whatComesBackAsItWasUndoesNobodysChange() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop)
            defer { host.close() }
            let master = server.client
            let made = try await master.must(
                "POST", "/classes/Temas", ["votos": 1, "texto": "uno", "datos": ["a": 1, "b": 1]], master: true)
            let path = "/classes/Temas/\(try #require(made.objectId))"
            try await server.hook("beforeSave", of: "Temas", host.url())
            let body: JSON = ["votos": 1, "texto": "UNO", "datos": ["a": 2, "b": 1], "lista": "nueva"]
            host.answer = .held(["success": body])
            var told: [JSON?] = []
            let first = server.loop.spawn {
                let reply = try? await master.must("PUT", path, ["datos.a": 2, "texto": "dos"])
                told = ["texto", "lista", "votos", "datos"].map { reply?.json[$0] }
            }
            let isAsked = try await eventually(server.loop) { host.sent.count == 1 }
            #expect(isAsked)
            #expect(host.sent[0].body["object"]?.object?["datos"] == ["a": 2, "b": 1])
            host.answer = .json([:])
            try await master.must("PUT", path, ["votos": ["__op": "Increment", "amount": 1], "datos.b": 2])
            host.release()
            await first.value
            // As the reference tells all that comes back.
            #expect(told == ["UNO", "nueva", 1, ["a": 2, "b": 2]])
            let stored = try await master.must("GET", path).json
            #expect(stored["votos"] == 2)
            #expect(stored["datos"] == ["a": 2, "b": 2])
            #expect(stored["texto"] == "UNO" && stored["lista"] == "nueva")
        }
    }

    @Test func aUserThatComesBackWholeKeepsItsLogInsToItself() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop)
            defer { host.close() }
            let made = try await server.client.must(
                "POST", "/users",
                ["username": "ana", "password": "p", "authData": ["anonymous": ["id": "a1"]]])
            let path = "/users/\(try #require(made.objectId))"
            try await server.hook("beforeSave", of: "_User", host.url())
            host.answer = .json([
                "success": ["username": "ana", "authData": ["anonymous": ["id": "a1"]], "apodo": "a"]
            ])
            let reply = try await server.client.must("PUT", path, ["apodo": "b"], session: made.sessionToken)
            #expect(reply.json["apodo"] == "a" && reply.json["username"] == "ana")
            #expect(reply.json["authData"] == nil)
            let stored = try await server.client.must("GET", path, session: made.sessionToken).json
            #expect(stored["authData"] == ["anonymous": ["id": "a1"]])
        }
    }

    @Test func whoeverGoesAwayTakesTheCallAlong() async throws {
        try await withServer {
            $0.webhooks.callsPerHost = 1
            $0.webhooks.timeLimit = 3600
        } _: { server in
            let host = try HookHost(server.loop, .held(["success": "ya"]))
            defer { host.close() }
            try await server.hook(function: "f", host.url())
            let task = server.loop.spawn { _ = try? await server.client.send("POST", "/functions/f") }
            let hasBegun = try await eventually(server.loop) { host.sent.count == 1 }
            #expect(hasBegun)
            task.cancel()
            await task.value
            // The only turn is free again, though the first call was never answered.
            host.answer = .json(["success": "ya"])
            let reply = try await server.client.send("POST", "/functions/f")
            #expect(reply.json["result"] == "ya")
        }
    }
}
