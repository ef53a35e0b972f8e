import TestSupport
import Testing
import Wire

/// Batches with `transaction: true` that meet on the same objects.
@Suite(.serialized) struct TransactionRaceTests {
    /// Transfers between accounts, each over four of six accounts in an order of its own; every fourth ends with a
    /// change that fails. All or nothing, and no client hears of a deadlock.
    @Test func batchesOnOverlappingObjectsAreAllOrNothing() async throws {
        try await withServer(workers: 2) { server in
            var made: [String] = []
            for _ in 0..<6 { made.append(try await server.client.create("Account", ["balance": 0, "entries": []])) }
            let ids = made
            let crowd = 60
            let results = await server.loop.concurrently(crowd) { index in
                var order = Array(0..<6)
                var random = SplitMix(seed: UInt64(index))
                order.shuffle(using: &random)
                var requests = order.prefix(4).enumerated().map { position, account -> JSON in
                    [
                        "method": "PUT", "path": .string("/parse/classes/Account/\(ids[account])"),
                        "body": [
                            "balance": ["__op": "Increment", "amount": position < 2 ? 10 : -10],
                            "entries": ["__op": "Add", "objects": [.number(Double(index))]],
                        ],
                    ]
                }
                if index % 4 == 3 {
                    requests.append(
                        ["method": "PUT", "path": "/parse/classes/Account/nobodyHere", "body": ["balance": 1]])
                }
                return try await server.client.send(
                    "POST", "/batch", ["transaction": true, "requests": .array(requests)], master: true)
            }
            #expect(tally(results) == ["200": crowd * 3 / 4, "404/101": crowd / 4])
            let accounts = try await server.all("Account")
            #expect(accounts.compactMap { $0["balance"]?.number }.reduce(0, +) == 0)
            var entries: [Int: Int] = [:]
            for account in accounts {
                for entry in account["entries"]?.array ?? [] { entries[Int(entry.number ?? -1), default: 0] += 1 }
            }
            for index in 0..<crowd { #expect(entries[index] == (index % 4 == 3 ? nil : 4), "batch \(index)") }
        }
    }

    /// What a transaction makes is there as a whole or not at all, for those who read meanwhile too.
    @Test func readersNeverSeeHalfABatch() async throws {
        try await withServer(workers: 2) { server in
            _ = try await server.client.create("Pair", ["batch": -1])
            let results = await server.loop.concurrently(80) { index -> Reply in
                if index.isMultiple(of: 2) {
                    return try await server.client.send("GET", "/classes/Pair?limit=1000", master: true)
                }
                let half: JSON = [
                    "method": "POST", "path": "/parse/classes/Pair", "body": ["batch": .number(Double(index))],
                ]
                return try await server.client.send(
                    "POST", "/batch", ["transaction": true, "requests": [half, half]], master: true)
            }
            #expect(tally(results) == ["200": 80])
            for index in stride(from: 0, to: 80, by: 2) {
                let seen = try results[index].get().json["results"]?.array?.compactMap { $0.object?["batch"]?.number }
                var counts: [Double: Int] = [:]
                for batch in seen ?? [] where batch >= 0 { counts[batch, default: 0] += 1 }
                #expect(counts.values.allSatisfy { $0 == 2 })
            }
            let stored = try await server.all("Pair")
            #expect(stored.count == 81)
        }
    }
}

/// A small seeded generator (Steele, Lea and Flood, 2014): the same number gives the same run.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
