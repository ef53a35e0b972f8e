import Core
import Foundation
import Options
import TestSupport
import Testing
import Wire

@testable import Server

/// What the HTTP room refuses before a route sees it.
@Suite struct RefusedRequestsTests {
    @Test func refusalsCarryCORSHeadersAndAreCounted() async throws {
        try await withServer { options in
            options.allowOrigin = ["https://one.example", "https://two.example"]
            options.maxUploadSize = ByteCount(1000)
        } _: { server in
            let port = server.nodes[0].port
            let refused = Metrics.shared.counter(
                "hermes_requests_total", help: "Requests answered, by class of status.", labels: ["status": "4xx"])
            let before = refused.value
            let answers = try await blocking {
                let origin = "Origin: https://two.example"
                let tooLarge = RawConnection(port: port)
                tooLarge.request(
                    "POST", "/parse/classes/Note", headers: [origin], body: String(repeating: "x", count: 1001))
                let longHead = RawConnection(port: port)
                longHead.request(
                    "GET", "/parse/classes/Note", headers: [origin, "X-Long: \(String(repeating: "x", count: 13_000))"])
                return [tooLarge.answer(), longHead.answer()]
            }
            for (answer, status) in zip(answers, [413, 431]) {
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
                #expect(answer.contains("Access-Control-Allow-Origin: https://two.example\r\n"))
                #expect(answer.contains(#"{"error":"The request's "#))
            }
            // Other tests count too.
            #expect(refused.value >= before + 2)
        }
    }

    @Test func anAnswerPastWhatAnswersMayHoldIsRefusedInWords() async throws {
        try await withServer { options in
            options.http.maxAnswerMemory = ByteCount(8 << 20)
        } _: { server in
            let client = server.client
            let text = String(repeating: "x", count: 10_000)
            let part: JSON = ["method": "POST", "path": "/parse/classes/Note", "body": ["text": .string(text)]]
            for _ in 0..<30 {
                let parts = JSON.array(Array(repeating: part, count: 50))
                try await client.must("POST", "/batch", ["requests": parts], master: true)
            }
            for path in ["/classes/Note?limit=10000", "/classes/Note?limit=10000&order=-text"] {
                let reply = try await client.send("GET", path, master: true)
                #expect(reply.status == 400)
                #expect(reply.json["code"] == 102)
                #expect(reply.json["error"]?.string?.hasPrefix("The answer would be too large.") == true)
            }
            // As it says.
            for path in ["/classes/Note?limit=2", "/classes/Note?keys=createdAt"] {
                let reply = try await client.send("GET", path, master: true)
                #expect(reply.status == 200)
            }
        }
    }

    @Test func aFewRowsMakeNoHugeAnswer() async throws {
        try await withServer { options in
            options.http.maxAnswerMemory = ByteCount(1 << 20)
        } _: { server in
            let client = server.client
            // A list of pointers to the object itself multiplies with each step of an include.
            let id = try await client.create("Note", ["text": .string(String(repeating: "x", count: 1000))])
            let pointer: JSON = ["__type": "Pointer", "className": "Note", "objectId": .string(id)]
            let list = JSON.array(Array(repeating: pointer, count: 12))
            try await client.must("PUT", "/classes/Note/\(id)", ["list": list, "one": pointer], master: true)
            for path in ["/classes/Note?", "/classes/Note/\(id)?"] {
                let some = try await client.send("GET", path + "include=list.list", master: true)
                #expect(some.status == 200)
                let copies = some.text.components(separatedBy: "xxxx\"").count - 1
                #expect(copies == 157)
                let steps = Array(repeating: "list", count: 10).joined(separator: ".")
                for include in ["list.list.list", "one.list.list.list", steps] {
                    let huge = try await client.send("GET", path + "include=\(include)", master: true)
                    #expect(huge.code == 102)
                    #expect(huge.json["error"]?.string?.hasPrefix("The answer would be too large.") == true)
                }
            }
            // Nor do many answers in one.
            let part: JSON = ["method": "GET", "path": "/parse/classes/Note?include=list.list"]
            for transaction in [false, true] {
                let parts = JSON.array(Array(repeating: part, count: 4))
                let body: JSON = ["requests": parts, "transaction": .bool(transaction)]
                let batch = try await client.send("POST", "/batch", body, master: true)
                #expect(batch.text.utf8.count < 600_000)
                #expect(batch.text.contains("The answer would be too large."))
                #expect(batch.text.contains("xxxx") != transaction)
            }
        }
    }
}
