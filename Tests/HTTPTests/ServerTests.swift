import Core
import Foundation
import HTTP
import Testing

@Suite struct ServerTests {
    @Test func oneConnectionCarriesManyRequests() async throws {
        try await serveEcho { served in
            let client = try served.client()
            for number in 0..<100 {
                let answer = try await client.get("/a/\(number)?x=\(number)&y")
                #expect(answer.status == 200)
                #expect(answer.text == "GET /a/\(number) x=\(number)&y ")
                #expect(answer.header("Date") != nil)
            }
            #expect(served.server.connectionCount == 1)
            #expect(served.server.requestCount == 100)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await serve { request, responder in
            // The first takes the longest.
            let number = Int(request.path.dropFirst()) ?? 0
            if number % 3 == 0 { try? await responder.loop.sleep(nanoseconds: milliseconds) }
            responder.respond(body: Array(request.path.utf8) + request.body)
        } test: { served in
            let client = try served.client()
            var text = ""
            for number in 0..<50 {
                text += "POST /\(number) HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nab"
            }
            try await client.send(text)
            for number in 0..<50 {
                let answer = try await client.response()
                #expect(answer.text == "/\(number)ab")
            }
        }
    }

    @Test func headIsAnsweredWithoutABodyButWithItsLength() async throws {
        try await serveEcho { served in
            let client = try served.client()
            try await client.send("HEAD /a HTTP/1.1\r\nHost: test\r\n\r\n")
            let answer = try await client.response(hasBody: false)
            #expect(answer.header("Content-Length") == "10")
            // What follows is the next answer, not a body.
            #expect(try await client.get("/b").text == "GET /b - ")
        }
    }

    @Test func optionsAndMethodsNobodyKnowsReachTheHandler() async throws {
        try await serveEcho { served in
            let client = try served.client()
            for method in ["OPTIONS", "DELETE", "PATCH", "PROPFIND"] {
                try await client.send("\(method) /a HTTP/1.1\r\nHost: test\r\n\r\n")
                #expect(try await client.response().text == "\(method) /a - ")
            }
            try await client.send("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n")
            #expect(try await client.response().text == "OPTIONS * - ")
        }
    }

    @Test func aChunkedBodyIsPutTogether() async throws {
        try await serveEcho { served in
            let client = try served.client()
            try await client.send("POST /a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n")
            try await client.send("5;name=value\r\npedia\r\nE\r\n in\r\n\r\nchunks.\r\n0\r\nTrailer: x\r\n\r\n")
            #expect(try await client.response().text == "POST /a - Wikipedia in\r\n\r\nchunks.")
            #expect(try await client.get("/next").status == 200)
        }
    }

    @Test func expectContinueIsAnsweredBeforeTheBody() async throws {
        try await serveEcho { served in
            let client = try served.client()
            try await client.send("PUT /a HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.response().status == 100)
            try await client.send("abc")
            #expect(try await client.response().text == "PUT /a - abc")
        }
    }

    @Test func headersAreFoundByNameInAnyCase() async throws {
        try await serve { request, responder in
            let all = request.headers.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
            responder.respond(body: Array("\(request.header("X-PARSE-application-id") ?? "-") \(all)".utf8))
        } test: { served in
            let answer = try await served.client().get("/", "X-Parse-Application-Id: app\r\nA: 1\r\na: 2\r\n")
            #expect(answer.text == "app Host=test|X-Parse-Application-Id=app|A=1|a=2")
        }
    }

    @Test func pathsStayEncodedUntilTheyAreSplit() async throws {
        try await serveEcho { served in
            let client = try served.client()
            #expect(try await client.get("/a%2Fb/%C3%B1?q=%26+1").text == "GET /a%2Fb/%C3%B1 q=%26+1 ")
            #expect(try await client.get("http://host:1337/a?b").text == "GET /a b ")
        }
        #expect(String(percentDecoding: "%C3%B1+") == "ñ+")
        #expect(String(percentDecoding: "a+b%26", plusIsSpace: true) == "a b&")
        #expect(String(percentDecoding: "%zz") == nil)
        #expect(String(percentDecoding: "%4") == nil)
        #expect(String(percentDecoding: "a%") == nil)
        #expect(String(percentDecoding: "%41%4") == nil)
        #expect(String(percentDecoding: "") == "")
        #expect(String(percentDecoding: "%ff") == nil)
    }

    @Test func aHandlerThatForgetsToAnswerIsA500() async throws {
        try await serve { _, _ in
        } test: { served in
            let answer = try await served.client().get("/")
            #expect(answer.status == 500)
            #expect(answer.text == #"{"error":"The request was not answered."}"#)
        }
    }

    @Test func connectionCloseAndHTTP10EndTheConnection() async throws {
        try await serveEcho { served in
            let one = try served.client()
            try await one.send("GET /a HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            #expect(try await one.rest().hasSuffix("GET /a - "))
            let other = try served.client()
            try await other.send("GET /a HTTP/1.0\r\n\r\n")
            #expect(try await other.rest().hasSuffix("GET /a - "))
        }
    }

    @Test func textOverAKilobyteIsCompressedWhenAskedFor() async throws {
        let text = String(repeating: "A line that repeats. ", count: 500)
        try await serve { request, responder in
            let type = request.path == "/image" ? "image/png" : "application/json; charset=utf-8"
            responder.respond(
                headers: [("Content-Type", type)], body: Array((request.path == "/short" ? "short" : text).utf8))
        } test: { served in
            let client = try served.client()
            let packed = try await client.get("/", "Accept-Encoding: deflate, gzip;q=0.8\r\n")
            #expect(packed.header("Content-Encoding") == "gzip")
            #expect(packed.header("Vary") == "Accept-Encoding")
            #expect(packed.body.count < 500)
            #expect(packed.body.prefix(2) == [0x1f, 0x8b])
            #expect(try gunzip(packed.body) == text)
            for (target, accept) in [
                ("/", ""), ("/", "Accept-Encoding: br\r\n"), ("/", "Accept-Encoding: gzip;q=0\r\n"),
                ("/short", "Accept-Encoding: gzip\r\n"), ("/image", "Accept-Encoding: gzip\r\n"),
            ] {
                #expect(try await client.get(target, accept).header("Content-Encoding") == nil)
            }
        }
    }

    @Test func drainingEndsIdleConnectionsAndLetsRunningRequestsFinish() async throws {
        let began = Event()
        let proceed = Event()
        try await serve { request, responder in
            if request.path == "/slow" {
                began.happen()
                try? await proceed.wait(responder.loop)
            }
            responder.respond(body: Array("done".utf8))
        } test: { served in
            let idle = try served.client()
            _ = try await idle.get("/")
            let busy = try served.client()
            try await busy.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n")
            try await began.wait(served.loop)
            let drained = served.loop.spawn { await served.server.drain(atMost: 10_000 * milliseconds) }
            #expect(try await idle.rest() == "")
            proceed.happen()
            let answer = try await busy.response()
            #expect(answer.text == "done")
            #expect(answer.header("Connection") == "close")
            await drained.value
            #expect(served.server.connectionCount == 0)
        }
    }

    @Test func connectionsAreDealtToTheWorkerWithTheFewest() async throws {
        SignalSource.ignoreBrokenPipes()
        let workers = [Worker(index: 0), Worker(index: 1), Worker(index: 2)]
        let listener = try Listener(port: 0)
        for worker in workers {
            try await worker.run { _, loop in
                let server = try HTTPServer(loop: loop) { _, responder in
                    responder.respond(body: Array("\(worker.index)".utf8))
                }
                listener.add(server)
            }
        }
        await workers[0].run { _, loop in listener.start(on: loop) }
        try await workers[1].run { _, loop in
            var counts = [0, 0, 0]
            var clients: [RawClient] = []
            for _ in 0..<30 {
                let client = try RawClient(loop, port: listener.port)
                clients.append(client)
                counts[Int(try await client.get("/").text) ?? 0] += 1
            }
            #expect(counts == [10, 10, 10])
            #expect(listener.connectionCount == 30)
        }
        await workers[0].run { _, loop in listener.stop(on: loop) }
        for worker in workers { await worker.stop() }
    }

    private func gunzip(_ bytes: [UInt8]) throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try output(of: "gzip", ["-dc", file.path])
    }
}

/// What a program prints.
func output(of program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: data, as: UTF8.self)
}
