import Core
import Postgres
import Schema
import Store
import Wire

/// Users and their sessions: sign-up, log-in, what a session token stands for.
///
/// One for each worker, over that worker's store.
public final class Accounts {
    public let store: Store
    public let options: AccountOptions
    let cache: ViewerCache
    /// Which language a user reads, by his id, where the application knows it.
    public var language: ((String, Operation) async throws -> String?)?

    public init(store: Store, options: AccountOptions, cache: ViewerCache) {
        self.store = store
        self.options = options
        self.cache = cache
    }

    var database: Database { store.database }

    /// Follows what other nodes say of sessions and roles.
    public func follow() {
        let cache = cache
        database.listen(channel: AccessChange.channel) {
            cache.forget($0)
        } onConnected: {
            cache.forget("*")
        }
    }

    // MARK: viewers

    private static let loadViewer = Statement(
        """
        WITH RECURSIVE session AS (
            SELECT s."objectId", s."user", s."expiresAt" FROM "_Session" s JOIN "_User" u ON u."objectId" = s."user"
                AND u."_account_lockout_expires_at" IS DISTINCT FROM \(forever)
            WHERE s."_token_digest" = $2::text OR s."sessionToken" = $1::text AND s."_token_digest" IS NULL
        ), held (id) AS (
            SELECT j."owningId" FROM "_Join:users:_Role" j JOIN session ON j."relatedId" = session."user"
            UNION
            SELECT j."owningId" FROM "_Join:roles:_Role" j JOIN held ON j."relatedId" = held.id
        )
        SELECT "objectId", "user", "expiresAt",
            ARRAY(SELECT r."name" FROM "_Role" r JOIN held ON r."objectId" = held.id ORDER BY 1)
        FROM session
        """)

    /// Who a session token stands for. Throws 209 when there is no such session, or no longer.
    public func viewer(token: String, installationId: String?) async throws -> Viewer {
        // Before anything is looked up, so that what is kept of it is none that has ended since.
        let epoch = cache.epoch
        if database.isListening, let entry = cache.find(token) {
            return try await viewer(entry, token, installationId, readIn: epoch)
        }
        let rows = try await database.read(Accounts.loadViewer, [.text(token), .text(SessionToken.digest(token))])
        guard rows.count > 0 else { throw ParseError.invalidSession }
        let entry = ViewerCache.Entry(
            sessionId: rows.string(0, 0), userId: rows.string(0, 1),
            roles: rows.textArray(0, 3).compactMap { $0 },
            expiresAt: rows.isNull(0, 2) ? nil : Timestamp(milliseconds: rows.timestampMilliseconds(0, 2)))
        cache.insert(entry, token, readIn: epoch)
        return try await viewer(entry, token, installationId, readIn: epoch)
    }

    private func viewer(
        _ entry: ViewerCache.Entry, _ token: String, _ installationId: String?, readIn epoch: UInt64
    ) async throws -> Viewer {
        if options.sessionsExpire, let end = entry.expiresAt {
            let now = Timestamp.now
            guard end >= now else { throw ParseError(209, "Session token is expired.") }
            if options.useExtendsSessions, Double(end.milliseconds - now.milliseconds) < options.sessionLength * 500 {
                try await extend(entry, token, readIn: epoch, until: now)
            }
        }
        return Viewer(
            userId: entry.userId, roles: entry.roles, installationId: installationId,
            session: Viewer.Session(objectId: entry.sessionId, token: token))
    }

    /// A session in use begins a new life; other requests find it extended already.
    private func extend(
        _ entry: ViewerCache.Entry, _ token: String, readIn epoch: UInt64, until now: Wire.Timestamp
    ) async throws {
        let end = Timestamp(milliseconds: now.milliseconds + Int64(options.sessionLength * 1000))
        var extended = entry
        extended.expiresAt = end
        cache.insert(extended, token, readIn: epoch)
        try await store.operation(as: .master).setByRule(
            "_Session", entry.sessionId, field: "expiresAt", to: .date(end))
    }

    /// The viewer that a user is, with its roles, whatever session it uses.
    func viewer(
        userId: String, session: Viewer.Session?, installationId: String?, in operation: Operation? = nil
    ) async throws -> Viewer {
        let reader: any StatementReader = operation ?? database
        let rows = try await reader.read(Accounts.loadRoles, [.text(userId)])
        return Viewer(
            userId: userId, roles: rows.textArray(0, 0).compactMap { $0 }, installationId: installationId,
            session: session)
    }

    private static let loadRoles = Statement(
        """
        WITH RECURSIVE held (id) AS (
            SELECT j."owningId" FROM "_Join:users:_Role" j WHERE j."relatedId" = $1::text
            UNION
            SELECT j."owningId" FROM "_Join:roles:_Role" j JOIN held ON j."relatedId" = held.id
        )
        SELECT ARRAY(SELECT r."name" FROM "_Role" r JOIN held ON r."objectId" = held.id ORDER BY 1)
        """)

    // MARK: sessions

    /// Opens a session; ends the user's other one on the same installation.
    ///
    /// - Parameter hash: of the password that was shown, if it was one.
    /// - Throws: 101 where the user has gone meanwhile, or has another password.
    func openSession(
        _ userId: String, _ origin: NewSession.Origin, shownBy hash: String? = nil, in operation: Operation
    ) async throws -> Viewer.Session {
        let session = NewSession(userId, origin, operation.viewer.installationId, options)
        return try await open(session, of: userId, in: operation) { operation in
            guard try await operation.holdUser(userId, hash: hash) else { throw Accounts.refused }
        }
    }

    /// Writes a session in place of the one that its user has on the installation.
    ///
    /// - Parameter hold: keeps the user as it is meanwhile, and throws where it may have no session.
    @discardableResult
    private func open(
        _ session: NewSession, of userId: String, in operation: Operation,
        hold: (Operation) async throws -> Void
    ) async throws -> Viewer.Session {
        try await operation.inTransaction { operation in
            try await hold(operation)
            if let installationId = operation.viewer.installationId {
                try await operation.endSessions(of: userId, installationId: installationId)
            }
            return try await operation.insert(session)
        }
    }

    /// Ends the session of the request. Without one nothing happens.
    public func logOut(_ operation: Operation) async throws {
        guard let session = operation.viewer.session else { return }
        let hooks = store.hooks.of(.afterLogout)
        var ended: JSONObject?
        if !hooks.isEmpty {
            ended = try await store.getRow(
                Query(className: "_Session"), objectId: session.objectId, in: operation.nested(as: .master)
            ).json().object
        }
        try await operation.inTransaction { operation in
            _ = try await operation.deleteByRule("_Session", matching: [("objectId", session.objectId)])
            try await operation.notify(AccessChange.session(session.objectId))
        }
        if let ended { for hook in hooks { _ = try await hook.run(ended, operation) } }
    }

    /// `POST /upgradeToRevocableSession`: sessions here are all revocable; answers a new one, as it is stored.
    public func upgradeSession(_ operation: Operation) async throws -> JSONObject {
        guard let userId = operation.viewer.userId else { throw ParseError(101, "invalid session") }
        let installationId = operation.viewer.installationId
        let session = NewSession(userId, .upgrade, installationId, options)
        try await open(session, of: userId, in: operation) { operation in
            guard try await operation.holdUser(userId, session: operation.viewer.session?.objectId) else {
                throw ParseError.invalidSession
            }
        }
        var answer = JSONObject([
            ("sessionToken", .string(session.token)),
            ("user", Value.pointer(Pointer(className: "_User", objectId: userId)).json),
            ("createdWith", session.origin.json),
        ])
        if let end = session.end { answer["expiresAt"] = Value.date(end).json }
        if let installationId { answer["installationId"] = .string(installationId) }
        return answer
    }
}

extension ParseError {
    public static let invalidSession = ParseError(209, "Invalid session token")
}
