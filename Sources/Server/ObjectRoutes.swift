import Accounts
import Options
import Postgres
import Schema
import Store
import Wire

/// Objects, of the applications' classes and of the server's own.
extension API {
    func find(_ className: String, _ request: Request) async throws -> Answer {
        try Names.checkClass(className)
        let query = try Query.parse(className: className, parameters: request.parameters)
        try QueryLimits(options: options).check(query, request.viewer)
        let found =
            if let transaction = request.transaction {
                try await store.find(query, as: request.viewer, using: transaction)
            } else {
                try await store.find(query, as: request.viewer)
            }
        return Answer { out in found.write(to: &out) }
    }

    func get(_ className: String, _ id: String, _ request: Request) async throws -> Answer {
        try Names.checkClass(className)
        let query = try Query.parseGet(className: className, objectId: id, parameters: request.parameters)
        try QueryLimits(options: options).check(query, request.viewer)
        let found =
            if let transaction = request.transaction {
                try await store.get(query, objectId: id, as: request.viewer, using: transaction)
            } else {
                try await store.get(query, objectId: id, as: request.viewer)
            }
        let token = className == "_User" && request.viewer.userId == id ? request.viewer.session?.token : nil
        return Answer { out in
            found.write(to: &out) { out in
                if let token { out.member("sessionToken", token) }
            }
        }
    }

    func create(_ className: String, _ request: Request) async throws -> Answer {
        try checkWritable(request.viewer)
        try checkKeywords(request.body)
        try Names.checkClass(className)
        var server = ServerSide()
        switch className {
        case "_User": return try await signUp(request)
        case "_Session" where !request.viewer.isAboveAccess:
            return answer(try await accounts.createSession(request.body, as: request.viewer))
        case "_Role":
            try Roles.checkNew(request.body)
            server.notification = AccessChange.notification(for: className)
        case "_Session":
            if request.body["ACL"] != nil { throw ParseError(105, "Cannot set ACL on a Session.") }
        default: break
        }
        let update = try await store.parseUpdate(className, request.body, creating: true)
        let created = try await store.create(
            className, update, as: request.viewer, in: request.transaction, server: server)
        if let notification = server.notification { accounts.forget(notification.payload) }
        return answer(created, location: "/classes/\(className)/")
    }

    func update(_ className: String, _ id: String, _ request: Request) async throws -> Answer {
        try checkWritable(request.viewer)
        try checkKeywords(request.body)
        try Names.checkClass(className)
        var server = ServerSide()
        switch className {
        case "_User":
            let changed = try await accounts.change(id, request.body, as: request.viewer, in: request.transaction)
            return answer(changed.updated, sessionToken: changed.sessionToken)
        case "_Session":
            return answer(
                try await accounts.changeSession(id, request.body, as: request.viewer, in: request.transaction))
        case "_Role":
            try await checkRename(id, request)
            server.notification = AccessChange.notification(for: className)
        default: break
        }
        let update = try await store.parseUpdate(className, request.body, creating: false)
        let updated = try await store.update(
            className, objectId: id, update, as: request.viewer, in: request.transaction, server: server)
        if let notification = server.notification { accounts.forget(notification.payload) }
        return answer(updated)
    }

    func delete(_ className: String, _ id: String, _ request: Request) async throws -> Answer {
        try checkWritable(request.viewer)
        try Names.checkClass(className)
        var server = ServerSide()
        switch className {
        case "_User": try await accounts.delete(id, as: request.viewer, in: request.transaction)
        case "_Session": try await accounts.deleteSession(id, as: request.viewer, in: request.transaction)
        default:
            if className == "_Role" { server.notification = AccessChange.notification(for: className) }
            try await store.delete(className, objectId: id, as: request.viewer, in: request.transaction, server: server)
            if let notification = server.notification { accounts.forget(notification.payload) }
        }
        return .empty
    }

    /// Roles keep their names: ACLs name them.
    private func checkRename(_ id: String, _ request: Request) async throws {
        guard let name = request.body["name"], case .string(let text) = name else { return }
        // Who may not write the role must not learn its name from the refusal.
        try await store.checkWritable("_Role", objectId: id, as: request.viewer, in: request.transaction)
        let role = try await store.get(Query(className: "_Role"), objectId: id, as: .master)
        var out = JSONWriter()
        role.write(to: &out)
        if case .object(let members) = try JSONParser.parse(out.bytes), members["name"] != .string(text) {
            throw ParseError(139, "A role's name cannot be changed after it has been saved.")
        }
    }

    // MARK: answers

    /// `{objectId, createdAt, …}` with 201 and a Location.
    func answer(
        _ created: Created, location: String, extra: ((inout JSONWriter) -> Void)? = nil
    ) -> Answer {
        let url = (options.serverURL ?? "") + location + created.objectId
        return Answer(status: 201, headers: [("Location", url)]) { out in
            out.raw("{\"objectId\":")
            out.string(created.objectId)
            out.raw(",\"createdAt\":\"")
            out.timestamp(created.createdAt)
            out.raw("\"")
            for (name, value) in created.answered.members { out.member(name, value) }
            if let acl = created.defaultACL { out.member("ACL", acl.json) }
            extra?(&out)
            out.raw("}")
        }
    }

    func answer(_ updated: Updated, sessionToken: String? = nil) -> Answer {
        Answer { out in
            out.raw("{\"updatedAt\":\"")
            out.timestamp(updated.updatedAt)
            out.raw("\"")
            for (name, value) in updated.answered.members { out.member(name, value) }
            if let sessionToken { out.member("sessionToken", sessionToken) }
            out.raw("}")
        }
    }
}

extension JSONWriter {
    /// `,"name":value`
    mutating func member(_ name: String, _ value: JSON) {
        raw(",")
        string(name)
        raw(":")
        json(value)
    }

    mutating func member(_ name: String, _ value: String) { member(name, .string(value)) }
}

/// What a new role must have.
enum Roles {
    static func checkNew(_ body: JSONObject) throws(ParseError) {
        switch body["name"] {
        case nil, .null, .string(""): throw ParseError(111, "name is required.")
        case .string(let name):
            let isFine = name.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil || " -_".unicodeScalars.contains($0)
            }
            guard isFine else {
                throw ParseError(139, "A role's name can only contain letters, digits, spaces, - and _.")
            }
        default: break
        }
        if body["ACL"] == nil || body["ACL"] == .null { throw ParseError(111, "ACL is required.") }
    }
}

/// `requestComplexity`: binds clients, not the master and maintenance keys.
struct QueryLimits {
    let options: ServerOptions

    func check(_ query: Query, _ viewer: Viewer) throws(ParseError) {
        if query.explain, !viewer.isMaster {
            throw ParseError(102, "Cannot explain queries without the master key.")
        }
        guard !viewer.isAboveAccess else { return }
        let limits = options.requestComplexity
        guard limits.queryDepth.allows(query.complexity.queryDepth) else {
            throw ParseError(102, "Query condition nesting depth exceeds maximum allowed depth.")
        }
        guard limits.subqueryDepth.allows(query.complexity.subqueryDepth) else {
            throw ParseError(102, "Subquery nesting depth exceeds maximum allowed depth.")
        }
        guard limits.allowRegex || !query.complexity.usesRegex else {
            throw ParseError(102, "$regex operator is not allowed.")
        }
        guard limits.includeCount.allows(query.include.count) else {
            throw ParseError(102, "Number of include fields exceeds maximum allowed.")
        }
        guard limits.includeDepth.allows(query.include.map(\.count).max() ?? 0) else {
            throw ParseError(102, "Include depth exceeds maximum allowed depth.")
        }
    }
}
