import Postgres
import Store
import Wire

/// What holds for every write to `_Session`: a user's own, without ACL, most of it the server's to set.
struct SessionRules: Sendable {
    let options: AccountOptions

    /// The fields of a session that its user can't set.
    private static let serverFields = [
        "user", "sessionToken", "expiresAt", "createdWith", "installationId", "restricted",
    ]

    var hooks: [Hook] {
        [
            Hook("sessions", on: "_Session", .beforeSave) { try await before($0) },
            Hook("sessions", on: "_Session", .beforeDelete) { write in
                guard write.viewer.isAboveAccess || write.viewer.userId != nil else {
                    throw write.refusal(209, "Session token required.")
                }
            },
        ]
    }

    private func before(_ write: Write) async throws {
        if write.update.acl != nil { throw ParseError(105, "Cannot set ACL on a Session.") }
        guard write.viewer.isAboveAccess || write.viewer.userId != nil else {
            throw ParseError(209, "Session token required.")
        }
        if write.isNew {
            if let userId = write.viewer.userId { openAnother(userId, write) }
            return
        }
        for field in SessionRules.serverFields where write.update.changes.contains(where: { $0.path.field == field }) {
            let isFree = write.viewer.isAboveAccess && (field == "expiresAt" || field == "createdWith")
            if field == "user", namesItsOwnUser(write) {
                write.remove(field)
                continue
            }
            guard isFree else {
                // Of a session that is somebody else's nothing is told, not even what could not be set.
                _ = try await write.readOriginal()
                throw ParseError(105, "Invalid key name: \(field)")
            }
        }
    }

    /// A session's user, told once more, changes nothing: some clients send objects back whole.
    private func namesItsOwnUser(_ write: Write) -> Bool {
        guard let userId = write.viewer.userId else { return false }
        return write.change("user")?.operation == .set(.pointer(Pointer(className: "_User", objectId: userId)))
    }

    /// `POST /sessions`: one more session of the same user, with fields of its own. What it says of the server's is
    /// passed over.
    private func openAnother(_ userId: String, _ write: Write) {
        for field in SessionRules.serverFields { write.remove(field) }
        let session = NewSession(userId, .create, write.viewer.installationId, options)
        write.columns += session.columns
        let asking = write.viewer.session?.objectId
        write.addEffect { operation in
            guard try await operation.holdUser(userId, session: asking) else { throw ParseError.invalidSession }
        }
        write.answersFieldsAlone = true
        for change in write.update.changes {
            if case .set(let value) = change.operation, !change.path.isDotted {
                write.extras[change.path.field] = value.json
            }
        }
        write.extras["sessionToken"] = .string(session.token)
        write.extras["user"] = Value.pointer(Pointer(className: "_User", objectId: userId)).json
        write.extras["createdWith"] = session.origin.json
        if let end = session.end { write.extras["expiresAt"] = Value.date(end).json }
    }
}

/// A session that is about to be written.
struct NewSession: Sendable {
    enum Origin: Sendable {
        case signUp(provider: String)
        case logIn(provider: String)
        case create
        case upgrade

        var json: JSON {
            switch self {
            case .signUp(let provider): ["action": "signup", "authProvider": .string(provider)]
            case .logIn(let provider): ["action": "login", "authProvider": .string(provider)]
            case .create: ["action": "create"]
            case .upgrade: ["action": "upgrade"]
            }
        }
    }

    let token: String
    let origin: Origin
    /// When it expires; nil: never.
    let end: Timestamp?
    let columns: [ServerColumn]

    init(_ userId: String, _ origin: Origin, _ installationId: String?, _ options: AccountOptions) {
        token = "r:" + Random.hexadecimal(16)
        self.origin = origin
        end =
            options.sessionsExpire
            ? Timestamp(milliseconds: Timestamp.now.milliseconds + Int64(options.sessionLength * 1000)) : nil
        var columns = [
            ServerColumn("user", .text(userId), "text"),
            ServerColumn("createdWith", .utf8(origin.json.bytes), "jsonb"),
        ]
        if options.hashesSessionTokens {
            columns.append(ServerColumn("_token_digest", .text(SessionToken.digest(token)), "text"))
            if let seal = options.tokenSeal {
                columns.append(ServerColumn("sessionToken", .text(SessionToken.seal(token, with: seal)), "text"))
            }
        } else {
            columns.append(ServerColumn("sessionToken", .text(token), "text"))
        }
        if let end {
            columns.append(ServerColumn("expiresAt", .timestamp(milliseconds: end.milliseconds), "timestamptz"))
        }
        if let installationId { columns.append(ServerColumn("installationId", .text(installationId), "text")) }
        self.columns = columns
    }
}

extension Operation {
    /// Opens a session; one that the user has on the same installation ends.
    @discardableResult
    func insert(_ session: NewSession) async throws -> Viewer.Session {
        let written = try await insertByRule("_Session", columns: session.columns)
        return Viewer.Session(objectId: written.objectId, token: session.token)
    }

    private static let holdUser = Statement(
        """
        SELECT FROM "_User" WHERE "objectId" = $1::text AND ($2::text IS NULL OR "_hashed_password" = $2::text)
        FOR NO KEY UPDATE
        """)
    private static let hasSession = Statement("SELECT FROM \"_Session\" WHERE \"objectId\" = $1::text")

    /// Keeps a user as it is until the transaction ends, so that a session may be opened for it. Whoever changes a
    /// password, locks or deletes a user changes its row first and ends its sessions then: of one that is opened
    /// meanwhile it would know nothing. Two who log in on one installation come one after the other, too.
    ///
    /// - Parameters:
    ///   - hash: of the password that opens the session.
    ///   - session: that opens another one.
    /// - Returns: false where the user has gone, has another password, or where the session has ended.
    func holdUser(_ userId: String, hash: String? = nil, session: String? = nil) async throws -> Bool {
        let held = try await write(Operation.holdUser, [.text(userId), hash.map { .text($0) } ?? .null])
        guard held.count > 0 else { return false }
        guard let session else { return true }
        // A statement of its own: it sees what stands since the row is held.
        return try await write(Operation.hasSession, [.text(session)]).count > 0
    }

    /// Ends a user's sessions: all of them, or those of one installation. Answers how many there were.
    @discardableResult
    func endSessions(of userId: String, installationId: String? = nil) async throws -> Int {
        var matching = [(field: "user", value: userId)]
        if let installationId { matching.append(("installationId", installationId)) }
        let ended = try await deleteByRule("_Session", matching: matching)
        guard !ended.isEmpty else { return 0 }
        try await notify(AccessChange.user(userId))
        return ended.count
    }
}
