import Core
import Glibc
import Postgres
import TestSupport
import Testing

/// Plain reads, which share their connections.
@Suite struct ReadTests {
    @Test func aReadReturnsItsRows() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase { _, database in
            let rows = try await database.read("SELECT $1::text AS word, $2::int8 + 1", [.text("héllo"), .int(41)])
            #expect(rows.count == 1)
            #expect(rows.columnCount == 2)
            #expect(rows.columnName(0) == "word")
            #expect(rows.string(0, 0) == "héllo")
            #expect(rows.int(0, 1) == 42)
            #expect(rows.commandTag == "SELECT 1")
        }
    }

    @Test func anErrorInTheMiddleOfAPipelineHarmsOnlyItsOwnStatement() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase({ $0.sharedConnections = 1 }) { _, database in
            let results = await database.loop.concurrently(300) { index in
                switch index % 7 {
                case 3: return try await database.read("SELECT 1 / ($1::int8 - $1::int8)", [.int(1)]).int(0, 0)
                case 5: return try await database.read("SELECT nonsense").int(0, 0)
                default: return try await database.read("SELECT $1::int8", [.int(Int64(index))]).int(0, 0)
                }
            }
            for (index, result) in results.enumerated() {
                switch (index % 7, result) {
                case (3, .failure(let error as PostgresError)): #expect(error.sqlState == "22012")
                case (5, .failure(let error as PostgresError)): #expect(error.sqlState == "42703")
                case (_, .success(let value)): #expect(value == Int64(index))
                default: Issue.record("read \(index) ended with \(result)")
                }
            }
        }
    }

    @Test func aSlowReadDoesNotHoldUpOthers() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase { _, database in
            _ = try await database.read("SELECT 1")
            let done = Order()
            // The slow ones leave in the same turn as the fast ones, on the same connections, ahead of them.
            let results = await database.loop.concurrently(100) { index in
                if index < 2 {
                    _ = try await database.read("SELECT pg_sleep(3)")
                } else {
                    _ = try await database.read("SELECT $1::int8", [.int(Int64(index))])
                }
                done.finished.append(index)
            }
            #expect(results.allSatisfy { (try? $0.get()) != nil })
            #expect(done.finished.suffix(2).sorted() == [0, 1])
        }
    }

    /// Where they go shows in the number of the process that answers. A busy machine may take a read for a long one now
    /// and then, and the second connection takes a moment to be made: it is tried for a while.
    @Test(arguments: [0, 10]) func readsGoTogetherAndOneThatNobodyKnowsBesideThem(place: Int) async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase { _, database in
            let known: Statement = "SELECT pg_backend_pid()::int8"
            let end = Loop.monotonicNow() + 20_000_000_000
            var tries = 0
            var seen = false
            while !seen, Loop.monotonicNow() < end {
                _ = try await database.read(known)
                tries += 1
                let unknown = Statement("SELECT pg_backend_pid()::int8, \(tries)")
                let pids = await database.loop.concurrently(21) { index in
                    try await database.read(index == place ? unknown : known).int(0, 0)
                }.map { try? $0.get() }
                let together = Set(pids[..<place] + pids[(place + 1)...])
                let isTold = !together.contains(nil) && pids[place] != nil
                seen = isTold && together.count == 1 && pids[place] != together.first
            }
            #expect(seen)
        }
    }

    @Test func aThousandTasksAtOnce() async throws {
        let database = try await TestDatabase.make()
        try await database.execute("CREATE TABLE entry (id int8 PRIMARY KEY)")
        try await database.withDatabase { _, database in
            let results = await database.loop.concurrently(1000) { index in
                _ = try await database.write("INSERT INTO entry VALUES ($1)", [.int(Int64(index))])
                return try await database.read("SELECT id FROM entry WHERE id = $1", [.int(Int64(index))]).int(0, 0)
            }
            for (index, result) in results.enumerated() {
                let value = try result.get()
                #expect(value == Int64(index))
            }
        }
    }

    @Test func aValueOfAHundredMegabytesComesAndGoes() async throws {
        let database = try await TestDatabase.make()
        try await database.execute("CREATE TABLE large (value bytea)")
        try await database.withDatabase({ $0.statementTimeout = .seconds(600) }) { _, database in
            let value = [UInt8](repeating: 0xA5, count: 100 << 20)
            _ = try await database.write("INSERT INTO large VALUES ($1)", [.bytes(value)])
            let rows = try await database.read("SELECT value FROM large")
            let bytes = rows.bytes(0, 0)
            #expect(bytes.count == value.count)
            let isSame = value.withUnsafeBytes { value in
                guard let one = value.baseAddress, let other = bytes.baseAddress else { return false }
                return memcmp(one, other, value.count) == 0
            }
            #expect(isSame)
            try await expectOne(database.read("SELECT 1"))
        }
    }

    @Test func aReadIsRepeatedWhenItsConnectionIsKilled() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase { _, database in
            let results = await database.loop.concurrently(50) { index in
                if index == 25 {
                    _ = try await database.write(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid()
                        """)
                }
                return try await database.read("SELECT $1::int8", [.int(Int64(index))]).int(0, 0)
            }
            for (index, result) in results.enumerated() {
                let value = try result.get()
                #expect(value == Int64(index))
            }
        }
    }

    @Test func aCancelledReadIsCancelledOnTheServer() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase { _, database in
            let running =
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep(77%'"
            let read = database.loop.spawn { _ = try? await database.read("SELECT pg_sleep(77)") }
            let started = try await eventually(database.loop) {
                try await database.read(Statement(running)).int(0, 0) >= 1
            }
            #expect(started)
            read.cancel()
            await read.value
            let gone = try await eventually(database.loop) {
                try await database.read(Statement(running)).int(0, 0) == 0
            }
            #expect(gone)
        }
    }

    @Test func aStatementEndsAtItsTimeout() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase({ $0.statementTimeout = .milliseconds(200) }) { _, database in
            for call in 0..<2 {
                do {
                    _ =
                        call == 0
                        ? try await database.read("SELECT pg_sleep(20)")
                        : try await database.write("SELECT pg_sleep(20)")
                    Issue.record("the statement ended without an error")
                } catch let error as PostgresError {
                    #expect(error.isStatementTimeout)
                }
            }
            try await expectOne(database.read("SELECT 1"))
        }
    }

    @Test func anUnreachableServerIsToldWithinTheBoundOnWaiting() async throws {
        let worker = Worker(name: "test")
        try await worker.run { _, loop in
            var configuration = DatabaseConfiguration("host=/nonexistent dbname=x")
            configuration.waitBound = .milliseconds(300)
            let database = Database(loop: loop, configuration: configuration)
            for call in 0..<2 {
                do {
                    _ = call == 0 ? try await database.read("SELECT 1") : try await database.write("SELECT 1")
                    Issue.record("there is no such server")
                } catch let error as PostgresError {
                    #expect(error.kind == .unavailable)
                    #expect(error.isUnavailable)
                }
            }
            await database.close()
        }
        await worker.stop()
    }

    private final class Order { var finished: [Int] = [] }
}
