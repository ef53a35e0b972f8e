import Postgres
import Store
import Wire

/// The queue in the database: how jobs come into it, and what can be asked of those that are there.
public enum JobQueue {
    /// Told, without words, when there may be something to do at once.
    static let channel = "hermes_jobs"

    /// Tells the nodes when the transaction that it is in stands.
    private static let enqueue = Statement(
        """
        WITH made AS (
            INSERT INTO "_Job" ("kind", "payload", "key", "priority", "runAt", "maxAttempts")
            VALUES ($1, $2::jsonb, $3, $4, clock_timestamp() + $5::float8 * interval '1 s', $6::integer)
            ON CONFLICT ("key") WHERE "state" IN ('waiting', 'running') DO NOTHING
            RETURNING "id"
        )
        SELECT "id", CASE WHEN $5::float8 <= 0 THEN pg_notify('\(channel)', '')::text END FROM made
        """)

    /// Puts a job into the queue, kept or undone with the operation: written in its transaction, where it is in one.
    ///
    /// - Returns: the job's id; nil where one with the same key waits or runs.
    @discardableResult
    public static func enqueue(_ job: NewJob, in operation: Operation) async throws -> Int64? {
        id(try await operation.write(enqueue, parameters(job)))
    }

    /// The same, committed at once.
    @discardableResult
    public static func enqueue(_ job: NewJob, in database: Database) async throws -> Int64? {
        id(try await database.write(enqueue, parameters(job)))
    }

    private static func parameters(_ job: NewJob) -> [Parameter] {
        [
            .text(job.kind), .utf8(JSON.object(job.payload).bytes), job.key.map { .text($0) } ?? .null,
            .int(job.priority.rawValue), .double(job.delay.inSeconds), job.attempts.map { .int(Int64($0)) } ?? .null,
        ]
    }

    private static func id(_ rows: Rows) -> Int64? { rows.count > 0 ? rows.int(0, 0) : nil }

    // MARK: what operators ask

    /// One that waits is due at once, so that whoever takes it sees that it is not wanted any more and ends it. One
    /// that runs is told by its node.
    private static let cancel = Statement(
        """
        WITH asked AS (
            UPDATE "_Job" SET "cancelRequested" = true,
                "runAt" = CASE "state" WHEN 'waiting' THEN least("runAt", clock_timestamp()) ELSE "runAt" END
            WHERE "id" = $1 AND "state" IN ('waiting', 'running')
            RETURNING "id"
        )
        SELECT "id", pg_notify('\(channel)', '')::text FROM asked
        """)

    /// Asks for a job's end: soon after, its node ends it. One that is done by then stays so.
    ///
    /// - Returns: false where it neither waits nor runs.
    @discardableResult
    public static func cancel(_ id: Int64, in database: Database) async throws -> Bool {
        try await database.write(cancel, [.int(id)]).count > 0
    }

    /// The same, kept or undone with the operation.
    @discardableResult
    public static func cancel(_ id: Int64, in operation: Operation) async throws -> Bool {
        try await operation.write(cancel, [.int(id)]).count > 0
    }

    private static let find = Statement(
        """
        SELECT "id" FROM "_Job"
        WHERE "kind" = $1 AND "payload" ->> $2 = $3 AND "state" IN ('waiting', 'running') ORDER BY "id" LIMIT 1
        """)

    /// The first job of a kind that waits or runs and has a text in its payload. It looks at all that wait or run: for
    /// what people ask.
    public static func find(
        _ kind: String, where member: String, is value: String, in operation: Operation
    ) async throws -> Int64? {
        let rows = try await operation.read(find, [.text(kind), .text(member), .text(value)])
        return rows.count > 0 ? rows.int(0, 0) : nil
    }

    private static let retry = Statement(
        """
        WITH again AS (
            UPDATE "_Job" SET "state" = 'waiting', "runAt" = clock_timestamp(), "attempts" = 0, "losses" = 0,
                "cancelRequested" = false, "finishedAt" = NULL
            WHERE "id" = $1 AND "state" IN ('dead', 'cancelled')
                OR "id" = $1 AND "state" = 'waiting' AND NOT "cancelRequested"
            RETURNING "id"
        )
        SELECT "id", pg_notify('\(channel)', '')::text FROM again
        """)

    /// Has a job tried at once: one that is dead or cancelled, with all its attempts, or one that waits.
    ///
    /// - Returns: false where it runs, is done, or is not there.
    /// - Throws: a unique violation where another one with its key waits or runs.
    @discardableResult
    public static func retry(_ id: Int64, in database: Database) async throws -> Bool {
        try await database.write(retry, [.int(id)]).count > 0
    }

    private static let columns = """
        "id", "kind", "state", "payload", "key", "run", "attempts", "owner", "message", "reason", "createdAt", "runAt",
        "startedAt", "finishedAt"
        """
    private static let list = Statement(
        """
        SELECT \(columns) FROM "_Job"
        WHERE ($1::text IS NULL OR "state" = $1) AND ($2::text IS NULL OR "kind" = $2)
        ORDER BY "id" DESC LIMIT $3
        """)
    private static let show = Statement("SELECT \(columns) FROM \"_Job\" WHERE \"id\" = $1")

    /// A row of the queue, for people and programs that look at it.
    public struct Entry: Sendable {
        public let id: Int64
        public let kind: String
        /// `waiting`, `running`, `done`, `dead` or `cancelled`.
        public let state: String
        public let payload: JSONObject
        public let key: String?
        public let run: Int
        public let failures: Int
        /// The node that runs it, or ran it last.
        public let owner: String?
        public let message: String?
        public let reason: String?
        public let createdAt: Timestamp
        public let runAt: Timestamp
        public let startedAt: Timestamp?
        public let finishedAt: Timestamp?
    }

    /// The newest jobs of a state and a kind, or of all.
    public static func list(
        state: String? = nil, kind: String? = nil, limit: Int = 50, in database: Database
    ) async throws -> [Entry] {
        let rows = try await database.read(
            list, [state.map { .text($0) } ?? .null, kind.map { .text($0) } ?? .null, .int(Int64(limit))])
        return try (0..<rows.count).map { try entry(rows, $0) }
    }

    /// One job; nil where there is none.
    public static func entry(_ id: Int64, in database: Database) async throws -> Entry? {
        let rows = try await database.read(show, [.int(id)])
        return rows.count > 0 ? try entry(rows, 0) : nil
    }

    private static func entry(_ rows: Rows, _ row: Int) throws -> Entry {
        let date = { (column: Int) in
            rows.isNull(row, column)
                ? nil : Timestamp(milliseconds: rows.timestampMilliseconds(row, column))
        }
        return Entry(
            id: rows.int(row, 0), kind: rows.string(row, 1), state: rows.string(row, 2),
            payload: try payload(rows, row, 3), key: rows.optionalString(row, 4), run: Int(rows.int(row, 5)),
            failures: Int(rows.int(row, 6)), owner: rows.optionalString(row, 7), message: rows.optionalString(row, 8),
            reason: rows.optionalString(row, 9), createdAt: date(10) ?? Timestamp(milliseconds: 0),
            runAt: date(11) ?? Timestamp(milliseconds: 0), startedAt: date(12), finishedAt: date(13))
    }

    static func payload(_ rows: Rows, _ row: Int, _ column: Int) throws -> JSONObject {
        try JSONParser.parse(Array(rows.json(row, column))).object ?? JSONObject()
    }
}

extension Operation {
    /// Puts a job into the queue, kept or undone with this operation.
    ///
    /// - Returns: the job's id; nil where one with the same key waits or runs.
    @discardableResult
    public func enqueue(_ job: NewJob) async throws -> Int64? { try await JobQueue.enqueue(job, in: self) }
}
