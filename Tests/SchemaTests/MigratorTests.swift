import Core
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Schema

@Suite struct MigratorTests {
    private let first = Migration(number: 1, name: "one", sql: "CREATE TABLE one (n int); INSERT INTO one VALUES (1);")
    private let second = Migration(number: 2, name: "two", sql: "INSERT INTO one VALUES (2) -- the end\n;")

    @Test func anEmptyDatabaseGetsEverythingOnce() async throws {
        let (first, second) = (first, second)
        try await TestDatabase.make().withDatabase { _, database in
            let migrator = Migrator([first, second])
            let before = try await migrator.state(database)
            #expect(before == .behind(2))
            let applied = try await migrator.run(database)
            #expect(applied == [1, 2])
            let appliedAgain = try await migrator.run(database)
            #expect(appliedAgain == [])
            let after = try await migrator.state(database)
            #expect(after == .upToDate)
            let sum = try await database.read("SELECT sum(n)::bigint FROM one").int(0, 0)
            #expect(sum == 3)
        }
    }

    @Test func programsThatStartTogetherMigrateOnce() async throws {
        let (first, second) = (first, second)
        let test = try await TestDatabase.make()
        let numbers = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await test.withDatabase { _, database in try await Migrator([first, second]).run(database) }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(numbers.sorted() == [1, 2])
    }

    @Test func aNewerDatabaseIsRefusedAndLeftAlone() async throws {
        let (first, second) = (first, second)
        try await TestDatabase.make().withDatabase { _, database in
            _ = try await Migrator([first, second]).run(database)
            let older = Migrator([first])
            let state = try await older.state(database)
            #expect(state == .ahead(found: 2, known: 1))
            let failure = await failure(of: older, database)
            #expect(failure?.description.contains("newer than this program") == true)
        }
    }

    @Test func oneThatJoinedTheProgramLateIsStillMade() async throws {
        let (first, second) = (first, second)
        let third = Migration(number: 3, name: "three", sql: "INSERT INTO one VALUES (3)")
        try await TestDatabase.make().withDatabase { _, database in
            _ = try await Migrator([first, third]).run(database)
            let state = try await Migrator([first, second, third]).state(database)
            #expect(state == .behind(1))
            let applied = try await Migrator([first, second, third]).run(database)
            #expect(applied == [2])
        }
    }

    @Test func aMigrationThatFailsLeavesNothing() async throws {
        let first = first
        let broken = Migration(number: 2, name: "broken", sql: "INSERT INTO one VALUES (9); SELECT nothing_here();")
        try await TestDatabase.make().withDatabase { _, database in
            let failure = await failure(of: Migrator([first, broken]), database)
            #expect(failure?.description.contains("SELECT nothing_here()") == true)
            let sum = try await database.read("SELECT sum(n)::bigint FROM one").int(0, 0)
            #expect(sum == 1)
            let state = try await Migrator([first, broken]).state(database)
            #expect(state == .behind(1))
        }
    }

    /// `#expect(throws:)` would run its closure off the worker.
    private func failure(of migrator: Migrator, _ database: Database) async -> Migrator.Failure? {
        do {
            _ = try await migrator.run(database)
            return nil
        } catch { return error as? Migrator.Failure }
    }

    @Test func theProgramCarriesEveryFileOfTheFolder() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../sql").standardized
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
            .sorted()
        #expect(Migration.all.count == names.count)
        for (migration, name) in zip(Migration.all, names) {
            #expect(name == String(format: "%04d_", migration.number) + migration.name + ".sql")
            #expect(try migration.sql == String(contentsOf: folder.appending(path: name), encoding: .utf8))
        }
    }

    @Test func theFoldersFilesSuitAnEmptyDatabase() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            let applied = try await Migrator().run(database)
            #expect(applied == Migration.all.map(\.number))
        }
    }

    /// Whatever ends the program between the first migration and the last.
    @Test func aDatabaseKnowsFromItsFirstMigrationThatItIsNew() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            _ = try await Migrator(Array(Migration.all.prefix(1))).run(database)
            _ = try await Migrator().run(database)
            let settings = try await DatabaseSettings(database)
            #expect(settings.hashesSessionTokens)
        }
        try await TestDatabase.make().withDatabase { _, database in
            _ = try await Migrator(Migration.all.filter { $0.number < 14 }).run(database)
            // As an older program leaves it.
            _ = try await database.write("DROP TABLE \"_hermes_settings\"")
            let applied = try await Migrator().run(database)
            #expect(applied == Migration.all.map(\.number).filter { $0 >= 14 })
            let settings = try await DatabaseSettings(database)
            #expect(!settings.hashesSessionTokens)
        }
    }

    @Test func aScriptIsCutAtItsSemicolonsOnly() {
        let script = """
            -- a comment; with a semicolon
            CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $body$ SELECT 'a;b'; $body$;
            /* another; /* nested; */ one */
            INSERT INTO "odd;name" VALUES ('it''s; fine', a$1);;
            SELECT $1; -- the end
            """
        let statements = SQLScript.statements(of: script)
        #expect(statements.count == 3)
        #expect(statements.first?.hasSuffix("SELECT 'a;b'; $body$") == true)
        #expect(statements.dropFirst().first?.contains("'it''s; fine', a$1)") == true)
        #expect(statements.last == "SELECT $1")
    }
}
