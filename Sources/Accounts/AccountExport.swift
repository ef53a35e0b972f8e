import Core
import Postgres
import Store
import Wire

/// How an account's data leave it.
public struct AccountExportOptions: Sendable {
    /// Bytes that the database's answers for one export may take.
    public var maxSize = 64 << 20
    /// Exports of one account within an hour.
    public var hourly = 5

    public init() {}
}

/// All that is an account's own, for its user to take along.
extension Accounts {
    /// `{exportedAt, user, roles, sessions, relations, objects: {CLASS: […]}, application: […]}`: the user without
    /// passwords and tokens, its sessions without theirs, the objects that name it by a pointer or in their ACL and
    /// that it may read and hooks let it find, and what hooks add.
    ///
    /// Whoever is not above access is counted: an export looks through every class.
    ///
    /// - Throws: 101 for an unknown user; 100 (429) for one export too many; 102 for too much of it.
    public func export(_ userId: String, in operation: Operation) async throws -> JSON {
        if !operation.viewer.isAboveAccess { try await countExport(of: userId, operation) }
        let master = try operation.nested(as: .master)
        guard
            case .object(var user) = try await store.getRow(Query(className: "_User"), objectId: userId, in: master)
                .json()
        else { throw ParseError.objectNotFound }
        user["sessionToken"] = nil
        if let authData = user["authData"]?.object {
            // What else a provider gave lets one in there.
            user["authData"] = .object(
                JSONObject(
                    authData.members.map { provider, data in
                        (key: provider, value: .object(JSONObject([("id", data.object?["id"] ?? .null)])))
                    }))
        }
        let own = try operation.nested(as: try await viewer(userId: userId, session: nil, installationId: nil))
        var limit = options.export.maxSize
        var objects = JSONObject()
        for className in try await store.classesOfObjects(in: own) {
            // A device's token is the device's.
            let hidden: Set<String> = className == "_Installation" ? ["deviceToken"] : []
            let owned = try await store.ownedObjects(className, hiding: hidden, limit: &limit, in: own)
            let found = try await store.shown(owned, of: className, in: own)
            if !found.isEmpty { objects[className] = .array(found.map { .object($0) }) }
        }
        let sessions = try await store.ownedObjects("_Session", hiding: ["sessionToken"], limit: &limit, in: own)
        var added: [JSON] = []
        for hook in store.hooks.of(.accountExport) {
            if let more = try await hook.run(user, operation.nested()) { added.append(more) }
        }
        return [
            "exportedAt": Value.date(Timestamp.now).json, "user": .object(user),
            "roles": .array(own.viewer.roles.map { .string($0) }),
            "sessions": .array(sessions.map { .object($0) }),
            "relations": .object(try await store.relationsOfUser(userId, in: master)), "objects": .object(objects),
            "application": .array(added),
        ]
    }

    private func countExport(of userId: String, _ operation: Operation) async throws {
        let exports = try await RateCount.add(to: "export of \(userId)", within: 3600, in: operation.afterwards())
        guard exports.count <= options.export.hourly else {
            throw ParseError(
                100, "This account has been exported too often. Try again later.", status: 429,
                retryAfter: exports.secondsLeft)
        }
    }
}
