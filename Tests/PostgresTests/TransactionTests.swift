import Core
import TestSupport
import Testing

@testable import Postgres

/// Writes and transactions, which own their connection while they run.
@Suite struct TransactionTests {
    private struct Refused: Error {}

    private func makeCounters() async throws -> TestDatabase {
        let database = try await TestDatabase.make()
        try await database.execute(
            "CREATE TABLE counter (id int PRIMARY KEY, value int8); INSERT INTO counter VALUES (1, 0), (2, 0)")
        return database
    }

    private func value(_ database: Database, _ id: Int64) async throws -> Int64 {
        try await database.read("SELECT value FROM counter WHERE id = $1", [.int(id)]).int(0, 0)
    }

    @Test func writesAndTransactionsCommit() async throws {
        try await makeCounters().withDatabase { _, database in
            let updated = try await database.write("UPDATE counter SET value = value + $1", [.int(5)])
            #expect(updated.affectedRows == 2)
            let result = try await database.transaction { transaction in
                _ = try await transaction.execute("UPDATE counter SET value = value + 1 WHERE id = 1")
                #expect(transaction.isOpen)
                return try await transaction.execute("SELECT value FROM counter WHERE id = 1").int(0, 0)
            }
            #expect(result == 6)
            let after = try await value(database, 1)
            #expect(after == 6)
        }
    }

    @Test func whatThrowsIsRolledBack() async throws {
        try await makeCounters().withDatabase { _, database in
            var kept: Transaction?
            let error = await failure(of: {
                try await database.transaction { transaction in
                    kept = transaction
                    _ = try await transaction.execute("UPDATE counter SET value = 9")
                    throw Refused()
                }
            })
            expect(error, is: Refused.self)
            let after = try await value(database, 1)
            #expect(after == 0)
            #expect(kept?.isOpen == false)
            expect(await failure(of: { _ = try await kept?.execute("SELECT 1") }), is: PostgresError.self)
        }
    }

    @Test func aTransactionThatHidesAFailedStatementDoesNotSeemCommitted() async throws {
        try await makeCounters().withDatabase { _, database in
            let error = await failure(of: {
                try await database.transaction { transaction in
                    _ = try await transaction.execute("UPDATE counter SET value = 9")
                    _ = try? await transaction.execute("SELECT 1 / 0")
                }
            })
            expect(error, is: PostgresError.self)
            let after = try await value(database, 1)
            #expect(after == 0)
        }
    }

    @Test func aSavepointUndoesOnlyItsOwnPart() async throws {
        try await makeCounters().withDatabase { _, database in
            try await database.transaction { transaction in
                // Before anything was sent.
                expect(await failure(of: { try await transaction.savepoint { throw Refused() } }), is: Refused.self)
                _ = try await transaction.execute("UPDATE counter SET value = 1 WHERE id = 1")
                let error = await failure(of: {
                    try await transaction.savepoint {
                        _ = try await transaction.execute("UPDATE counter SET value = 2 WHERE id = 1")
                        _ = try await transaction.execute("INSERT INTO counter VALUES (2, 2)")
                    }
                })
                expect(error, is: PostgresError.self)
                try await transaction.savepoint {
                    try await transaction.savepoint {
                        _ = try await transaction.execute("UPDATE counter SET value = 3 WHERE id = 2")
                    }
                    try? await transaction.savepoint {
                        _ = try await transaction.execute("UPDATE counter SET value = 4 WHERE id = 2")
                        throw Refused()
                    }
                }
            }
            let values = [try await value(database, 1), try await value(database, 2)]
            #expect(values == [1, 3])
        }
    }

    @Test func aSavepointMayFailAfterOneWithinItSucceeded() async throws {
        try await makeCounters().withDatabase { _, database in
            try await database.transaction(retries: 0) { transaction in
                try? await transaction.savepoint {
                    _ = try await transaction.execute("UPDATE counter SET value = 1 WHERE id = 1")
                    try await transaction.savepoint {
                        _ = try await transaction.execute("UPDATE counter SET value = 2 WHERE id = 1")
                    }
                    throw Refused()
                }
                _ = try await transaction.execute("UPDATE counter SET value = 3 WHERE id = 2")
            }
            let values = [try await value(database, 1), try await value(database, 2)]
            #expect(values == [0, 3])
        }
    }

    @Test func aStatementThatCannotBeSentLeavesTheTransactionAsItWas() async throws {
        try await makeCounters().withDatabase { _, database in
            let error = await failure(of: {
                try await database.transaction { transaction in
                    // The first statement, with which BEGIN was to go.
                    let refused = await failure(of: { try await transaction.execute("SELECT $1::text", [.text("\0")]) })
                    #expect((refused as? PostgresError)?.kind == .parameter)
                    _ = try await transaction.execute("UPDATE counter SET value = 9")
                    throw Refused()
                }
            })
            expect(error, is: Refused.self)
            let after = try await value(database, 1)
            #expect(after == 0)
        }
    }

    @Test func aTransactionThatWasLeftIdleForTooLongIsNotRunAgain() async throws {
        try await makeCounters().withDatabase({ $0.idleTransactionTimeout = .milliseconds(100) }) { _, database in
            let attempts = Count()
            let error = await failure(of: {
                try await database.transaction { transaction in
                    attempts.value += 1
                    _ = try await transaction.execute("UPDATE counter SET value = 9")
                    let isGone = try await eventually(database.loop) { !transaction.isOpen }
                    #expect(isGone)
                    _ = try await transaction.execute("SELECT 1")
                }
            })
            #expect((error as? PostgresError)?.kind == .connectionLost(mayHaveRun: false))
            #expect((error as? PostgresError)?.sqlState == "25P03")
            #expect(attempts.value == 1)
        }
    }

    @Test func aCommitThatWasNeverSentIsNoDoubt() async throws {
        try await makeCounters().withDatabase { _, database in
            let attempts = Count()
            try await database.transaction { transaction in
                attempts.value += 1
                _ = try await transaction.execute("UPDATE counter SET value = value + 1 WHERE id = 1")
                guard attempts.value == 1 else { return }
                // The backend ends behind the transaction's back, while this worker looks elsewhere.
                let own = try await transaction.execute("SELECT pg_backend_pid()").int(0, 0)
                _ = try await database.write("SELECT pg_terminate_backend($1::int4, 5000)", [.int(own)])
                let isGone = try await eventually(database.loop) { !transaction.isOpen }
                #expect(isGone)
            }
            #expect(attempts.value == 2)
            let after = try await value(database, 1)
            #expect(after == 1)
        }
    }

    @Test func whoGaveUpWaitingIsForgotten() async throws {
        try await makeCounters().withDatabase({ $0.ownedLimit = 1 }) { _, database in
            let release = Waiter()
            let isHeld = Waiter()
            let holder = database.loop.spawn {
                _ = try? await database.transaction { transaction in
                    _ = try await transaction.execute("SELECT 1")
                    isHeld.resume()
                    try await release.wait()
                }
            }
            try await isHeld.wait()
            let waiting = (0..<1000).map { _ in database.loop.spawn { _ = try? await database.write("SELECT 1") } }
            let allWait = try await eventually(database.loop) { database.owned.waitingCount == 1000 }
            #expect(allWait)
            waiting.forEach { $0.cancel() }
            for task in waiting { await task.value }
            #expect(database.owned.waitingCount == 0)
            release.resume()
            await holder.value
            try await expectOne(database.write("SELECT 1"))
        }
    }

    @Test func aSerializationFailureIsTriedAgain() async throws {
        try await makeCounters().withDatabase { _, database in
            let results = await database.loop.concurrently(20) { _ in
                try await database.transaction(isolation: .serializable, retries: 100) { transaction in
                    let value = try await transaction.execute("SELECT value FROM counter WHERE id = 1").int(0, 0)
                    _ = try await transaction.execute(
                        "UPDATE counter SET value = $1 WHERE id = 1", [.int(value + 1)])
                }
            }
            for result in results { try result.get() }
            let after = try await value(database, 1)
            #expect(after == 20)
        }
    }

    @Test func aDeadlockIsTriedAgain() async throws {
        let counters = try await makeCounters()
        try await counters.execute("ALTER DATABASE \(counters.name) SET deadlock_timeout = '20ms'")
        try await counters.withDatabase { _, database in
            let attempts = Count()
            let holding = Count()
            let bothHoldOne = Waiter()
            let results = await database.loop.concurrently(2) { index in
                try await database.transaction { transaction in
                    attempts.value += 1
                    let first = index == 0 ? Int64(1) : 2
                    _ = try await transaction.execute(
                        "UPDATE counter SET value = value + 1 WHERE id = $1", [.int(first)])
                    holding.value += 1
                    if holding.value == 1 { try await bothHoldOne.wait() } else { bothHoldOne.resume() }
                    _ = try await transaction.execute(
                        "UPDATE counter SET value = value + 1 WHERE id = $1", [.int(3 - first)])
                }
            }
            for result in results { try result.get() }
            #expect(attempts.value == 3)
            let values = [try await value(database, 1), try await value(database, 2)]
            #expect(values == [2, 2])
        }
    }

    @Test func aCancelledTaskLeavesNoTransactionBehind() async throws {
        try await makeCounters().withDatabase({ $0.ownedLimit = 1 }) { _, database in
            let locked = Waiter()
            let task = database.loop.spawn {
                _ = try? await database.transaction { transaction in
                    _ = try await transaction.execute("UPDATE counter SET value = 9 WHERE id = 1")
                    locked.resume()
                    _ = try await transaction.execute("SELECT pg_sleep(60)")
                }
            }
            try await locked.wait()
            task.cancel()
            await task.value
            // The same, single connection serves the next write, and the row is free.
            _ = try await database.write("UPDATE counter SET value = value + 1 WHERE id = 1")
            let after = try await value(database, 1)
            #expect(after == 1)
            let left = try await database.read(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND (state LIKE 'idle in transaction%' OR query LIKE 'SELECT pg_sleep(60)%' AND state = 'active')
                """)
            #expect(left.int(0, 0) == 0)
        }
    }

    @Test func aHundredWritersWaitForARowWhileReadersGoOn() async throws {
        try await makeCounters().withDatabase({ $0.waitBound = .seconds(30) }) { _, database in
            let written = Count()
            let readsGoOn = Waiter()
            let isLocked = Waiter()
            let holder = database.loop.spawn {
                _ = try? await database.transaction { transaction in
                    _ = try await transaction.execute("UPDATE counter SET value = 0 WHERE id = 1")
                    isLocked.resume()
                    try await readsGoOn.wait()
                }
            }
            try await isLocked.wait()
            let writers = database.loop.spawn {
                let results = await database.loop.concurrently(100) { _ in
                    _ = try await database.write("UPDATE counter SET value = value + 1 WHERE id = 1")
                    written.value += 1
                }
                #expect(results.allSatisfy { (try? $0.get()) != nil })
            }
            let waiting = try await eventually(database.loop) {
                let rows = try await database.read(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """)
                return rows.int(0, 0) >= 15
            }
            #expect(waiting)
            for _ in 0..<200 {
                let seen = try await value(database, 1)
                #expect(seen == 0)
            }
            #expect(written.value == 0)
            readsGoOn.resume()
            await holder.value
            await writers.value
            let after = try await value(database, 1)
            #expect(after == 100)
        }
    }

    @Test func whoWaitsTooLongForAConnectionIsToldSo() async throws {
        let configure: @Sendable (inout DatabaseConfiguration) -> Void = {
            $0.ownedLimit = 2
            $0.waitBound = .seconds(1)
        }
        try await makeCounters().withDatabase(configure) { _, database in
            let releases = [Waiter(), Waiter()]
            let open = Count()
            let holders = database.loop.spawn {
                _ = await database.loop.concurrently(2) { index in
                    try await database.transaction { transaction in
                        _ = try await transaction.execute("SELECT 1")
                        open.value += 1
                        try await releases[index].wait()
                    }
                }
            }
            let bothOpen = try await eventually(database.loop) { open.value == 2 }
            #expect(bothOpen)
            let error = await failure(of: { try await database.write("SELECT 1") })
            #expect((error as? PostgresError)?.kind == .poolExhausted)
            for release in releases { release.resume() }
            await holders.value
            try await expectOne(database.write("SELECT 1"))
        }
    }

    @Test func aKilledConnectionTellsWhetherTheWriteMayHaveRun() async throws {
        try await makeCounters().withDatabase { _, database in
            do {
                _ = try await database.write("SELECT pg_terminate_backend(pg_backend_pid())")
                Issue.record("the connection was killed")
            } catch let error as PostgresError {
                #expect(error.kind == .connectionLost(mayHaveRun: true))
            }
            // Before COMMIT nothing can have taken effect: the transaction runs again by itself.
            let attempts = Count()
            try await database.transaction { transaction in
                attempts.value += 1
                _ = try await transaction.execute("UPDATE counter SET value = value + 1 WHERE id = 1")
                if attempts.value == 1 {
                    _ = try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
            #expect(attempts.value == 2)
            let after = try await value(database, 1)
            #expect(after == 1)
        }
    }

    @Test func aWriteIsAcknowledgedOnlyOnceCommitted() async throws {
        let counters = try await makeCounters()
        try await counters.execute("CREATE TABLE unique_late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        try await counters.withDatabase { _, database in
            // The violation shows only at the commit, after the statement itself succeeded.
            do {
                _ = try await database.write("INSERT INTO unique_late VALUES (1), (1)")
                Issue.record("the commit failed")
            } catch let error as PostgresError {
                #expect(error.isUniqueViolation)
                #expect(error.table == "unique_late")
                #expect(error.constraint == "unique_late_id_key")
            }
        }
    }

    final class Count { var value = 0 }
}
