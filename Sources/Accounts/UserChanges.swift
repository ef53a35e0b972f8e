import Postgres
import Schema
import Store
import Wire

/// What a change of a user made.
public struct ChangedUser {
    public let updated: Updated
    /// The new session, where a new password ended the old ones.
    public let sessionToken: String?
}

extension Accounts {
    /// `PUT /users/:id`. Throws 206 where the viewer may not change that user.
    public func change(
        _ userId: String, _ body: JSONObject, as viewer: Viewer, in transaction: Transaction? = nil
    ) async throws -> ChangedUser {
        let refused = ParseError(
            206, store.options.sanitizesErrors ? "Permission denied" : "Cannot modify user \(userId).")
        guard viewer.isAboveAccess || viewer.userId != nil else { throw refused }
        var body = body
        try checkServerFields(body, viewer)
        let authData = try changedAuthData(&body)
        try checkName(body)
        try normalise(&body)
        let password = try takePassword(&body)
        var server = ServerSide()
        server.columns = try await columns(password: password)
        if let authData { server.columns.append(authData) }
        let endsSessions = password != nil && options.passwordChangeEndsSessions
        var token: String?
        if endsSessions {
            server.afterwards.append((Statement("DELETE FROM \"_Session\" WHERE \"user\" = $1::text"), [.text(userId)]))
            if !viewer.isAboveAccess, viewer.userId == userId {
                let session = newSession(userId, .logIn(provider: "password"), viewer.installationId)
                token = session.token
                server.afterwards.append((session.statement, session.parameters))
            }
            server.notification = (AccessChange.channel, "user:\(userId)")
        }
        let update = try await store.parseUpdate("_User", body, creating: false)
        let updated: Updated
        do {
            updated = try await mappingDuplicates {
                try await store.update("_User", objectId: userId, update, as: viewer, in: transaction, server: server)
            }
        } catch let error as ParseError where error.code == 101 && !viewer.isAboveAccess && viewer.userId != userId {
            throw refused
        }
        if endsSessions { cache.forget("user:\(userId)") }
        return ChangedUser(updated: updated, sessionToken: token)
    }

    /// `DELETE /users/:id`: the user and its sessions.
    public func delete(_ userId: String, as viewer: Viewer, in transaction: Transaction? = nil) async throws {
        guard viewer.isAboveAccess || viewer.userId != nil else {
            throw ParseError(206, "Insufficient auth to delete user")
        }
        var server = ServerSide()
        server.afterwards = [
            (Statement("DELETE FROM \"_Session\" WHERE \"user\" = $1::text"), [.text(userId)]),
            (Statement("DELETE FROM \"_Join:users:_Role\" WHERE \"relatedId\" = $1::text"), [.text(userId)]),
        ]
        server.notification = (AccessChange.channel, "user:\(userId)")
        do {
            try await store.delete("_User", objectId: userId, as: viewer, in: transaction, server: server)
        } catch let error as ParseError where error.code == 101 && !viewer.isAboveAccess && viewer.userId != userId {
            throw ParseError(
                206, store.options.sanitizesErrors ? "Permission denied" : "Insufficient auth to delete user")
        }
        cache.forget("user:\(userId)")
    }

    /// A user can't lose its name or its password.
    private func checkName(_ body: JSONObject) throws(ParseError) {
        let empties = { (json: JSON?) in
            guard let json else { return false }
            if json == .null || json == .string("") { return true }
            if case .object(let object) = json, object["__op"] == .string("Delete") { return true }
            return false
        }
        if empties(body["username"]) { throw ParseError.missingUsername }
        if empties(body["password"]) { throw ParseError(201, "password is required") }
    }

    /// `authData: {anonymous: null}` takes the anonymous link away.
    private func changedAuthData(_ body: inout JSONObject) throws(ParseError) -> ServerColumn? {
        guard let given = body["authData"] else { return nil }
        if case .object(let providers) = given, providers.members.allSatisfy({ $0.value == .null }) {
            body["authData"] = nil
            return ServerColumn("authData", .null, "jsonb")
        }
        guard let authData = try AuthData.take(&body, allowsAnonymous: options.allowsAnonymousUsers) else { return nil }
        return ServerColumn("authData", .utf8(authData.json.bytes), "jsonb")
    }
}
