import Postgres
import Store
import Wire

/// Failed log-ins in a row lock an account for a time.
public struct LockoutPolicy: Sendable {
    /// How many; nil: no account is ever locked.
    public var threshold: Int?
    /// Seconds.
    public var duration = 300.0
    /// A new password that was asked for by mail opens the account again.
    public var passwordResetUnlocks = false

    public init() {}
}

extension Accounts {
    // Counted before the password is looked at, so that of many guesses at once no more than the threshold are made.
    private static let countAttempt = Statement(
        """
        UPDATE "_User" u SET "_failed_login_count" = n.count,
            "_account_lockout_expires_at" = CASE WHEN n.count >= $2::int8 THEN now() + $3::float8 * interval '1 second' END
        FROM (SELECT "objectId", CASE WHEN "_account_lockout_expires_at" <= now() THEN 1
                ELSE coalesce("_failed_login_count", 0) + 1 END AS count
            FROM "_User" WHERE "objectId" = $1::text
                AND ("_account_lockout_expires_at" IS NULL OR "_account_lockout_expires_at" <= now())
            FOR NO KEY UPDATE) n
        WHERE u."objectId" = n."objectId"
        RETURNING 1
        """)

    private static let forgetAttempts = Statement(
        """
        UPDATE "_User" SET "_failed_login_count" = 0, "_account_lockout_expires_at" = NULL
        WHERE "objectId" = $1::text AND "_failed_login_count" > 0
            AND "_account_lockout_expires_at" IS DISTINCT FROM \(forever)
        """)

    // A name that is nobody's has its tries too: it locks in the same words, at the cost of the same write, so that
    // neither tells whose names there are. It is forgotten after a day without a try.
    private static let countStranger = Statement(
        """
        INSERT INTO "_hermes_rate_limits" AS r (key, count, resets_at) VALUES ($1::text, 1,
            now() + CASE WHEN $2::int8 = 1 THEN $3::float8 * interval '1 second' ELSE interval '1 day' END)
        ON CONFLICT (key) DO UPDATE SET
            count = CASE WHEN r.resets_at <= now() THEN 1 ELSE r.count + 1 END,
            resets_at = now() + CASE WHEN $2::int8 = CASE WHEN r.resets_at <= now() THEN 1 ELSE r.count + 1 END
                THEN $3::float8 * interval '1 second' ELSE interval '1 day' END
        WHERE r.count < $2::int8 OR r.resets_at <= now()
        RETURNING 1
        """)

    /// The same for names or addresses that belong to no account.
    ///
    /// - Throws: 101 as for a locked account.
    func countStranger(_ name: String) async throws {
        guard let threshold = options.lockout.threshold else { return }
        let taken = try await database.write(
            Accounts.countStranger,
            [.text(Digest.sha256("log-in \(name)")), .int(Int64(threshold)), .double(options.lockout.duration)])
        guard taken.count > 0 else { throw lockedOut }
    }

    /// Takes one of the tries that an account has. By itself, whatever becomes of the operation: what is undone must
    /// not give a try back.
    ///
    /// - Throws: 101 when it is locked.
    func countAttempt(at userId: String) async throws {
        guard let threshold = options.lockout.threshold else { return }
        let taken = try await database.write(
            Accounts.countAttempt, [.text(userId), .int(Int64(threshold)), .double(options.lockout.duration)])
        guard taken.count > 0 else { throw lockedOut }
    }

    /// The password was right.
    func forgetAttempts(at userId: String) async throws {
        guard options.lockout.threshold != nil else { return }
        _ = try await database.write(Accounts.forgetAttempts, [.text(userId)])
    }

    private var lockedOut: ParseError {
        let minutes = options.lockout.duration / 60
        let shown = minutes == minutes.rounded() ? "\(Int(minutes))" : "\(minutes)"
        return ParseError(
            101,
            "Your account is locked due to multiple failed login attempts. Please try again after \(shown) minute(s)")
    }
}
