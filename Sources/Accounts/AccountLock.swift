import Postgres
import Store
import Wire

/// Accounts that the master key has locked: a lockout without end. Nobody logs in there, by whatever way, and no session
/// of theirs stands for anybody. ACL and objects stay as they are.
extension Accounts {
    /// The end of a lockout that has none: what the column of lockouts holds then.
    static let forever = "'9999-12-31 23:59:59.999+00'::timestamptz"

    static let locked = ParseError(101, "Your account is locked.")

    /// What stands in the way of logging in.
    public enum Lock: Sendable {
        case none
        /// Too many wrong passwords.
        case until(Timestamp)
        case forever
    }

    private static let setLock = Statement(
        """
        UPDATE "_User" SET "_account_lockout_expires_at" = \(forever) WHERE "objectId" = $1::text RETURNING 1
        """)
    private static let clearLock = Statement(
        """
        UPDATE "_User" SET "_account_lockout_expires_at" = NULL, "_failed_login_count" = 0
        WHERE "objectId" = $1::text RETURNING 1
        """)
    private static let lockState = Statement(
        """
        SELECT CASE WHEN "_account_lockout_expires_at" > now() THEN "_account_lockout_expires_at" END,
            "_account_lockout_expires_at" = \(forever)
        FROM "_User" WHERE "objectId" = $1::text
        """)
    private static let isLocked = Statement(
        """
        SELECT "_rperm" = '{}' AND "_wperm" = '{}', "_account_lockout_expires_at" = \(forever)
        FROM "_User" WHERE "objectId" = $1::text
        """)

    /// Locks an account and ends its sessions.
    ///
    /// - Returns: how many sessions have ended.
    /// - Throws: 101 where there is no such user.
    public func lock(_ userId: String, in operation: Operation) async throws -> Int {
        try await change(userId, Accounts.setLock, in: operation)
    }

    /// Ends a lock, and a lockout after wrong passwords. Sessions that were opened while the account was being locked
    /// end as well: they have stood for nobody so far.
    ///
    /// - Throws: 101 where there is no such user.
    public func unlock(_ userId: String, in operation: Operation) async throws {
        guard case .forever = try await lock(of: userId, in: operation) else {
            _ = try await operation.write(Accounts.clearLock, [.text(userId)])
            return
        }
        _ = try await change(userId, Accounts.clearLock, in: operation)
    }

    private func change(_ userId: String, _ statement: Statement, in operation: Operation) async throws -> Int {
        try await operation.nested(as: .master).inTransaction { operation in
            let rows = try await operation.write(statement, [.text(userId)])
            guard rows.count > 0 else { throw ParseError.objectNotFound }
            let ended = try await operation.endSessions(of: userId)
            try await operation.notify(AccessChange.user(userId))
            return ended
        }
    }

    /// - Throws: 101 where there is no such user.
    public func lock(of userId: String, in operation: Operation) async throws -> Lock {
        let rows = try await operation.read(Accounts.lockState, [.text(userId)])
        guard rows.count > 0 else { throw ParseError.objectNotFound }
        if rows.isNull(0, 0) { return .none }
        return rows.bool(0, 1) ? .forever : .until(Timestamp(milliseconds: rows.timestampMilliseconds(0, 0)))
    }

    /// - Throws: 101 where the master key has locked an account, or given it an ACL that names nobody, which is Parse's
    ///   own way.
    func checkIsOpen(_ userId: String, in operation: Operation) async throws {
        let rows = try await operation.read(Accounts.isLocked, [.text(userId)])
        guard rows.count > 0, rows.isNull(0, 0) || !rows.bool(0, 0) else { throw Accounts.refused }
        guard rows.isNull(0, 1) || !rows.bool(0, 1) else { throw Accounts.locked }
    }
}
