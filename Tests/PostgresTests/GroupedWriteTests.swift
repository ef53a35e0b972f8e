import Core
import Postgres
import TestSupport
import Testing

/// Writes of one row each that share their commits.
@Suite struct GroupedWriteTests {
    private static func entry(_ database: Database, _ id: Int, _ text: String = "") async throws -> Rows {
        try await database.writeRow(
            "INSERT INTO entry (id, text) VALUES ($1, $2) RETURNING id", [.int(Int64(id)), .text(text)],
            key: UInt64(id))
    }

    private static func make() async throws -> TestDatabase {
        let database = try await TestDatabase.make()
        try await database.execute("CREATE TABLE entry (id int8 PRIMARY KEY, text text, n int8 NOT NULL DEFAULT 0)")
        return database
    }

    @Test func manyAtOnceTakeFewCommits() async throws {
        try await Self.make().withDatabase { _, database in
            let results = await database.loop.concurrently(200) { try await Self.entry(database, $0).int(0, 0) }
            for (index, result) in results.enumerated() {
                let id = try result.get()
                #expect(id == Int64(index))
            }
            let rows = try await database.read("SELECT count(*), count(DISTINCT xmin::text) FROM entry")
            #expect(rows.int(0, 0) == 200)
            #expect(rows.int(0, 1) <= 100)
        }
    }

    @Test func oneThatFailsFailsAlone() async throws {
        try await Self.make().withDatabase { _, database in
            _ = try await Self.entry(database, 7)
            let results = await database.loop.concurrently(60) { index in
                // A NUL can't be sent at all; the others are refused by the server.
                try await Self.entry(database, index, index == 9 ? "a\0b" : "")
            }
            for (index, result) in results.enumerated() {
                switch index {
                case 7: #expect(throws: PostgresError.self) { try result.get() }
                case 9: #expect((result.failure as? PostgresError)?.kind == .parameter)
                default: #expect(result.failure == nil, "\(index)")
                }
            }
            #expect((results[7].failure as? PostgresError)?.isUniqueViolation == true)
            let count = try await database.read("SELECT count(*) FROM entry").int(0, 0)
            #expect(count == 59)
        }
    }

    @Test func nobodyWaitsForAnothersLock() async throws {
        try await Self.make().withDatabase { _, database in
            _ = try await Self.entry(database, 0)
            let locked = Waiter()
            let others = Waiter()
            let holder = database.loop.spawn {
                try? await database.transaction { transaction in
                    _ = try await transaction.execute("UPDATE entry SET n = 100 WHERE id = 0", [])
                    locked.resume()
                    try await others.wait()
                }
            }
            try await locked.wait()
            let last = Waiter()
            let waiting = database.loop.spawn {
                // Cast to be sure that it is in the middle of a round, whatever the others' keys are.
                let rows = try? await database.writeRow(
                    "UPDATE entry SET n = n + 1 WHERE id = $1 RETURNING n", [.int(0)], key: 20)
                #expect(rows?.int(0, 0) == 101)
                last.resume()
            }
            let results = await database.loop.concurrently(40) { try await Self.entry(database, $0 + 1) }
            for result in results { #expect(result.failure == nil) }
            others.resume()
            await holder.value
            try await last.wait()
            await waiting.value
        }
    }

    /// Two nodes, each row changed by all: rounds that took them in different orders would lock one another out.
    @Test func rowsThatAllChangeLoseNothing() async throws {
        let shared = try await Self.make()
        try await shared.withDatabase { _, one in
            let other = Database(loop: one.loop, configuration: shared.configuration)
            for id in 0..<5 { _ = try await Self.entry(one, id) }
            let results = await one.loop.concurrently(400) { index in
                let database = index % 2 == 0 ? one : other
                let id = (index / 2) * 3 % 5
                return try await database.writeRow(
                    "UPDATE entry SET n = n + 1 WHERE id = $1 RETURNING n", [.int(Int64(id))], key: UInt64(id))
            }
            for result in results { #expect(result.failure == nil) }
            let sum = try await one.read("SELECT sum(n)::int8 FROM entry").int(0, 0)
            #expect(sum == 400)
            await other.close()
        }
    }

    /// What was acknowledged is there; what is said not to have run is not.
    @Test func aKilledRoundIsToldAsItIs() async throws {
        try await Self.make().withDatabase { _, database in
            _ = try await Self.entry(database, 1000)
            let results = await database.loop.concurrently(120) { index in
                if index == 60 {
                    _ = try await database.write(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid()
                        """)
                }
                return try await Self.entry(database, index)
            }
            let rows = try await database.read("SELECT id FROM entry")
            let there = Set((0..<rows.count).map { Int(rows.int($0, 0)) })
            for (index, result) in results.enumerated() {
                switch result {
                case .success: #expect(there.contains(index))
                case .failure(let error):
                    let kind = (error as? PostgresError)?.kind
                    #expect(kind == .connectionLost(mayHaveRun: true) || !there.contains(index), "\(error)")
                }
            }
        }
    }

    @Test func whoGoesAwayLeavesTheOthersTheirs() async throws {
        try await Self.make().withDatabase { _, database in
            let leaving = database.loop.spawn { _ = try? await Self.entry(database, 500) }
            leaving.cancel()
            let results = await database.loop.concurrently(20) { try await Self.entry(database, $0) }
            for result in results { #expect(result.failure == nil) }
            await leaving.value
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
