import Core
import Postgres
import Wire

extension Catalogue {
    /// As many values as PostgreSQL assumes of a column that it knows nothing of.
    private static let distinct = "n_distinct=200"

    private static let unknown = Statement(
        """
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass($1) AND attname = ANY ($2::text[]) AND NOT coalesce(attoptions, '{}') @> $3::text[]
        """)

    /// Has PostgreSQL expect many objects behind each value of these fields, whatever there are on average.
    ///
    /// Objects are to be looked for by several fields together, and an index is on all of them: where one object has an
    /// average value of one of the fields, an index on that field alone is as good to PostgreSQL, and may be what it
    /// takes. For the value that thousands have, it then reads thousands.
    ///
    /// It matters for speed alone, so that it fails silently but for a line in the log; the next start does it then.
    public func expectMany(of className: String, behind fields: [String]) async {
        let table = quoted(className)
        do {
            let rows = try await database.read(
                Catalogue.unknown, [.text(table), .textArray(fields), .textArray([Catalogue.distinct])])
            guard rows.count > 0 else { return }
            let changes = (0..<rows.count).map {
                "ALTER COLUMN \(quoted(rows.string($0, 0))) SET (\(Catalogue.distinct))"
            }
            try await database.transaction { transaction in
                // Neither readers nor writers wait for it; it would wait for an index that is being built.
                _ = try await transaction.execute("SET LOCAL lock_timeout = '1500ms'", [])
                _ = try await transaction.execute(
                    Statement("ALTER TABLE \(table) \(changes.joined(separator: ", "))"), [])
                _ = try await transaction.execute(Statement("ANALYZE \(table)"), [])
            }
        } catch {
            Log.shared.warning(
                "PostgreSQL could not be told what to expect of a class",
                ["class": .text(className), "error": .text("\(error)")])
        }
    }
}
