import Postgres
import Schema
import Store
import Wire

extension Accounts {
    /// The fields of a session that its user can't set.
    private static let serverFields = [
        "user", "sessionToken", "expiresAt", "createdWith", "installationId", "restricted",
    ]

    /// What `POST /sessions` made.
    public struct CreatedSession {
        public let objectId: String
        /// As the answer tells them.
        public let members: JSONObject
    }

    /// `POST /sessions`: one more session of the same user, with fields of one's own.
    public func createSession(_ body: JSONObject, as viewer: Viewer) async throws -> CreatedSession {
        guard let userId = viewer.userId else { throw ParseError(209, "Session token required.") }
        try checkACL(body)
        var body = body
        for field in Accounts.serverFields { body[field] = nil }
        let update = try await store.parseUpdate("_Session", body, creating: true)
        let token = "r:" + Random.hexadecimal(16)
        let end = Timestamp(milliseconds: Timestamp.now.milliseconds + Int64(options.sessionLength * 1000))
        var server = ServerSide()
        server.columns = [
            ServerColumn("user", .text(userId), "text"), ServerColumn("sessionToken", .text(token), "text"),
            ServerColumn("createdWith", .utf8(Origin.create.json.bytes), "jsonb"),
        ]
        if options.sessionsExpire {
            server.columns.append(ServerColumn("expiresAt", .timestamp(milliseconds: end.milliseconds), "timestamptz"))
        }
        if let installationId = viewer.installationId {
            server.columns.append(ServerColumn("installationId", .text(installationId), "text"))
        }
        let created = try await store.create("_Session", update, as: .master, server: server)
        var members = body
        members["sessionToken"] = .string(token)
        members["user"] = Value.pointer(Pointer(className: "_User", objectId: userId)).json
        members["createdWith"] = Origin.create.json
        if options.sessionsExpire { members["expiresAt"] = Value.date(end).json }
        return CreatedSession(objectId: created.objectId, members: members)
    }

    /// `PUT /sessions/:id`. Throws 105 for the fields that are the server's.
    public func changeSession(
        _ id: String, _ body: JSONObject, as viewer: Viewer, in transaction: Transaction? = nil
    ) async throws -> Updated {
        try checkACL(body)
        guard viewer.isAboveAccess || viewer.userId != nil else { throw ParseError(209, "Session token required.") }
        for field in Accounts.serverFields where body[field] != nil {
            let isFree = viewer.isAboveAccess && (field == "expiresAt" || field == "createdWith")
            guard isFree else { throw ParseError(105, "Invalid key name: \(field)") }
        }
        var server = ServerSide()
        server.notification = (AccessChange.channel, "session:\(id)")
        let updated = try await store.update(
            "_Session", objectId: id, try await store.parseUpdate("_Session", body, creating: false), as: viewer,
            in: transaction,
            server: server)
        cache.forget("session:\(id)")
        return updated
    }

    /// `DELETE /sessions/:id`.
    public func deleteSession(_ id: String, as viewer: Viewer, in transaction: Transaction? = nil) async throws {
        guard viewer.isAboveAccess || viewer.userId != nil else {
            throw ParseError(209, store.options.sanitizesErrors ? "Permission denied" : "Session token required.")
        }
        var server = ServerSide()
        server.notification = (AccessChange.channel, "session:\(id)")
        try await store.delete("_Session", objectId: id, as: viewer, in: transaction, server: server)
        cache.forget("session:\(id)")
    }

    /// `POST /upgradeToRevocableSession`: sessions here are all revocable; answers a new one.
    public func upgradeSession(_ viewer: Viewer) async throws -> CreatedSession {
        guard viewer.userId != nil else { throw ParseError(101, "invalid session") }
        return try await createSession(JSONObject(), as: viewer)
    }

    private func checkACL(_ body: JSONObject) throws(ParseError) {
        if body["ACL"] != nil { throw ParseError(105, "Cannot set ACL on a Session.") }
    }
}
