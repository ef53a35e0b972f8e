import Core
import Postgres
import TestSupport
import Testing

/// Statements are prepared once on each connection; that must never show.
@Suite struct PreparedStatementTests {
    private let onceEach: @Sendable (inout DatabaseConfiguration) -> Void = {
        $0.sharedConnections = 1
        $0.ownedLimit = 1
    }

    @Test func aStatementSurvivesAChangeOfItsTable() async throws {
        let database = try await TestDatabase.make()
        try await database.execute("CREATE TABLE shape (id int); INSERT INTO shape VALUES (1)")
        let changes = database
        try await database.withDatabase(onceEach) { _, database in
            for columns in 1...4 {
                let read = try await database.read("SELECT * FROM shape")
                #expect(read.columnCount == columns)
                let written = try await database.write("UPDATE shape SET id = id + 1 RETURNING *")
                #expect(written.columnCount == columns)
                try await database.transaction { transaction in
                    let rows = try await transaction.execute("SELECT * FROM shape")
                    #expect(rows.columnCount == columns)
                }
                try await changes.execute("ALTER TABLE shape ADD COLUMN more\(columns) text")
            }
        }
    }

    @Test func aStatementSurvivesItsServersForgetting() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase(onceEach) { _, database in
            for _ in 0..<3 {
                let results = await database.loop.concurrently(10) { index in
                    try await database.read("SELECT $1::int8", [.int(Int64(index))]).int(0, 0)
                }
                #expect(results.compactMap { try? $0.get() } == Array(0..<10))
                let written = try await database.write("SELECT 2")
                #expect(written.int(0, 0) == 2)
                _ = try await database.read("DEALLOCATE ALL")
                _ = try await database.run("DEALLOCATE ALL")
            }
        }
    }

    @Test func onlySoManyStaysPrepared() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase({
            $0.ownedLimit = 1
            $0.preparedLimit = 10
        }) { _, database in
            for round in 0..<3 {
                for number in 0..<25 {
                    let rows = try await database.write(Statement("SELECT \(number)"))
                    #expect(rows.int(0, 0) == Int64(number), "round \(round)")
                }
            }
            let kept = try await database.run("SELECT count(*) FROM pg_prepared_statements")
            #expect(kept.int(0, 0) <= 11)
        }
    }

    @Test func aRefusedStatementIsRefusedAgainAndHarmsNoOther() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase(onceEach) { _, database in
            for _ in 0..<3 {
                expect(
                    await failure(of: { _ = try await database.write("SELECT * FROM nowhere") }), is: PostgresError.self
                )
                expect(
                    await failure(of: { _ = try await database.read("SELECT * FROM nowhere") }), is: PostgresError.self)
                expect(
                    await failure(of: { _ = try await database.read("SELECT $1::text", [.text("a\0b")]) }),
                    is: PostgresError.self)
            }
            try await expectOne(database.write("SELECT 1"))
            try await expectOne(database.read("SELECT 1"))
        }
    }
}
