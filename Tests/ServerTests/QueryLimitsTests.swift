import TestSupport
import Testing
import Wire

@testable import Server

/// `requestComplexity`: what one `where` may ask for.
@Suite struct QueryLimitsTests {
    private static let parts: [(part: JSON, count: Int, refusal: String)] = [
        (["text": ["$regex": "x"]], 201, "Number of query conditions"),
        (["n": ["$gt": 1, "$lt": 9]], 101, "Number of query conditions"),
        (["n": ["$inQuery": ["className": "Note", "where": [:]]]], 101, "Number of subqueries"),
    ]

    @Test(arguments: QueryLimitsTests.parts.indices)
    func aWhereOfTooManyPartsIsRefused(kind: Int) async throws {
        let (part, count, begin) = QueryLimitsTests.parts[kind]
        let condition: JSON = ["$or": .array(Array(repeating: part, count: count))]
        try await withServer { _ in
        } _: { server in
            _ = try await server.client.create("Note", ["text": "x", "n": 2])
            let body: JSON = ["_method": "GET", "where": condition]
            let refused = try await server.client.send("POST", "/classes/Note", body)
            #expect(refused.code == 102)
            #expect(refused.json["error"]?.string?.hasPrefix(begin) == true)
            let inBatch: JSON = [
                "requests": [["method": "GET", "path": "/parse/classes/Note", "body": ["where": condition]]]
            ]
            let batch = try await server.client.send("POST", "/batch", inBatch)
            #expect(batch.text.contains(begin))
            let master = try await server.client.send("POST", "/classes/Note", body, master: true)
            #expect(master.status == 200)
        }
    }

    @Test func longListsAreOneCondition() async throws {
        try await withServer { _ in
        } _: { server in
            let id = try await server.client.create("Note", ["n": 2])
            let body: JSON = [
                "_method": "GET", "where": ["n": ["$in": .array((0..<5000).map { .number(Double($0)) })]],
            ]
            let found = try await server.client.send("POST", "/classes/Note", body)
            #expect(found.json["results"]?.array?.first?.object?["objectId"]?.string == id)
        }
    }
}
