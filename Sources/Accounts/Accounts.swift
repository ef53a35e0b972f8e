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
            WHERE s."sessionToken" = $1::text
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
        if database.isListening, let entry = cache.find(token) {
            return try viewer(entry, token, installationId)
        }
        let epoch = cache.epoch
        let rows = try await database.read(Accounts.loadViewer, [.text(token)])
        guard rows.count > 0 else { throw ParseError.invalidSession }
        let entry = ViewerCache.Entry(
            sessionId: rows.string(0, 0), userId: rows.string(0, 1),
            roles: rows.textArray(0, 3).compactMap { $0 },
            expiresAt: rows.isNull(0, 2) ? nil : Timestamp(milliseconds: rows.timestampMilliseconds(0, 2)))
        cache.insert(entry, token, readIn: epoch)
        return try viewer(entry, token, installationId)
    }

    private func viewer(_ entry: ViewerCache.Entry, _ token: String, _ installationId: String?) throws -> Viewer {
        if options.sessionsExpire, let end = entry.expiresAt, end < Timestamp.now {
            throw ParseError(209, "Session token is expired.")
        }
        return Viewer(
            userId: entry.userId, roles: entry.roles, installationId: installationId,
            session: Viewer.Session(objectId: entry.sessionId, token: token))
    }

    /// The viewer that a user is, with its roles, whatever session it uses.
    func viewer(userId: String, session: Viewer.Session?, installationId: String?) async throws -> Viewer {
        let rows = try await database.read(Accounts.loadRoles, [.text(userId)])
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

    /// A session that is about to be written.
    struct NewSession {
        let token: String
        let statement: Statement
        let parameters: [Parameter]
    }

    enum Origin {
        case signUp(provider: String)
        case logIn(provider: String)
        case create

        var json: JSON {
            switch self {
            case .signUp(let provider): ["action": "signup", "authProvider": .string(provider)]
            case .logIn(let provider): ["action": "login", "authProvider": .string(provider)]
            case .create: ["action": "create"]
            }
        }
    }

    private static let insertSession = Statement(
        """
        INSERT INTO "_Session" ("objectId", "createdAt", "updatedAt", "user", "sessionToken", "expiresAt",
            "createdWith", "installationId")
        VALUES ($1::text, date_trunc('milliseconds', now()), date_trunc('milliseconds', now()), $2::text, $3::text,
            date_trunc('milliseconds', now()) + $4::double precision * interval '1 second', $5::jsonb, $6::text)
        """)

    func newSession(_ userId: String, _ origin: Origin, _ installationId: String?) -> NewSession {
        let token = "r:" + Random.hexadecimal(16)
        return NewSession(
            token: token, statement: Accounts.insertSession,
            parameters: [
                .text(ObjectIdentifiers.make(store.options.objectIdSize)), .text(userId), .text(token),
                options.sessionsExpire ? .double(options.sessionLength) : .null, .utf8(origin.json.bytes),
                installationId.map { .text($0) } ?? .null,
            ])
    }

    /// Opens a session; ends the user's other one on the same installation.
    func openSession(_ userId: String, _ origin: Origin, _ installationId: String?) async throws -> String {
        let session = newSession(userId, origin, installationId)
        guard let installationId else {
            _ = try await database.write(session.statement, session.parameters)
            return session.token
        }
        let ended = try await database.transaction { transaction in
            let ended = try await transaction.execute(
                Statement(
                    "DELETE FROM \"_Session\" WHERE \"user\" = $1::text AND \"installationId\" = $2::text RETURNING \"objectId\""
                ),
                [.text(userId), .text(installationId)])
            _ = try await transaction.execute(session.statement, session.parameters)
            let ids = (0..<ended.count).map { ended.string($0, 0) }
            for id in ids { try await transaction.notify(channel: AccessChange.channel, payload: "session:\(id)") }
            return ids
        }
        for id in ended { cache.forget("session:\(id)") }
        return session.token
    }

    /// Ends the session of the request. Without one nothing happens.
    public func logOut(_ viewer: Viewer) async throws {
        guard let session = viewer.session else { return }
        try await database.transaction { transaction in
            _ = try await transaction.execute(
                Statement("DELETE FROM \"_Session\" WHERE \"sessionToken\" = $1::text"), [.text(session.token)])
            try await transaction.notify(channel: AccessChange.channel, payload: "session:\(session.objectId)")
        }
        cache.forget("session:\(session.objectId)")
    }

    /// What a write to one of the server's classes must empty on this node, at once.
    public func forget(_ payload: String) { cache.forget(payload) }
}

extension ParseError {
    public static let invalidSession = ParseError(209, "Invalid session token")
}
