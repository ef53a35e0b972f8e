import Postgres

/// Whether a database can hold Hermes at all.
public struct DatabaseFitness: Sendable {
    public struct Fault: Sendable, Equatable {
        public let problem: String
        /// What to do about it.
        public let remedy: String
    }

    /// PostgreSQL's, such as `15.18`.
    public let version: String
    public let fault: Fault?

    /// - Throws: `PostgresError` where the database can't be reached.
    public init(_ database: Database) async throws {
        let rows = try await database.read(Self.statement)
        version = String(rows.string(0, 0).prefix { $0 != " " })
        let encoding = rows.string(0, 2)
        let role = rows.string(0, 5)
        if rows.int(0, 1) < 150_000 {
            fault = Fault(problem: "PostgreSQL \(version) is too old", remedy: "take PostgreSQL 15 or newer")
        } else if encoding != "UTF8" {
            fault = Fault(
                problem: "its encoding is \(encoding)",
                remedy: "make a database with ENCODING 'UTF8' TEMPLATE template0")
        } else if !rows.bool(0, 6) {
            // Small letters of all languages, which names and addresses are compared by.
            fault = Fault(
                problem: "PostgreSQL \(version) was built without ICU: it lacks the collation und-x-icu",
                remedy: "take one that was built with it, as Debian's is")
        } else if rows.bool(0, 3) {
            fault = Fault(problem: "it takes no writes", remedy: "name the primary, not a replica")
        } else if !rows.bool(0, 4) {
            fault = Fault(
                problem: "\(role) may not make tables in it",
                remedy: "run in it, as its owner: GRANT CREATE, USAGE ON SCHEMA public TO \(quoted(role))")
        } else if !(try await database.keepsSessions()) {
            fault = Fault(
                problem: "a pooler in between gives each transaction another session",
                remedy: "have the pooler work by session (PgBouncer: pool_mode = session), or name PostgreSQL's own "
                    + "port")
        } else {
            fault = nil
        }
    }

    private static let statement: Statement = """
        SELECT current_setting('server_version'), current_setting('server_version_num')::int8,
            current_setting('server_encoding'),
            pg_is_in_recovery()
                OR (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only') = 'on',
            has_schema_privilege('public', 'CREATE') AND has_schema_privilege('public', 'USAGE'), current_user::text,
            to_regcollation('pg_catalog."und-x-icu"') IS NOT NULL
        """
}
