import Postgres
import Schema
import Wire

/// What there is in a database, as one transaction sees it.
enum Survey {
    /// The relations of a database that neither PostgreSQL nor an extension brought; `c` is pg_class, `n` its schema.
    private static let own = """
        n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
        """
    private static let relations = Statement(
        """
        SELECT c.oid::bigint, CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END,
            format('%I.%I', n.nspname, c.relname)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE \(own) AND c.relkind = 'r' AND c.relpersistence = 'p'
        ORDER BY pg_relation_size(c.oid) DESC
        """)
    private static let strangers = Statement(
        """
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE \(own) AND c.relkind NOT IN ('i', 'I', 't')
        UNION ALL
        SELECT p.proname || '()' FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        ORDER BY 1
        """)
    private static let figures = Statement(
        """
        SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
            pg_database_size(current_database()), (extract(epoch FROM now()) * 1000)::bigint,
            (SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                JOIN pg_namespace n ON n.oid = c.relnamespace WHERE \(own))
        """)
    private static let isHermes = Statement(
        "SELECT to_regclass('public.\"_SCHEMA\"') IS NOT NULL AND to_regclass('public._hermes_migrations') IS NOT NULL")
    private static let classNames = Statement("SELECT array_agg(\"className\" ORDER BY \"className\") FROM \"_SCHEMA\"")
    private static let lastMigration = Statement("SELECT coalesce(max(number), 0)::bigint FROM _hermes_migrations")

    struct Server {
        /// Such as "15.14".
        var version: String
        var major: Int
        var databaseSize: Int
        var now: Timestamp
        var indexes: Int
    }

    static func server(_ transaction: Transaction) async throws -> Server {
        let rows = try await transaction.execute(figures)
        return Server(
            version: String(rows.string(0, 0).prefix { $0 != " " }), major: Int(rows.int(0, 1)) / 10000,
            databaseSize: Int(rows.int(0, 2)), now: Timestamp(milliseconds: rows.int(0, 3)),
            indexes: Int(rows.int(0, 4)))
    }

    /// Whether Hermes' tables are there.
    static func isOfHermes(_ transaction: Transaction) async throws -> Bool {
        try await transaction.execute(isHermes).bool(0, 0)
    }

    static func migration(_ transaction: Transaction) async throws -> Int {
        Int(try await transaction.execute(lastMigration).int(0, 0))
    }

    /// What a database has that would be in a restore's way; empty for an empty one.
    static func content(_ transaction: Transaction) async throws -> [String] {
        let rows = try await transaction.execute(strangers)
        return (0..<rows.count).map { rows.string($0, 0) }
    }

    struct Table: Sendable {
        let oid: Int64
        let name: String
        let rows: Int
    }

    /// Every table with its number of rows, largest first; what is not logged is left out, since backups do so too.
    static func tables(_ transaction: Transaction) async throws -> [Table] {
        let rows = try await transaction.execute(relations)
        var tables: [Table] = []
        for row in 0..<rows.count {
            let count = try await transaction.run("SELECT count(*) FROM \(rows.string(row, 2))").int(0, 0)
            tables.append(Table(oid: rows.int(row, 0), name: rows.string(row, 1), rows: Int(count)))
        }
        return tables
    }

    /// Tables by what they are: classes, and the others.
    static func counts(
        _ tables: [Table], _ transaction: Transaction
    ) async throws -> (classes: [String: Int], others: [String: Int]) {
        let names = Set(try await transaction.execute(classNames).textArray(0, 0).compactMap { $0 })
        var counts: (classes: [String: Int], others: [String: Int]) = ([:], [:])
        for table in tables {
            if names.contains(table.name) {
                counts.classes[table.name] = table.rows
            } else {
                counts.others[table.name] = table.rows
            }
        }
        return counts
    }
}
