import Core
import Glibc
import Postgres
import TestSupport
import Testing

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

    @Test func aKilledListenerKnowsThatItMayHaveMissedSomethingAndComesBack() async throws {
        let shared = try await TestDatabase.make()
        try await shared.withDatabase { _, database in
            let heard = listen(database, "news")
            let first = try await eventually(database.loop) { database.isListening }
            #expect(first)
            _ = try await database.write(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """)
            let again = try await eventually(database.loop) { heard.connected == 2 && database.isListening }
            #expect(again)
            #expect(heard.lost == 1)
            try await database.notify(channel: "news", payload: "back")
            let told = try await eventually(database.loop) { heard.payloads == ["back"] }
            #expect(told)
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
                AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')
                """)
            let listener = pid_t(rows.int(0, 0))
            kill(listener, SIGSTOP)
            let stopped = Loop.monotonicNow()
            let silent = try await eventually(database.loop) { !database.isListening }
            #expect(silent)
            #expect(Loop.monotonicNow() - stopped < 2_000_000_000)
            kill(listener, SIGCONT)
            let again = try await eventually(database.loop) { database.isListening }
            #expect(again)
        }
    }
}
