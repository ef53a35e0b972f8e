import Postgres
import Wire

/// The runner's statements.
enum JobSQL {
    /// The nodes that held these leases have gone. The second time and later there is a pause: the job may be what
    /// ends them.
    static let reclaim = Statement(
        """
        WITH lost AS (
            SELECT "id" FROM "_Job" WHERE "state" = 'running' AND "leaseUntil" < now() FOR UPDATE SKIP LOCKED
        )
        UPDATE "_Job" SET "state" = 'waiting', "losses" = "losses" + 1, "leaseUntil" = NULL,
            "runAt" = clock_timestamp() + "losses" * interval '10 s', "reason" = 'The node that ran it went away.'
        FROM lost WHERE "_Job"."id" = lost."id"
        """)

    /// Priorities one after another, so that the index gives each one's oldest, however many wait for later.
    static let take = Statement(
        """
        WITH due AS (
            SELECT one."id" FROM (VALUES (1), (0), (-1)) AS p ("priority") CROSS JOIN LATERAL (
                SELECT "id" FROM "_Job"
                WHERE "state" = 'waiting' AND "_Job"."priority" = p."priority" AND "runAt" <= now() AND "kind" = ANY($1)
                ORDER BY "runAt", "id" LIMIT $2 FOR UPDATE SKIP LOCKED
            ) AS one
            LIMIT $2
        )
        UPDATE "_Job" SET "state" = 'running', "run" = "run" + 1, "owner" = $3, "startedAt" = clock_timestamp(),
            "leaseUntil" = clock_timestamp() + $4::float8 * interval '1 s'
        FROM due WHERE "_Job"."id" = due."id"
        RETURNING "_Job"."id", "kind", "payload", "key", "run", "attempts", "maxAttempts", "losses", "cancelRequested",
            extract(epoch FROM clock_timestamp() - "createdAt")::float8
        """)

    static func job(_ rows: Rows, _ row: Int) throws -> Job {
        Job(
            id: rows.int(row, 0), kind: rows.string(row, 1), payload: try JobQueue.payload(rows, row, 2),
            key: rows.optionalString(row, 3), run: Int(rows.int(row, 4)), failures: Int(rows.int(row, 5)),
            maxAttempts: rows.isNull(row, 6) ? nil : Int(rows.int(row, 6)), losses: Int(rows.int(row, 7)),
            cancelRequested: rows.bool(row, 8), age: .seconds(rows.double(row, 9)))
    }

    static let renew = Statement(
        """
        UPDATE "_Job" SET "leaseUntil" = clock_timestamp() + $4::float8 * interval '1 s'
        FROM unnest($1::bigint[], $2::bigint[]) AS mine ("id", "run")
        WHERE "_Job"."id" = mine."id" AND "_Job"."run" = mine."run" AND "state" = 'running' AND "owner" = $3
        RETURNING "_Job"."id", "cancelRequested"
        """)

    static let report = Statement(
        """
        UPDATE "_Job" SET "message" = $4
        WHERE "id" = $1 AND "run" = $2 AND "owner" = $3 AND "state" = 'running' RETURNING 1
        """)

    /// Of a run that still has its job. $4 state, $5 failures to add, $6 seconds until it is due again, $7 reason,
    /// $8 message.
    static let finish = Statement(
        """
        WITH mine AS (
            UPDATE "_Job" SET "state" = $4, "attempts" = "attempts" + $5::integer, "leaseUntil" = NULL,
                "runAt" = CASE $4 WHEN 'waiting' THEN clock_timestamp() + $6::float8 * interval '1 s' ELSE "runAt" END,
                "reason" = coalesce($7, "reason"), "message" = coalesce($8, "message"),
                "finishedAt" = CASE $4 WHEN 'waiting' THEN NULL ELSE clock_timestamp() END
            WHERE "id" = $1 AND "run" = $2 AND "owner" = $3 AND "state" = 'running'
            RETURNING 1
        )
        SELECT CASE WHEN $4 = 'waiting' AND $6 <= 0 THEN pg_notify('\(JobQueue.channel)', '')::text END FROM mine
        """)

    static func parameters(_ outcome: JobRunner.Outcome) -> [Parameter] {
        func row(
            _ state: String, failures: Int64 = 0, pause: Double = 0, reason: String? = nil, message: String? = nil
        ) -> [Parameter] {
            [
                .text(state), .int(failures), .double(pause), reason.map { .text($0) } ?? .null,
                message.map { .text($0) } ?? .null,
            ]
        }
        return switch outcome {
        case .ended(.done(let message)): row("done", message: message)
        case .ended(.dead(let reason)): row("dead", failures: 1, reason: reason)
        case .ended(.cancelled): row("cancelled", reason: "It was cancelled.")
        case .again(let reason, let pause): row("waiting", failures: 1, pause: pause.inSeconds, reason: reason)
        case .givenBack, .lost: row("waiting", reason: "Its node was stopped.")
        }
    }

    static let forget = Statement(
        """
        DELETE FROM "_Job" WHERE "id" IN (
            SELECT "id" FROM "_Job"
            WHERE "state" IN ('done', 'dead', 'cancelled')
                AND "finishedAt" < now() - CASE "state" WHEN 'dead' THEN $2::float8 ELSE $1::float8 END * interval '1 s'
            ORDER BY "finishedAt" LIMIT 10000
        )
        """)
}
