import Accounts
import Options
import Postgres
import Store
import Wire

/// `/batch`: several requests in one, in order; in one transaction where asked for. Each takes the same way as a
/// request of its own.
extension API {
    func batch(_ request: Request) async throws -> Answer {
        guard case .array(let parts)? = request.body["requests"] else {
            throw ParseError(107, "requests must be an array")
        }
        if !request.viewer.isAboveAccess, !options.requestComplexity.batchRequestLimit.allows(parts.count) {
            throw ParseError(107, "Too many requests in one batch.")
        }
        // Nothing runs unless all parts can be routed.
        var requests: [(Route, Request)] = []
        for part in parts { requests.append(try self.part(part, of: request)) }
        try await cloud.rateLimits.check(
            requests.map { route, request in
                RateLimits.Counted(
                    method: request.method, path: request.path, ignoresSession: route.ignoresSession,
                    isPartOfBatch: true)
            }, request.caller, request.viewer, store)
        if request.body["transaction"] == .bool(true) { return try await transaction(requests, request.operation) }
        var answers: [[UInt8]] = []
        var room = self.room
        for (route, request) in requests {
            do {
                let answer = try success(try await run(route, request))
                if !route.writes { try take(answer.count, of: &room) }
                answers.append(answer)
            } catch {
                answers.append(failure(error))
            }
        }
        return list(answers)
    }

    private func part(_ json: JSON, of request: Request) throws(ParseError) -> (Route, Request) {
        guard case .object(let object) = json, case .string(let target)? = object["path"] else {
            throw ParseError(107, "batch request path must be a string")
        }
        let sides = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = sides.first, let path = MountPath(options.mountPath).split(batchPath: String(first)) else {
            throw ParseError(107, "cannot route batch path \(target)")
        }
        let method = object["method"]?.string?.uppercased() ?? "undefined"
        guard let match = routes.match(method, path) else {
            throw ParseError(107, "cannot route \(method) /\(path.joined(separator: "/"))")
        }
        guard match.route.segments != ["batch"] else {
            throw ParseError(107, "nested batch requests are not allowed")
        }
        guard match.route.body != .stream else {
            throw ParseError(107, "\(method) /\(path.joined(separator: "/")) cannot be a part of a batch.")
        }
        try checkAllowed(path, request.caller)
        var body = JSONObject()
        if case .object(let given)? = object["body"] { body = given }
        var parameters = RequestBody.parameters(sides.dropFirst().first, as: match.route.body)
        if method == "GET" { parameters += body.members }
        var part = request
        part.method = method
        part.path = path
        part.arguments = match.arguments
        part.parameters = parameters
        part.body = body
        part.operation = request.operation.part()
        return (match.route, part)
    }

    /// All or nothing: the first error undoes everything and is the answer.
    private func transaction(_ requests: [(Route, Request)], _ operation: Operation) async throws -> Answer {
        // A wrong password counts even where all else is undone, so it can't be a part of what is undone.
        let countsTries = options.accountLockout.threshold != nil
        for (route, request) in requests where !route.isTransactional || countsTries && route.ignoresSession {
            throw ParseError(
                107,
                "\(request.method) /\(request.path.joined(separator: "/")) cannot be a part of a transaction. "
                    + "Send it by itself.")
        }
        // A hash takes as long as thousands of statements: no connection is held meanwhile.
        for (route, request) in requests where route.writes && route.className(request.arguments) == "_User" {
            try await accounts.hashAhead(request.body, for: operation)
        }
        let targets = changed(by: requests)
        let answers = try await operation.inTransaction { operation in
            try await store.lock(targets, in: operation)
            var answers: [Answer] = []
            var room = self.room
            for (route, request) in requests {
                var request = request
                request.operation = operation.part()
                var answer = try await run(route, request)
                if !route.writes, let bytes = answer.bytes {
                    try take(bytes.count, of: &room)
                    answer = Answer(body: bytes)
                }
                answers.append(answer)
            }
            return answers
        }
        // Only now: what hooks add behind the commit stands in the answers too.
        return list(try answers.map(success))
    }

    /// The objects that these requests change or delete.
    private func changed(by requests: [(Route, Request)]) -> Set<Store.Target> {
        var targets: Set<Store.Target> = []
        for (route, request) in requests where route.method == "PUT" || route.method == "DELETE" {
            guard let className = route.className(request.arguments), let id = request.arguments.last else { continue }
            targets.insert(Store.Target(className: className, objectId: id))
        }
        return targets
    }

    /// Bytes that the answers of what only reads may have together: as many as one answer may.
    private var room: Int { store.database.configuration.resultBudget.share }

    private func take(_ count: Int, of room: inout Int) throws {
        guard count <= room else {
            throw PostgresError(.resultTooLarge, "the answers of one batch would have more than \(self.room >> 20) MB")
        }
        room -= count
    }

    private func success(_ answer: Answer) throws(ParseError) -> [UInt8] {
        guard let bytes = answer.bytes else { throw ParseError(107, "This answer cannot be a part of a batch.") }
        return Array("{\"success\":".utf8) + bytes + Array("}".utf8)
    }

    private func failure(_ error: any Error) -> [UInt8] {
        Array("{\"error\":".utf8) + (errors.answer(error).0.bytes ?? []) + Array("}".utf8)
    }

    private func list(_ answers: [[UInt8]]) -> Answer {
        var body: [UInt8] = [UInt8(ascii: "[")]
        for (index, answer) in answers.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += answer
        }
        body.append(UInt8(ascii: "]"))
        return Answer(body: body)
    }
}
