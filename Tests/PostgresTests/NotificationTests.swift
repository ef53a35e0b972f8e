import Core
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Postgres

/// NOTIFY between nodes: here two workers, each with its own connections.
@Suite struct NotificationTests {
    /// What one node has heard.
    private final class Heard {
        var payloads: [String] = []
        var connected = 0
        var lost = 0
    }

    private func listen(_ database: Database, _ channel: String) -> Heard {
        let heard = Heard()
        database.listen(
            channel: channel, handler: { heard.payloads.append($0) }, onConnected: { heard.connected += 1 },
            onLost: { heard.lost += 1 })
        return heard
    }

    @Test func oneNodeHearsWhatTheOtherCommits() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase { _, database in
            #expect(!database.isListening)
            let news = listen(database, "news")
            let other = listen(database, "Other \"channel\"")
            let listening = try await eventually(database.loop) { database.isListening }
            #expect(listening)
            try await shared.withDatabase { _, sender in
                try await sender.notify(channel: "news", payload: "first")
                try await sender.notify(channel: "Other \"channel\"", payload: "aside")
                _ = await failure(of: {
                    try await sender.transaction { transaction in
                        try await transaction.notify(channel: "news", payload: "never committed")
                        throw CancellationError()
                    }
                })
                try await sender.transaction { try await $0.notify(channel: "news", payload: "second") }
            }
            let all = try await eventually(database.loop) { news.payloads.count == 2 && other.payloads.count == 1 }
            #expect(all)
            #expect(news.payloads == ["first", "second"])
            #expect(other.payloads == ["aside"])
        }
    }

    /// Does something to the connection that listens, which notices it and comes back.
    private func comesBack(after harm: @escaping @Sendable (Database) async throws -> Void) async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase { _, database in
            let heard = listen(database, "news")
            let first = try await eventually(database.loop) { database.isListening }
            #expect(first)
            try await harm(database)
            let again = try await eventually(database.loop) { heard.connected == 2 && database.isListening }
            #expect(again)
            #expect(heard.lost == 1)
            try await database.notify(channel: "news", payload: "back")
            let told = try await eventually(database.loop) { heard.payloads == ["back"] }
            #expect(told)
        }
    }

    @Test func aKilledListenerKnowsThatItMayHaveMissedSomethingAndComesBack() async throws {
        try await comesBack { database in
            _ = try await database.write(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """)
        }
    }

    @Test func workersOfANodeShareOneConnectionThatListens() async throws {
        let shared = try await TestDatabase.make()
        let listener = NodeListener(shared.configuration)
        let workers = (0..<3).map { Worker(index: $0, name: "test") }
        let stays = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask {
                    try await worker.run { worker, loop in
                        let database = Database(loop: loop, configuration: shared.configuration, listener: listener)
                        let heard = self.listen(database, "news")
                        let own = self.listen(database, "worker \(worker.index)")
                        let listening = try await eventually(loop) {
                            database.isListening && heard.connected > 0 && own.connected > 0
                        }
                        #expect(listening)
                        try await database.notify(channel: "worker \(worker.index)", payload: "own")
                        try await database.notify(channel: "news", payload: "all")
                        let all = try await eventually(loop) { heard.payloads.count == 3 && own.payloads == ["own"] }
                        #expect(all, "\(heard.payloads) \(own.payloads)")
                        if worker.index == 0 {
                            let rows = try await database.write(
                                """
                                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                                AND (query LIKE 'LISTEN%' OR query = 'SELECT pg_listening_channels()')
                                """)
                            expectOne(rows)
                            for _ in 1..<workers.count { stays.signal() }
                        } else {
                            // Nobody leaves before they were counted.
                            try await blocking { stays.wait() }
                        }
                        await database.close()
                    }
                }
            }
            try await group.waitForAll()
        }
        // With the last one it is gone.
        try await shared.withDatabase { _, database in
            let gone = try await eventually(database.loop) {
                try await database.write(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND query = 'SELECT pg_listening_channels()'
                    """
                ).int(0, 0) == 0
            }
            #expect(gone)
        }
        for worker in workers { await worker.stop() }
    }

    @Test func whatAWorkerHasNotTakenInYetIsNotReliedOn() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase({ $0.silence = .seconds(5) }) { _, database in
            let heard = listen(database, "news")
            let listening = try await eventually(database.loop) { database.isListening }
            #expect(listening)
            // Sent by another server's worker, while this one does nothing but look: its loop can't take it in.
            let conninfo = shared.conninfo
            let sent = Task.detached {
                let sender = Worker(name: "sender")
                try await sender.run { _, loop in
                    let database = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
                    try await database.notify(channel: "news", payload: "late")
                    await database.close()
                }
                await sender.stop()
            }
            let start = Loop.monotonicNow()
            // Blocks this worker on purpose: a wait that let its loop run would take the notification in.
            while database.isListening, Loop.monotonicNow() - start < 4_000_000_000 { usleep(1000) }
            #expect(!database.isListening)
            #expect(heard.payloads.isEmpty)
            let told = try await eventually(database.loop) { heard.payloads == ["late"] && database.isListening }
            #expect(told)
            try await sent.value
        }
    }

    @Test func aConnectionThatNoLongerListensIsNoticed() async throws {
        try await comesBack { database in
            // As a pooler does that hands the backend to somebody else.
            database.subscriptions.listener.runOnItsConnection("UNLISTEN *")
        }
    }

    @Test func aListenerThatNobodyAsksRestsAndIsAwakeAtOnce() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase({
            $0.restsAfter = .milliseconds(100)
            $0.restingHeartbeat = .seconds(3600)
        }) { _, database in
            let heard = listen(database, "news")
            for _ in 0..<3 {
                let isAwake = try await eventually(database.loop) { database.isListening }
                #expect(isAwake)
                let rests = try await eventually(database.loop) {
                    try await database.write(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND query = 'SELECT pg_listening_channels()'
                            AND clock_timestamp() - query_start > interval '1 second'
                        """
                    ).int(0, 0) == 1
                }
                #expect(rests)
                // It hears all the same.
                let count = heard.payloads.count
                try await database.notify(channel: "news", payload: "\(count)")
                let told = try await eventually(database.loop) { heard.payloads.count == count + 1 }
                #expect(told)
            }
            #expect(heard.connected == 1)
        }
    }

    @Test func aStalledListenerIsNotReliedOn() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase({ $0.silence = .milliseconds(150) }) { _, database in
            _ = listen(database, "news")
            let first = try await eventually(database.loop) { database.isListening }
            #expect(first)
            let rows = try await database.write(
                """
                SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND (query LIKE 'LISTEN%' OR query = 'SELECT pg_listening_channels()')
                """)
            let listener = pid_t(rows.int(0, 0))
            let stalled = try await StalledBackend(listener, database)
            let silent = try await eventually(database.loop) { !database.isListening }
            stalled.resume()
            #expect(silent)
            let again = try await eventually(database.loop) { database.isListening }
            #expect(again)
        }
    }
}
