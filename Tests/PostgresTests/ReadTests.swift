import Core
import Postgres
import TestSupport
import Testing

@Suite struct ReadTests {
    @Test func aReadReturnsItsRows() async throws {
        let database = try await TestDatabase.make()
        try await database.withDatabase { _, database in
            let rows = try await database.read("SELECT $1::text, $2::int8 + 1", [.text("héllo"), .int(41)])
            #expect(rows.count == 1)
            #expect(rows.string(0, 0) == "héllo")
            #expect(rows.int(0, 1) == 42)
        }
    }

    @Test func writesAndTransactionsCommit() async throws {
        let database = try await TestDatabase.make()
        try database.execute("CREATE TABLE counter (id int PRIMARY KEY, value int8)")
        try await database.withDatabase { _, database in
            let inserted = try await database.write("INSERT INTO counter VALUES (1, $1)", [.int(5)])
            #expect(inserted.affectedRows == 1)
            try await database.transaction { transaction in
                _ = try await transaction.execute("UPDATE counter SET value = value + 1")
                _ = try await transaction.execute("UPDATE counter SET value = value + 1")
            }
            let rows = try await database.read("SELECT value FROM counter")
            #expect(rows.int(0, 0) == 7)
        }
    }
}
