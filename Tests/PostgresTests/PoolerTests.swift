import Core
import Postgres
import TestSupport
import Testing

/// Poolers between Hermes and PostgreSQL.
@Suite(.enabled(if: PgBouncer.isThere, "these need PgBouncer, and to be root: apt-get install pgbouncer"))
struct PoolerTests {
    @Test(arguments: [("transaction", false), ("session", true)])
    func onlySomeKeepSessions(mode: String, keepsThem: Bool) async throws {
        try await withPooler(mode) { database in
            let found = try await database.keepsSessions()
            #expect(found == keepsThem)
        }
    }

    /// Whatever a pooler does: a statement is run or fails, and never becomes another one.
    @Test func noStatementBecomesAnother() async throws {
        try await withPooler("transaction") { database in
            let statements = (0..<40).map { Statement("SELECT \($0)::int8") }
            // Each connection prepares ten of them, in a session of its own as long as its transaction lasts.
            func prepare(from first: Int) async throws {
                guard first < statements.count else { return }
                try await database.transaction { transaction in
                    for statement in statements[first..<first + 10] { _ = try await transaction.execute(statement) }
                    try await prepare(from: first + 10)
                }
            }
            try await prepare(from: 0)
            var answers = 0
            for _ in 0..<5 {
                // All of them at once, so that each connection gets whichever session is free.
                let results = await database.loop.concurrently(statements.count) {
                    try await database.write(statements[$0]).int(0, 0)
                }
                for (number, result) in results.enumerated() {
                    guard let answer = try? result.get() else { continue }
                    answers += 1
                    #expect(answer == Int64(number))
                }
            }
            #expect(answers > 0)
        }
    }

    private func withPooler(_ mode: String, _ body: @Sendable @escaping (Database) async throws -> Void) async throws {
        let test = try await TestDatabase.make()
        let pooler = try PgBouncer(mode: mode, to: test)
        defer { pooler.close() }
        try await test.withDatabase({ $0.conninfo = pooler.conninfo }) { _, database in try await body(database) }
    }
}
