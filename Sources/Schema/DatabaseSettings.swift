import Postgres

/// What was decided when a database was made. Options that are told go before.
public struct DatabaseSettings: Sendable {
    /// Whether tokens of new sessions lie there as digests (`hashSessionTokens`). In databases that were made before
    /// this was the default they lie in clear: programs of an operator's may read them there.
    public var hashesSessionTokens = false

    private static let load = Statement("SELECT name, value = 'true' FROM public.\"_hermes_settings\"")

    /// Of a database that has all migrations.
    public init(_ database: Database) async throws {
        let rows = try await database.read(DatabaseSettings.load)
        for row in 0..<rows.count where rows.string(row, 0) == "hashSessionTokens" {
            hashesSessionTokens = rows.bool(row, 1)
        }
    }

    /// What a database gets that is made now, within the transaction of its first migration: whatever ends the program
    /// afterwards, the next one knows.
    static let ofNewDatabase = [
        "CREATE TABLE public.\"_hermes_settings\" (name text PRIMARY KEY, value jsonb NOT NULL)",
        "INSERT INTO public.\"_hermes_settings\" (name, value) VALUES ('hashSessionTokens', 'true')",
    ]
}
