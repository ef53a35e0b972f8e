import Core
import HTTP
import Testing

/// Bodies of requests that come with a Content-Encoding.
@Suite struct PackedBodyTests {
    /// `hola`, with gzip.
    private static let gzip: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 200, 207, 73, 4, 0, 136, 249, 160, 111, 4, 0, 0, 0,
    ]
    /// The same with zlib's own head and foot, which `deflate` means.
    private static let zlib: [UInt8] = [120, 156, 203, 200, 207, 73, 4, 0, 4, 42, 1, 165]
    /// `ho` and `la`, each with gzip.
    private static let twice: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 200, 7, 0, 153, 143, 240, 49, 2, 0, 0, 0, 31, 139, 8, 0, 0, 0, 0, 0, 2, 3,
        203, 73, 4, 0, 154, 103, 36, 178, 2, 0, 0, 0,
    ]
    /// 2,000 times `x`, with gzip.
    private static let long: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 168, 24, 5, 163, 96, 20, 140, 130, 81, 48, 10, 70, 193, 80, 7, 0, 122,
        101, 8, 41, 208, 7, 0, 0,
    ]

    private func post(
        _ body: [UInt8], _ headers: String, on client: RawClient
    ) async throws -> RawClient.Response {
        try await client.send(
            "POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n\(headers)\r\n\r\n")
        try await client.send(body)
        return try await client.response()
    }

    @Test func theyReachTheHandlerUnpacked() async throws {
        try await serveEcho { served in
            let client = try served.client()
            for (coding, body) in [
                ("gzip", PackedBodyTests.gzip), ("GZip", PackedBodyTests.gzip), ("x-gzip", PackedBodyTests.gzip),
                ("deflate", PackedBodyTests.zlib), ("gzip", PackedBodyTests.twice), ("identity", Array("hola".utf8)),
            ] {
                let answer = try await post(body, "Content-Encoding: \(coding)", on: client)
                #expect(answer.text == "POST /a - hola", "\(coding)")
            }
            let none = try await post([], "Content-Encoding: gzip", on: client)
            #expect(none.text == "POST /a - ")
            // What comes without a body is packed in no way.
            #expect(try await client.get("/", "Content-Encoding: br\r\n").status == 200)
        }
    }

    @Test func whatIsNotPackedAsItSaysIsRefused() async throws {
        try await serveEcho { served in
            for (headers, body, status) in [
                ("Content-Encoding: gzip", Array("hola".utf8), 400),
                ("Content-Encoding: gzip", Array(PackedBodyTests.gzip.dropLast()), 400),
                ("Content-Encoding: gzip", PackedBodyTests.gzip + [0, 1, 2], 400),
                ("Content-Encoding: br", PackedBodyTests.gzip, 415),
                ("Content-Encoding: gzip, gzip", PackedBodyTests.gzip, 415),
                ("Content-Encoding: gzip\r\nContent-Encoding: gzip", PackedBodyTests.gzip, 415),
            ] {
                let client = try served.client()
                let answer = try await post(body, headers, on: client)
                #expect(answer.status == status, "\(headers): \(answer.text)")
                // The connection goes on.
                #expect(try await client.get("/").status == 200)
            }
        }
    }

    @Test func theLimitIsForWhatTheyUnpackTo() async throws {
        var limits = HTTPServer.Limits()
        limits.bodySize = 1_999
        try await serveEcho(limits) { served in
            let answer = try await post(
                PackedBodyTests.long, "Content-Encoding: gzip", on: try served.client())
            #expect(answer.status == 413)
        }
        limits.bodySize = 2_000
        try await serveEcho(limits) { served in
            let answer = try await post(
                PackedBodyTests.long, "Content-Encoding: gzip", on: try served.client())
            #expect(answer.status == 200)
        }
    }

    @Test func whatTheyUnpackToCountsInTheBudget() async throws {
        var limits = HTTPServer.Limits()
        limits.bodyBudget = MemoryBudget(limit: 2_500)
        let budget = limits.bodyBudget
        try await serve(limits) { _, responder in
            responder.respond(body: Array("\(budget.held)".utf8))
        } test: { served in
            let client = try served.client()
            let answer = try await post(PackedBodyTests.long, "Content-Encoding: gzip", on: client)
            #expect(answer.text == "2000")
            #expect(budget.take(1_000, own: 0))
            let refused = try await post(PackedBodyTests.long, "Content-Encoding: gzip", on: client)
            #expect(refused.status == 503)
            #expect(try await client.get("/").text == "1000")
        }
    }
}
