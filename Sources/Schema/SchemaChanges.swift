import Core
import Postgres
import Wire

/// How a class is changed: in short attempts, so that whoever reads or writes it meanwhile never queues behind a change
/// that itself waits for a long read.
extension Catalogue {
    /// How long an attempt waits for a lock. All who come meanwhile wait behind it, so this bounds their pause.
    static let lockTimeout = "60ms"
    /// How long attempts go on, in nanoseconds. Shorter within a caller's transaction, which holds locks of its own
    /// that others may wait for.
    private static let patience: UInt64 = 4_000_000_000
    private static let patienceInTransaction: UInt64 = 2_000_000_000

    /// What a change makes of a class.
    enum Outcome {
        case nothing
        case becomes(ClassSchema)
        case disappears
    }

    private static let lock = Statement(
        // "hermescl" as a number, and the class: classes that meet in it by accident merely wait for each other.
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 7522544566771344236))")
    private static let readOne = Statement(
        """
        SELECT version, hashint8extended(version, 0), "schema" FROM "_SCHEMA" WHERE "className" = $1
        """)
    private static let store = Statement(
        """
        INSERT INTO "_SCHEMA" ("className", "schema") VALUES ($1, $2::jsonb)
        ON CONFLICT ("className") DO UPDATE SET "schema" = excluded."schema", version = excluded.version
        RETURNING version, hashint8extended(version, 0)
        """)
    private static let forget = Statement(
        "DELETE FROM \"_SCHEMA\" WHERE \"className\" = $1 RETURNING nextval('\"_SCHEMA_CHANGES\"')")
    private static let shortenWaits = Statement(
        """
        WITH old AS MATERIALIZED (SELECT current_setting('lock_timeout') AS value)
        SELECT value, set_config('lock_timeout', '\(lockTimeout)', true) FROM old
        """)
    private static let lengthenWaits = Statement("SELECT set_config('lock_timeout', $1, true)")

    /// Changes one class so that no other change of it overlaps; answers the schema then.
    ///
    /// With a transaction, everything happens in it and is undone with it, and the answer is for the caller alone until
    /// `committed(_:)`. `body` gets the class as it is (nil: there is none); it may be called again, its statements
    /// undone.
    ///
    /// Throws 503 when others hold the class's locks for too long.
    func change(
        _ className: String, in transaction: Transaction?,
        _ body: (ClassSchema?, SchemaTransaction) async throws -> Outcome
    ) async throws -> SchemaSnapshot {
        if let transaction {
            let change = try await attempts(className, Catalogue.patienceInTransaction) {
                try await transaction.savepoint { try await attempt(className, transaction, body) }
            }
            if let change { record(change, in: transaction) }
            return try await snapshot(in: transaction)
        }
        let change = try await attempts(className, Catalogue.patience) {
            try await database.transaction { try await attempt(className, $0, body) }
        }
        if let change { cache.apply([change]) }
        return try await snapshot()
    }

    private func attempts<Result>(
        _ className: String, _ patience: UInt64, _ attempt: () async throws -> Result
    ) async throws -> Result {
        let deadline = Loop.monotonicNow() + patience
        while true {
            do { return try await attempt() } catch let error as PostgresError where isLostRace(error) {
                let pause = UInt64.random(in: 20_000_000...150_000_000)
                guard Loop.monotonicNow() + pause < deadline else {
                    throw ParseError(
                        1, "The class \(className) is busy and cannot be changed now. Try again in a moment.",
                        status: 503, retryAfter: 1)
                }
                try await database.loop.sleep(nanoseconds: pause)
            }
        }
    }

    private func isLostRace(_ error: PostgresError) -> Bool {
        if error.sqlState == "55P03" || error.isRetryableConflict { return true }
        // Two changes at once made PostgreSQL choose one name for two things; the next time it chooses another.
        return error.isUniqueViolation && error.table?.hasPrefix("pg_") == true
    }

    private func attempt(
        _ className: String, _ transaction: Transaction,
        _ body: (ClassSchema?, SchemaTransaction) async throws -> Outcome
    ) async throws -> SchemaChange? {
        let usual = try await transaction.execute(Catalogue.shortenWaits, []).string(0, 0)
        _ = try await transaction.execute(Catalogue.lock, [.text(className)])
        let existing = try await find(className, in: transaction)
        let change: SchemaChange?
        switch try await body(existing, SchemaTransaction(transaction)) {
        case .nothing:
            change = existing.map { SchemaChange(className: className, version: $0.version, schema: $0) }
        case .becomes(let schema):
            let encoded = CatalogueCoding.encode(schema).bytes
            let rows = try await transaction.execute(Catalogue.store, [.text(className), .utf8(encoded)])
            let stored = schema.with(version: rows.int(0, 0), stamp: rows.int(0, 1))
            change = SchemaChange(className: className, version: stored.version, schema: stored)
            try await tell(className, stored.version, transaction)
        case .disappears:
            let version = try await transaction.execute(Catalogue.forget, [.text(className)]).int(0, 0)
            change = SchemaChange(className: className, version: version, schema: nil)
            try await tell(className, version, transaction)
        }
        _ = try await transaction.execute(Catalogue.lengthenWaits, [.text(usual)])
        return change
    }

    private func tell(_ className: String, _ version: Int64, _ transaction: Transaction) async throws {
        try await transaction.notify(channel: Catalogue.channel, payload: "\(version) \(className)")
    }

    /// The class as a transaction sees it.
    func find(_ className: String, in transaction: Transaction) async throws -> ClassSchema? {
        let rows = try await transaction.execute(Catalogue.readOne, [.text(className)])
        guard rows.count > 0 else { return nil }
        return try decode(rows.json(0, 2), className, version: rows.int(0, 0), stamp: rows.int(0, 1))
    }
}
