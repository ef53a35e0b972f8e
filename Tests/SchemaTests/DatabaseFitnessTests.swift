import Core
import Postgres
import TestSupport
import Testing

@testable import Schema

@Suite struct DatabaseFitnessTests {
    private static let migrator = Migrator([Migration(number: 1, name: "one", sql: "CREATE TABLE one (n int)")])

    @Test(arguments: ["LATIN1", "SQL_ASCII"]) func namesOfAllLanguagesMustFit(encoding: String) async throws {
        let test = try await TestDatabase.make()
        let name = "\(test.name)_\(encoding.lowercased())"
        try await test.execute("CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
        let problem = try await fault(test) { $0.conninfo = test.cluster.conninfo(database: name) }?.problem
        #expect(problem == "its encoding is \(encoding)")
        try await test.execute("DROP DATABASE \(name) WITH (FORCE)")
    }

    /// As PostgreSQL is built for Python's packages.
    @Test func postgreSQLMustHaveICU() async throws {
        let test = try await TestDatabase.make()
        // Collations are a database's own: no other test misses it.
        try await test.execute(
            "SET allow_system_table_mods = on; DELETE FROM pg_collation WHERE collname = 'und-x-icu'")
        let problem = try await fault(test)?.problem
        #expect(problem?.contains("was built without ICU") == true, "\(problem ?? "")")
    }

    @Test func aDatabaseMustTakeWrites() async throws {
        let test = try await TestDatabase.make()
        try await test.execute("ALTER DATABASE \(test.name) SET default_transaction_read_only = on")
        let problem = try await fault(test)?.problem
        #expect(problem == "it takes no writes")
    }

    @Test func theRoleMustBeAllowedToMakeTables() async throws {
        try await withRole { test, role, asRole in
            let problem = try await fault(test, asRole)?.problem
            #expect(problem == "\(role) may not make tables in it")
            try await test.execute("GRANT CREATE, USAGE ON SCHEMA public TO \"\(role)\"")
            let nothing = try await fault(test, asRole)
            #expect(nothing == nil)
        }
    }

    /// PostgreSQL looks into a schema of the role's name first, if there is one.
    @Test func tablesLieInTheSchemaPublicWhateverTheRoleIsCalled() async throws {
        try await withRole { test, role, asRole in
            try await test.execute(
                """
                GRANT CREATE, USAGE ON SCHEMA public TO "\(role)";
                CREATE SCHEMA "\(role)" AUTHORIZATION "\(role)";
                ALTER ROLE "\(role)" SET default_transaction_isolation = 'serializable';
                """)
            try await test.withDatabase(asRole) { _, database in
                _ = try await Self.migrator.run(database)
                let table = try await database.write("SELECT to_regclass('public.one')::text").optionalString(0, 0)
                #expect(table == "one")
                let level = try await database.write("SELECT current_setting('transaction_isolation')").string(0, 0)
                #expect(level == "read committed")
            }
        }
    }

    @Test func whatDoesNotServeIsLeftAlone() async throws {
        try await withRole { test, role, asRole in
            let error = try await test.withDatabase(asRole) { _, database in
                await failure(of: { _ = try await Self.migrator.run(database) })
            }
            let words = (error as? Migrator.Failure)?.description
            #expect(words?.contains("GRANT CREATE, USAGE ON SCHEMA public TO \"\(role)\"") == true, "\(words ?? "")")
        }
    }

    private func fault(
        _ test: TestDatabase, _ configure: @Sendable (inout DatabaseConfiguration) -> Void = { _ in }
    ) async throws -> DatabaseFitness.Fault? {
        try await test.withDatabase(configure) { _, database in try await DatabaseFitness(database).fault }
    }

    /// A role that may do no more than log in.
    private func withRole(
        _ body: (TestDatabase, _ role: String, @Sendable (inout DatabaseConfiguration) -> Void) async throws -> Void
    ) async throws {
        let test = try await TestDatabase.make()
        let role = "app-\(test.name)"
        try await test.execute("CREATE ROLE \"\(role)\" LOGIN")
        // libpq takes the last of several; the cluster's own options are not for everybody.
        try await body(test, role) { $0.conninfo += " user=\(role) options=''" }
        try await test.execute("DROP OWNED BY \"\(role)\"; DROP ROLE \"\(role)\"")
    }
}
