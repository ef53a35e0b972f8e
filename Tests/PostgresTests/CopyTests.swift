import Core
import Postgres
import TestSupport
import Testing

/// COPY both ways.
@Suite struct CopyTests {
    private struct Broken: Error {}

    private func makeTable() async throws -> TestDatabase {
        let database = try await TestDatabase.make()
        try await database.execute("CREATE TABLE line (id int8 PRIMARY KEY, words text)")
        return database
    }

    @Test func rowsGoInAndComeOut() async throws {
        try await makeTable().withDatabase { _, database in
            var next: Int64 = 0
            let words = "tab\there, line\nthere, back\\slash"
            let copied = try await database.copyIn("COPY line FROM STDIN") {
                guard next < 100_000 else { return nil }
                var text = CopyText()
                for _ in 0..<1000 {
                    text.field(String(next))
                    text.field(next % 10 == 0 ? nil : words)
                    text.endRow()
                    next += 1
                }
                return text.take()
            }
            #expect(copied == 100_000)
            let rows = try await database.read("SELECT count(*), count(words), max(words) FROM line")
            #expect(rows.int(0, 0) == 100_000)
            #expect(rows.int(0, 1) == 90_000)
            #expect(rows.string(0, 2) == words)

            var lines = 0
            var length = 0
            let out = try await database.copyOut("COPY line TO STDOUT") { row in
                lines += 1
                length += row.count
                if lines == 500 { try await database.loop.sleep(nanoseconds: 1_000_000) }
            }
            #expect(out == 100_000)
            #expect(lines == 100_000)
            #expect(length > 3_000_000)
            // The connection is an ordinary one again.
            try await expectOne(database.write("SELECT 1"))
        }
    }

    @Test func aSourceThatFailsLeavesNothingBehind() async throws {
        try await makeTable().withDatabase({ $0.ownedLimit = 1 }) { _, database in
            var pieces = 0
            let error = await failure(of: {
                try await database.copyIn("COPY line FROM STDIN") {
                    pieces += 1
                    if pieces == 3 { throw Broken() }
                    return Array("\(pieces)\tx\n".utf8)
                }
            })
            expect(error, is: Broken.self)
            let refused = await failure(of: {
                try await database.copyIn("COPY line FROM STDIN") {
                    pieces += 1
                    return pieces < 10 ? Array("not a number\n".utf8) : nil
                }
            })
            #expect((refused as? PostgresError)?.sqlState == "22P02")
            let unknown = await failure(of: { try await database.copyIn("COPY nowhere FROM STDIN") { nil } })
            #expect((unknown as? PostgresError)?.sqlState == "42P01")
            let rows = try await database.write("SELECT count(*) FROM line")
            #expect(rows.int(0, 0) == 0)
        }
    }

    @Test func aReaderThatFailsEndsTheCopy() async throws {
        try await makeTable().withDatabase({ $0.ownedLimit = 1 }) { _, database in
            _ = try await database.write(
                "INSERT INTO line SELECT n, repeat('x', 1000) FROM generate_series(1, 20000) n")
            let error = await failure(of: {
                try await database.copyOut("COPY line TO STDOUT") { _ in throw Broken() }
            })
            expect(error, is: Broken.self)
            try await expectOne(database.write("SELECT 1"))
        }
    }
}
