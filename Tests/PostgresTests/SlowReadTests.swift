import Core
import TestSupport
import Testing

@testable import Postgres

/// Reads that take long, fail, or end their connection, beside reads that must not suffer from it.
@Suite struct SlowReadTests {
    /// Waits while the test holds the lock; a text of its own for each number.
    private func waits(_ number: Int) -> Statement {
        Statement("SELECT pg_advisory_xact_lock_shared(7), \(number) AS number")
    }

    @Test func slowReadsLeaveAConnectionToFastOnes() async throws {
        // Some texts twice.
        try await besideSlowReads(texts: 16) { database in
            for number in 0..<100 {
                // Some never seen before.
                let text = Statement("SELECT \(number % 20)::int8")
                let value = try await database.read(text).int(0, 0)
                #expect(value == Int64(number % 20))
            }
        }
    }

    @Test func oneLongRunKeepsNoStatementBehindSlowReads() async throws {
        let sometimesSlow: Statement = "SELECT pg_sleep($1::float8)"
        try await besideSlowReads(texts: 2) { database in
            _ = try await database.read(sometimesSlow, [.double(1)])
        } body: { database in
            for _ in 0..<5 { _ = try await database.read(sometimesSlow, [.double(0)]) }
        }
    }

    /// Runs `body` while 24 reads wait for a lock, as many as there may be connections and more; they end after it.
    private func besideSlowReads(
        texts: Int, first: @Sendable (Database) async throws -> Void = { _ in },
        body: @Sendable (Database) async throws -> Void
    ) async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase { _, database in
            let release = Waiter()
            let isHeld = Waiter()
            let holder = database.loop.spawn {
                _ = try? await database.transaction { transaction in
                    _ = try await transaction.execute("SELECT pg_advisory_xact_lock(7)")
                    isHeld.resume()
                    try await release.wait()
                }
            }
            try await isHeld.wait()
            try await first(database)
            let slow = Ended()
            let all = database.loop.spawn {
                slow.results = await database.loop.concurrently(24) { index in
                    _ = try await database.read(self.waits(index % texts))
                }
            }
            let blocked = try await eventually(database.loop) {
                let waiting = try await database.write(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                )
                return waiting.int(0, 0) >= 6
            }
            #expect(blocked)
            try await body(database)
            #expect(slow.results.isEmpty)
            release.resume()
            await holder.value
            await all.value
            #expect(slow.results.count == 24)
            for result in slow.results { try result.get() }
        }
    }

    @Test func connectionsGrowWithTheWorkThatIsQueuedThoughNoReadIsSlow() async throws {
        let shared = try await TestDatabase.make()
        let configure: @Sendable (inout DatabaseConfiguration) -> Void = {
            $0.sharedConnections = 1
            $0.sharedLimit = 4
            // No read takes as long as that.
            $0.slowRead = .milliseconds(100)
        }
        try await shared.withDatabase(configure) { _, database in
            let results = await database.loop.concurrently(200) { _ in
                try await database.read("SELECT pg_backend_pid(), pg_sleep(0.01)").int(0, 0)
            }
            let first = Set(results.compactMap { try? $0.get() })
            let more = await database.loop.concurrently(200) { _ in
                try await database.read("SELECT pg_backend_pid(), pg_sleep(0.01)").int(0, 0)
            }
            let backends = first.union(more.compactMap { try? $0.get() })
            #expect(backends.count > 1)
        }
    }

    @Test func aReadThatEndsItsBackendHarmsNoOther() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase { _, database in
            let killed = Ended()
            let results = await database.loop.concurrently(40) { index in
                if index == 20 {
                    do { _ = try await database.read("SELECT pg_terminate_backend(pg_backend_pid())") } catch {
                        killed.errors.append(error)
                        throw error
                    }
                    return Int64(index)
                }
                return try await database.read("SELECT $1::int8", [.int(Int64(index))]).int(0, 0)
            }
            let error = killed.errors.first as? PostgresError
            #expect(error?.kind == .connectionLost(mayHaveRun: true))
            for (index, result) in results.enumerated() where index != 20 {
                let value = try result.get()
                #expect(value == Int64(index))
            }
        }
    }

    @Test func aReadThatEndsItsBackendRunsTwice() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase { _, database in
            let before = try await sessions(database)
            _ = await failure(of: { try await database.read("SELECT pg_terminate_backend(pg_backend_pid())") })
            let after = try await sessions(database)
            #expect(after - before == 2)
        }
    }

    /// How many sessions of this database were ended by an operator's request so far.
    private func sessions(_ database: Database) async throws -> Int64 {
        // Statistics reach shared memory when a backend ends: ask until they stand still.
        var last: Int64 = -1
        var same = 0
        while same < 20 {
            let now = try await database.write(
                "SELECT sessions_killed, pg_stat_clear_snapshot() FROM pg_stat_database WHERE datname = current_database()"
            ).int(0, 0)
            same = now == last ? same + 1 : 0
            last = now
            try await database.loop.sleep(nanoseconds: 5_000_000)
        }
        return last
    }

    @Test func aReadThatLosesADeadlockIsRepeated() async throws {
        let shared = try await TestDatabase.make()
        // The first call takes a session's lock, which an error does not undo, and fails as a deadlock's victim does.
        try await shared.execute(
            """
            CREATE FUNCTION unlucky() RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 9
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                THEN
                    PERFORM pg_advisory_lock(9);
                    RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';
                END IF;
                RETURN 1;
            END $$
            """)
        try await shared.withDatabase { _, database in
            try await expectOne(database.read("SELECT unlucky()"))
        }
    }

    @Test func manyErrorsInARoundSkipTheOthersOnlyAFewTimes() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase({
            $0.sharedConnections = 1
            // What a busy machine holds up for a while would be sent elsewhere too, and be skipped there as well.
            $0.slowRead = .seconds(60)
        }) { _, database in
            _ = try await database.read("SELECT 1")
            let commands = (0..<256).map { index in
                index % 2 == 0
                    ? Command("SELECT 1 / ($1::int8 - $1::int8)", [.int(1)]) : Command("SELECT $1::int8", [.int(1)])
            }
            let results = await database.loop.concurrently(256) { index in
                try await database.run(shared: commands[index]).int(0, 0)
            }
            for (index, result) in results.enumerated() {
                #expect(((try? result.get()) == 1) == (index % 2 == 1))
                #expect(commands[index].skips <= 2)
            }
        }
    }

    @Test func aReadMayNotWrite() async throws {
        let shared = try await TestDatabase.make()
        try await shared.execute("CREATE TABLE entry (id int)")
        try await shared.withDatabase { _, database in
            let error = await failure(of: { try await database.read("INSERT INTO entry VALUES (1)") })
            #expect((error as? PostgresError)?.sqlState == "25006")
            _ = try await database.write("INSERT INTO entry VALUES (1)")
            let count = try await database.read("SELECT count(*) FROM entry").int(0, 0)
            #expect(count == 1)
        }
    }

    @Test func aHiccupMakesNoStatementSlowButRepeatedOrLongRunsDo() {
        let slow: UInt64 = 5_000_000
        var costs = ReadCosts(limit: 2)
        let cost = costs.find("SELECT 1")
        #expect(cost.typical == costs.mean)
        costs.record(cost, 10_000_000, slow: slow)
        #expect(cost.typical < Double(slow))
        for _ in 0..<4 { costs.record(cost, 10_000_000, slow: slow) }
        #expect(cost.typical > Double(slow))
        for _ in 0..<20 { costs.record(cost, 100_000, slow: slow) }
        #expect(cost.typical < Double(slow))
        costs.record(cost, 1_000_000_000, slow: slow)
        #expect(cost.typical > Double(slow))
        #expect(costs.find("SELECT 1") === cost)
        // Past the limit it begins anew.
        _ = costs.find("SELECT 2")
        _ = costs.find("SELECT 3")
        #expect(costs.find("SELECT 1") !== cost)
    }

    private final class Ended {
        var results: [Result<Void, any Error>] = []
        var errors: [any Error] = []
    }
}
