import CMigrations

/// One step on a database's way from empty to what this program needs.
public struct Migration: Sendable, Hashable {
    /// From 1 upwards.
    public let number: Int
    public let name: String
    /// Statements that can run in a transaction, with `;` between them.
    public let sql: String

    public init(number: Int, name: String, sql: String) {
        self.number = number
        self.name = name
        self.sql = sql
    }

    /// The files of sql/, which the program carries inside.
    public static let all: [Migration] = {
        var migrations: [Migration] = []
        while let migration = hermes_migration_at(migrations.count)?.pointee {
            let sql = UnsafeRawBufferPointer(start: migration.sql, count: migration.length)
            migrations.append(
                Migration(
                    number: Int(migration.number), name: String(cString: migration.name),
                    sql: String(decoding: sql, as: UTF8.self)))
        }
        return migrations
    }()
}
