import Accounts
import Options
import Schema
import Store
import Wire

/// Objects, of the applications' classes and of the server's own.
extension API {
    func find(_ className: String, _ request: Request) async throws -> Answer {
        try Names.checkClass(className)
        let query = try Query.parse(
            className: className, parameters: request.parameters, internalKeys: request.viewer.isMaster)
        try QueryLimits(options: options).check(query, request.viewer)
        let found = try await store.find(
            query, parameters: JSONObject(request.parameters), in: request.operation)
        return Answer { out in found.write(to: &out) }
    }

    func get(_ className: String, _ id: String, _ request: Request) async throws -> Answer {
        try Names.checkClass(className)
        let query = try Query.parseGet(className: className, objectId: id, parameters: request.parameters)
        try QueryLimits(options: options).check(query, request.viewer)
        let found = try await store.get(
            query, objectId: id, parameters: JSONObject(request.parameters), in: request.operation)
        let token = className == "_User" && request.viewer.userId == id ? request.viewer.session?.token : nil
        return Answer { out in
            found.write(to: &out) { out in
                if let token { out.member("sessionToken", .string(token)) }
            }
        }
    }

    func create(_ className: String, _ request: Request) async throws -> Answer {
        guard className == "_User" else {
            return answer(try await store.create(className, request.body, in: request.operation))
        }
        switch try await accounts.signUp(request.body, in: request.operation) {
        case .created(let written): return answer(written)
        case .loggedIn(let loggedIn):
            var answer = answer(loggedIn, byAuthData: true)
            answer.headers.append(("Location", location("/users/", loggedIn.userId)))
            return answer
        }
    }

    func update(_ className: String, _ id: String, _ request: Request) async throws -> Answer {
        answer(try await store.update(className, objectId: id, request.body, in: request.operation))
    }

    func delete(_ className: String, _ id: String, _ request: Request) async throws -> Answer {
        let written = try await store.delete(className, objectId: id, in: request.operation)
        if let failure = written.failure { throw failure }
        return answer(written)
    }

    func purge(_ className: String, _ request: Request) async throws -> Answer {
        try await store.purge(className, in: request.operation)
        return .empty
    }

    // MARK: answers

    /// A new object is answered with 201 and a Location. What hooks add behind the commit is still to come, so the
    /// text is made when it is asked for.
    func answer(_ written: Written) -> Answer {
        guard written.kind == .create else { return Answer { out in written.write(to: &out) } }
        let path = written.className == "_User" ? "/users/" : "/classes/\(written.className)/"
        return Answer(status: 201, headers: [("Location", location(path, written.objectId))]) { out in
            written.write(to: &out)
        }
    }

    private func location(_ path: String, _ id: String) -> String { (options.serverURL ?? "") + path + id }
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
        guard limits.conditionCount.allows(query.complexity.conditionCount) else {
            throw ParseError(
                102, "Number of query conditions exceeds maximum allowed; for many values of one field use $in.")
        }
        guard limits.subqueryCount.allows(query.complexity.subqueryCount) else {
            throw ParseError(102, "Number of subqueries exceeds maximum allowed.")
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
