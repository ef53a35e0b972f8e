import Core
import Postgres
import Wire

/// How a class is changed: in short attempts, so that whoever reads or writes it meanwhile never queues behind a change
/// that itself waits for a long read.
extension Catalogue {
    /// How long an attempt waits for a lock that stops a class. All who come meanwhile wait behind it, so this bounds
    /// their pause.
    private static let shortWait = "60ms"
    /// How long one waits for what stops no reader or writer.
    private static let longWait = "1500ms"
    /// How long all of it may take, in nanoseconds. Shorter within a caller's transaction, which holds locks of its own
    /// that others may wait for.
    private static let patience: UInt64 = 4_000_000_000
    private static let patienceInTransaction: UInt64 = 2_000_000_000
    /// Nanoseconds that a change waits for its class before it looks for a builder that is in its way, and between looks.
    private static let firstLook: UInt64 = 60_000_000
    private static let nextLook: UInt64 = 500_000_000

    typealias DDL = (SchemaTransaction) async throws -> Void

    /// What a change makes of a class, and the DDL that it takes. The DDL may run several times, each time after what
    /// it did before was undone. `alters`: it changes or drops what is in the table already.
    enum Outcome {
        case nothing
        case becomes(ClassSchema, alters: Bool = false, DDL? = nil)
        case disappears(DDL)
    }

    private static let lock = Statement(
        // "hermescl" as a number, and the class: classes that meet in it by accident merely wait for each other.
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 7522544566771344236))")
    private static let readOne = Statement(
        """
        SELECT s.version, hashint8extended(s.version, 0), \(entry) FROM "_SCHEMA" s WHERE s."className" = $1
        """)
    private static let store = Statement(
        """
        INSERT INTO "_SCHEMA" ("className", "schema") VALUES ($1, $2::jsonb)
        ON CONFLICT ("className") DO UPDATE SET "schema" = excluded."schema", version = excluded.version
        """)
    private static let forget = Statement(
        "DELETE FROM \"_SCHEMA\" WHERE \"className\" = $1 RETURNING nextval('\"_SCHEMA_CHANGES\"')")
    private static let usualWait = Statement("SELECT current_setting('lock_timeout')")
    private static let setWait = Statement("SELECT set_config('lock_timeout', $1, true)")
    private static let interruptBuilder = Statement(
        """
        SELECT pg_cancel_backend(i."builder") FROM "_Index" i JOIN pg_locks l ON l.pid = i."builder"
        WHERE i."className" = $1 AND i."state" = 'building' AND i."tries" < \(IndexBuilder.yields)
            AND l.relation = to_regclass($2) AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted
        """)

    /// Changes one class so that no other change of it overlaps; answers the schema then.
    ///
    /// With a transaction, everything happens in it and is undone with it, and the answer is for the caller alone until
    /// `committed(_:)`. `plan` gets the class as it is (nil: there is none). Where another change of the class comes
    /// first and leaves it as `isDone` wants it, or so that `isDone` throws, nothing is begun.
    ///
    /// Throws 503 when others hold the class's locks for too long.
    func change(
        _ className: String, in transaction: Transaction?, unless isDone: (ClassSchema) throws -> Bool = { _ in false },
        _ plan: (ClassSchema?, Transaction) async throws -> Outcome
    ) async throws -> SchemaSnapshot {
        if let transaction {
            let deadline = Loop.monotonicNow() + Catalogue.patienceInTransaction
            let usual = try await transaction.execute(Catalogue.usualWait, []).string(0, 0)
            let change = try await transaction.savepoint {
                let change = try await perform(className, transaction, deadline, plan)
                _ = try await transaction.execute(Catalogue.setWait, [.text(usual)])
                return change
            }
            if let change { record(change, in: transaction) }
            return try await snapshot(in: transaction)
        }
        let deadline = Loop.monotonicNow() + Catalogue.patience
        let isNeedless = { try await self.snapshot()[className].map { try isDone($0) } ?? false }
        let turn = try await turns.take(className, until: deadline, unless: isNeedless) {
            try await database.transaction { try await perform(className, $0, deadline, plan) }
        }
        switch turn {
        case .taken(let change): if let change { cache.apply([change]) }
        case .needless: break
        case .late: throw busy(className)
        }
        return try await snapshot()
    }

    private func busy(_ className: String) -> ParseError {
        ParseError(
            1, "The class \(className) is busy and cannot be changed now. Try again in a moment.", status: 503,
            retryAfter: 1)
    }

    private func perform(
        _ className: String, _ transaction: Transaction, _ deadline: UInt64,
        _ plan: (ClassSchema?, Transaction) async throws -> Outcome
    ) async throws -> SchemaChange? {
        let now = Loop.monotonicNow()
        try await setWait("\(deadline > now + 1_000_000 ? (deadline - now) / 1_000_000 : 1)ms", transaction)
        do { _ = try await transaction.execute(Catalogue.lock, [.text(className)]) } catch let error as PostgresError
            where isLostRace(error)
        { throw busy(className) }
        let existing = try await find(className, in: transaction)
        switch try await plan(existing, transaction) {
        case .nothing:
            return existing.map { SchemaChange(className: className, version: $0.version, schema: $0) }
        case .becomes(let schema, let alters, let ddl):
            if let ddl { try await run(ddl, className, alters: alters, transaction, deadline) }
            let encoded = CatalogueCoding.encode(schema).bytes
            _ = try await transaction.execute(Catalogue.store, [.text(className), .utf8(encoded)])
            guard let stored = try await find(className, in: transaction) else { throw busy(className) }
            try await tell(className, stored.version, transaction)
            return SchemaChange(className: className, version: stored.version, schema: stored)
        case .disappears(let ddl):
            try await run(ddl, className, alters: true, transaction, deadline)
            let version = try await transaction.execute(Catalogue.forget, [.text(className)]).int(0, 0)
            try await tell(className, version, transaction)
            return SchemaChange(className: className, version: version, schema: nil)
        }
    }

    private func run(
        _ ddl: DDL, _ className: String, alters: Bool, _ transaction: Transaction, _ deadline: UInt64
    ) async throws {
        if alters { try await holdOff(className, transaction) }
        try await setWait(Catalogue.shortWait, transaction)
        while true {
            do {
                try await transaction.savepoint { try await ddl(SchemaTransaction(transaction)) }
                // All commits that tell something wait for one another, whatever they tell.
                return try await setWait(Catalogue.longWait, transaction)
            } catch let error as PostgresError where isLostRace(error) {
                let pause = UInt64.random(in: 20_000_000...150_000_000)
                guard Loop.monotonicNow() + pause < deadline else { throw busy(className) }
                try await database.loop.sleep(nanoseconds: pause)
            }
        }
    }

    /// Makes vacuums and index builders of the class give way and stay away. Neither readers nor writers are stopped, so
    /// this may wait as long as the whole change; a vacuum gives way to who has waited for `deadlock_timeout`.
    private func holdOff(_ className: String, _ transaction: Transaction) async throws {
        let hold = Statement("LOCK TABLE \(quoted(className)) IN SHARE UPDATE EXCLUSIVE MODE")
        // While the lock is waited for, not before: else the builder's next index could come first.
        let interruption = database.loop.spawn { [database] in
            var pause = Catalogue.firstLook
            while (try? await database.loop.sleep(nanoseconds: pause)) != nil {
                _ = try? await database.read(
                    Catalogue.interruptBuilder, [.text(className), .text(quoted(className))])
                pause = Catalogue.nextLook
            }
        }
        defer { interruption.cancel() }
        do {
            _ = try await transaction.savepoint { try await transaction.execute(hold) }
        } catch let error as PostgresError where isLostRace(error) { throw busy(className) }
    }

    private func setWait(_ wait: String, _ transaction: Transaction) async throws {
        _ = try await transaction.execute(Catalogue.setWait, [.text(wait)])
    }

    private func isLostRace(_ error: PostgresError) -> Bool {
        if error.sqlState == "55P03" || error.isRetryableConflict { return true }
        // Two changes at once made PostgreSQL choose one name for two things; the next time it chooses another.
        return error.isUniqueViolation && error.table?.hasPrefix("pg_") == true
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
