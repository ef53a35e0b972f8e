import Postgres

/// Brings a database up to date, forward only. Any number of programs may do so at once: one works, the others wait
/// for it and find nothing left to do.
public struct Migrator: Sendable {
    /// How far a database is.
    public enum State: Sendable, Equatable {
        case upToDate
        /// Migrations that it lacks; all of them where it is new.
        case behind(Int)
        /// A newer program has been here: the last migration it made, and the last one that this program knows.
        case ahead(found: Int, known: Int)
    }

    /// Why a database can't be brought up to date; a sentence that says what to do.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    private let migrations: [Migration]

    public init(_ migrations: [Migration] = Migration.all) { self.migrations = migrations }

    /// Applies what is missing, each migration in a transaction of its own.
    ///
    /// - Returns: the numbers of those applied.
    /// - Throws: `Failure` where the database can't hold Hermes or is newer than the program, or a migration fails;
    ///   nothing of that one remains then. `PostgresError` where the database can't be reached.
    public func run(_ database: Database) async throws -> [Int] {
        if let fault = try await DatabaseFitness(database).fault {
            throw Failure(description: "The database does not serve: \(fault.problem). What to do: \(fault.remedy).")
        }
        var applied: [Int] = []
        while let number = try await step(database) { applied.append(number) }
        return applied
    }

    /// How far a database is; changes nothing.
    public func state(_ database: Database) async throws -> State {
        let tables = try await database.read("SELECT to_regclass('public._hermes_migrations') IS NULL")
        if tables.bool(0, 0) { return state([]) }
        return state(Set((try await database.read(Self.made).intArray(0, 0)).compactMap { $0 }))
    }

    private func state(_ made: Set<Int64>) -> State {
        let (last, known) = (Int(made.max() ?? 0), migrations.last?.number ?? 0)
        guard last <= known else { return .ahead(found: last, known: known) }
        let missing = migrations.count { !made.contains(Int64($0.number)) }
        return missing == 0 ? .upToDate : .behind(missing)
    }

    /// Applies the next migration; nil where none is missing.
    private func step(_ database: Database) async throws -> Int? {
        try await database.transaction { transaction in
            // Neither waiting for another program nor changing a large table is bound by a request's time.
            _ = try await transaction.run("SET LOCAL statement_timeout = 0")
            _ = try await transaction.run("SELECT pg_advisory_xact_lock(\(Self.lock))")
            _ = try await transaction.run(Self.table)
            let made = Set((try await transaction.execute(Self.made).intArray(0, 0)).compactMap { $0 })
            if case .ahead(let found, let known) = state(made) {
                throw Failure(
                    description: "The database is newer than this program: it has migration \(found), the program "
                        + "knows \(known). Run the newer Hermes, or restore the backup made before it ran.")
            }
            // One with a lower number may have joined the program later than one with a higher number.
            guard let next = migrations.first(where: { !made.contains(Int64($0.number)) }) else { return nil }
            let ofItsMaking = made.isEmpty ? DatabaseSettings.ofNewDatabase : []
            for statement in ofItsMaking + SQLScript.statements(of: next.sql) {
                do { _ = try await transaction.run(statement) } catch let error as PostgresError
                    where !error.isUnavailable
                {
                    throw Failure(
                        description: "Migration \(next.number) (\(next.name)) failed, and was undone: \(error)\n"
                            + "The statement was: \(statement)")
                }
            }
            _ = try await transaction.execute(Self.record, [.int(Int64(next.number)), .text(next.name)])
            return next.number
        }
    }

    /// The first eight letters of "hermesdb" as a number: the advisory lock that migrations are made under.
    public static let lock: Int64 = 0x6865_726D_6573_6462

    private static let table = """
        CREATE TABLE IF NOT EXISTS public._hermes_migrations (
            number integer PRIMARY KEY,
            name text NOT NULL,
            "appliedAt" timestamptz(3) NOT NULL DEFAULT clock_timestamp()
        )
        """
    private static let made: Statement =
        "SELECT coalesce(array_agg(number::bigint), '{}') FROM public._hermes_migrations"
    private static let record: Statement =
        "INSERT INTO public._hermes_migrations (number, name) VALUES ($1::bigint, $2)"
}
