import Core
import Postgres
import Wire

/// Builds the indexes that are asked for, one after another, while their classes are read and written.
///
/// Every node runs one; a lock of PostgreSQL's lets one of them build at a time, on whichever node. What is to be done
/// lies in `"_Index"`: a builder that ends in the middle, however it ends, leaves an invalid index behind, which the
/// next one drops before it begins anew.
public final class IndexBuilder {
    /// Told when there is something to build.
    public static let channel = "hermes_index"
    /// How often a build gives way to a change of its class before it no longer does.
    static let yields = 8

    private let database: Database
    private let poll: UInt64
    private var wake = Waiter()
    private var isAwake = false
    /// Something was put off for a moment.
    private var isSoon = false
    private var task: Task<Void, Never>?

    /// - Parameter configuration: how the database is reached; the builder has one connection of its own, without a
    ///   limit on a statement's time.
    /// - Parameter poll: nanoseconds after which it looks without being told.
    public init(loop: Loop, configuration: DatabaseConfiguration, poll: UInt64 = 15_000_000_000) {
        var configuration = configuration
        configuration.ownedLimit = 1
        configuration.statementTimeout = .zero
        // One core is enough for what nobody waits for; the others are for requests.
        configuration.settings["max_parallel_maintenance_workers"] = "0"
        configuration.applicationName = "hermes index builder"
        database = Database(loop: loop, configuration: configuration)
        self.poll = poll
    }

    /// - Parameter notifications: where to listen.
    public func start(notifications: Database) {
        let awaken = { [weak self] in self?.awaken() ?? () }
        notifications.listen(channel: IndexBuilder.channel, handler: { _ in awaken() }, onConnected: awaken)
        task = database.loop.spawn { [self] in
            while !Task.isCancelled {
                isAwake = false
                isSoon = false
                wake = Waiter()
                await buildAll()
                let timer = database.loop.schedule(after: isSoon ? min(poll, 1_000_000_000) : poll, awaken)
                if isAwake { wake.resume() }
                try? await wake.wait()
                timer.cancel()
            }
        }
    }

    private func awaken() {
        isAwake = true
        wake.resume()
    }

    /// Stops at once; a build that runs is given up, and taken up again by whoever comes next.
    public func stop() async {
        task?.cancel()
        await task?.value
        await database.close()
    }

    // MARK: what is to be done

    struct Job {
        var id: Int64
        var className: String
        var relation: String
        var isUnique: Bool
        var recipe: String
        var fields: [String]
        var isBuilt: Bool
        var replaces: String?
    }

    // "hermesix" as a number. Held by the connection, so it ends with it.
    private static let lock = Statement("SELECT pg_try_advisory_lock(7522544566771345784)")
    private static let unlock = Statement("SELECT pg_advisory_unlock_all()")
    private static let next = Statement(
        """
        SELECT "id", "className", "relation", "isUnique", "recipe", "fields", "state" = 'valid', "replaces"
        FROM "_Index"
        WHERE ("state" = 'building' OR "state" = 'valid' AND "replaces" IS NOT NULL) AND "notBefore" <= clock_timestamp()
        ORDER BY "notBefore", "id" LIMIT 1
        """)
    private static let leftovers = Statement(
        """
        SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
        WHERE NOT x.indisvalid AND t.relnamespace = 'public'::regnamespace
            AND (starts_with(c.relname, t.relname || '.') OR starts_with(c.relname, t.relname || ':'))
            AND NOT EXISTS (SELECT FROM "_Index" i WHERE i."relation" = c.relname AND i."state" = 'building')
        """)

    /// Does what there is to do, as far as no other node does it. Answers whether it was the one to do it.
    @discardableResult
    func buildAll() async -> Bool {
        do {
            guard try await database.write(IndexBuilder.lock).bool(0, 0) else { return false }
            let leftovers = try await database.write(IndexBuilder.leftovers)
            for row in 0..<leftovers.count { try await drop(leftovers.string(row, 0)) }
            while !Task.isCancelled, let job = try await nextJob() { await perform(job) }
            _ = try await database.write(IndexBuilder.unlock)
            return true
        } catch {
            _ = try? await database.write(IndexBuilder.unlock)
            // The database can't be reached, or is going away: the next time.
            if let error = error as? PostgresError, error.kind != .closed, !error.isUnavailable {
                Log.shared.error("the index builder could not work", ["error": "\(error)"])
            }
            return false
        }
    }

    private func nextJob() async throws -> Job? {
        let rows = try await database.write(IndexBuilder.next)
        guard rows.count > 0 else { return nil }
        return Job(
            id: rows.int(0, 0), className: rows.string(0, 1), relation: rows.string(0, 2), isUnique: rows.bool(0, 3),
            recipe: rows.string(0, 4), fields: rows.textArray(0, 5).compactMap { $0 }, isBuilt: rows.bool(0, 6),
            replaces: rows.optionalString(0, 7))
    }

    // MARK: one index

    private static let validity = Statement(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)")
    private static let begin = Statement("UPDATE \"_Index\" SET \"builder\" = pg_backend_pid() WHERE \"id\" = $1")
    private static let succeed = Statement(
        "UPDATE \"_Index\" SET \"state\" = 'valid', \"builder\" = NULL WHERE \"id\" = $1 RETURNING 1")
    private static let fail = Statement(
        """
        UPDATE "_Index" SET "state" = 'failed', "reason" = $2, "builder" = NULL WHERE "id" = $1
        """)
    private static let delay = Statement(
        """
        UPDATE "_Index" SET "tries" = "tries" + 1, "builder" = NULL,
            "notBefore" = clock_timestamp() + least(60, 0.5 * 2 ^ least("tries", 10)) * (0.5 + random()) * interval '1 s'
        WHERE "id" = $1
        """)
    private static let forgetReplaced = Statement("UPDATE \"_Index\" SET \"replaces\" = NULL WHERE \"id\" = $1")

    private func perform(_ job: Job) async {
        do {
            if !job.isBuilt { guard try await build(job) else { return } }
            if let old = job.replaces {
                try await drop(old)
                _ = try await database.write(IndexBuilder.forgetReplaced, [.int(job.id)])
            }
        } catch {
            if Task.isCancelled { return }
            do {
                if let error = error as? PostgresError, let reason = IndexBuilder.reason(error, fields: job.fields) {
                    try await drop(job.relation)
                    _ = try await database.write(IndexBuilder.fail, [.int(job.id), .text(reason)])
                    Log.shared.warning(
                        "an index could not be built",
                        ["class": .text(job.className), "index": .text(job.relation), "reason": .text(reason)])
                } else {
                    isSoon = true
                    // It gave way, the class or the index was deleted, or the database is in trouble.
                    _ = try await database.write(IndexBuilder.delay, [.int(job.id)])
                }
            } catch {
                // Nothing can be written down now; the row still says what is to be done.
                try? await database.loop.sleep(nanoseconds: 1_000_000_000)
            }
        }
    }

    /// False where nobody wants the index any more.
    private func build(_ job: Job) async throws -> Bool {
        let found = try await database.write(IndexBuilder.validity, [.text(quoted(job.relation))])
        if found.count == 0 || !found.bool(0, 0) {
            if found.count > 0 { try await drop(job.relation) }
            _ = try await database.write(IndexBuilder.begin, [.int(job.id)])
            let started = Loop.monotonicNow()
            _ = try await database.run(
                "CREATE \(job.isUnique ? "UNIQUE " : "")INDEX CONCURRENTLY \(quoted(job.relation)) "
                    + "ON \(quoted(job.className)) \(job.recipe)")
            Log.shared.info(
                "an index was built",
                [
                    "class": .text(job.className), "index": .text(job.relation),
                    "seconds": .number(Double(Loop.monotonicNow() - started) / 1e9),
                ])
        }
        if try await database.write(IndexBuilder.succeed, [.int(job.id)]).count > 0 { return true }
        try await drop(job.relation)
        return false
    }

    private func drop(_ relation: String) async throws {
        _ = try await database.run("DROP INDEX CONCURRENTLY IF EXISTS \(quoted(relation))")
    }

    /// Why an index can't be, where trying again would not help; nil for trouble that passes. Names fields and never
    /// what is in them.
    static func reason(_ error: PostgresError, fields: [String]) -> String? {
        let names = fields.joined(separator: ", ")
        switch error.sqlState {
        case "23505": return error.table?.hasPrefix("pg_") == true ? nil : "Several objects have the same \(names)."
        case "54000": return "A value of \(names) is too long: an ordered index takes about 2,700 bytes."
        case "54023", "54011", "22023", "42704", "42883", "42804": return "\(names) cannot be indexed so."
        default: return nil
        }
    }
}

/// How far an index is that is not there yet.
public struct IndexProgress: Sendable {
    public let name: String
    /// `building` or `failed`.
    public let state: String
    /// Why it failed.
    public let reason: String?
    /// PostgreSQL's words for what it does now; nil while the index waits for its turn.
    public let phase: String?
    /// The part of this phase that is done, 0 to 1.
    public let done: Double?
}

extension Catalogue {
    private static let readProgress = Statement(
        """
        SELECT i."className", i."name", i."state", i."reason", p.phase,
            CASE WHEN p.blocks_total > 0 THEN p.blocks_done::float8 / p.blocks_total
                WHEN p.tuples_total > 0 THEN p.tuples_done::float8 / p.tuples_total END
        FROM "_Index" i LEFT JOIN pg_stat_progress_create_index p
            ON p.pid = i."builder" AND p.datname = current_database()
        WHERE i."state" <> 'valid' AND i."name" IS NOT NULL AND ($1::text IS NULL OR i."className" = $1)
        ORDER BY i."id"
        """)

    /// The indexes that were asked for and are not there yet, by class; of one class only where it is named.
    ///
    /// - Parameter read: runs the statement: in the caller's transaction, where there is one.
    public func indexProgress(
        of className: String? = nil, read: (Statement, [Parameter]) async throws -> Rows
    ) async throws -> [String: [IndexProgress]] {
        let rows = try await read(Catalogue.readProgress, [className.map { .text($0) } ?? .null])
        var progress: [String: [IndexProgress]] = [:]
        for row in 0..<rows.count {
            progress[rows.string(row, 0), default: []].append(
                IndexProgress(
                    name: rows.string(row, 1), state: rows.string(row, 2), reason: rows.optionalString(row, 3),
                    phase: rows.optionalString(row, 4), done: rows.isNull(row, 5) ? nil : rows.double(row, 5)))
        }
        return progress
    }
}
