import Postgres
import Store
import Wire

/// `/batch`: several requests in one, in order; in one transaction where asked for.
extension API {
    func batch(_ request: Request) async throws -> Answer {
        guard case .array(let parts)? = request.body["requests"] else {
            throw ParseError(107, "requests must be an array")
        }
        if !request.viewer.isAboveAccess, !options.requestComplexity.batchRequestLimit.allows(parts.count) {
            throw ParseError(107, "Too many requests in one batch.")
        }
        var requests: [(Route, Request)] = []
        for part in parts { requests.append(try self.part(part, of: request)) }
        if request.body["transaction"] == .bool(true) { return try await transaction(requests) }
        var answers: [[UInt8]] = []
        for (route, request) in requests {
            do {
                answers.append(success(try await run(route, request)))
            } catch {
                answers.append(failure(error))
            }
        }
        return list(answers)
    }

    /// Nothing runs unless all parts can be routed.
    private func part(_ json: JSON, of request: Request) throws(ParseError) -> (Route, Request) {
        guard case .object(let object) = json, case .string(let target)? = object["path"] else {
            throw ParseError(107, "batch request path must be a string")
        }
        let sides = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = sides.first, let path = MountPath(options.mountPath).split(batchPath: String(first)) else {
            throw ParseError(107, "cannot route batch path \(target)")
        }
        let method = object["method"]?.string?.uppercased() ?? "undefined"
        guard let route = Route(method, path) else {
            throw ParseError(107, "cannot route \(method) /\(path.joined(separator: "/"))")
        }
        guard route != .batch else { throw ParseError(107, "nested batch requests are not allowed") }
        try checkAllowed(path, request.caller)
        var body = JSONObject()
        if case .object(let given)? = object["body"] { body = given }
        var parameters = sides.count > 1 ? Query.parameters(fromURL: RequestBody.pairs(String(sides[1]))) : []
        if method == "GET" { parameters += body.members }
        return (
            route,
            Request(
                method: method, path: path, parameters: parameters, body: body, viewer: request.viewer,
                caller: request.caller, transaction: nil)
        )
    }

    /// All or nothing: the first error undoes everything and is the answer.
    private func transaction(_ requests: [(Route, Request)]) async throws -> Answer {
        // The schema grows first, on its own: within the transaction it would wait for locks that this one holds.
        for (route, request) in requests {
            switch route {
            case .create(let className), .update(let className, _):
                guard className != "_User", className != "_Session" else { break }
                let isNew = if case .create = route { true } else { false }
                try checkWritable(request.viewer)
                let update = try await store.parseUpdate(className, request.body, creating: isNew)
                try await store.prepareSchema(className, update, as: request.viewer, creating: isNew)
            default: break
            }
        }
        let targets = changed(by: requests)
        let viewer = requests.first?.1.viewer
        var committed: Transaction?
        let answers = try await store.database.transaction { transaction in
            committed = transaction
            if let viewer { try await store.lock(targets, as: viewer, in: transaction) }
            var answers: [[UInt8]] = []
            for (route, request) in requests {
                var request = request
                request.transaction = transaction
                answers.append(success(try await run(route, request)))
            }
            return answers
        }
        if let committed { store.catalogue.committed(committed) }
        // While it ran, its own changes of sessions and roles were nobody else's to see: others may have read, and
        // remembered, what stood before.
        for (route, _) in requests {
            let className: String
            switch route {
            case .create(let name), .update(let name, _), .delete(let name, _): className = name
            default: continue
            }
            if let change = AccessChange.notification(for: className) { accounts.forget(change.payload) }
        }
        return list(answers)
    }

    /// The objects that these requests change or delete.
    private func changed(by requests: [(Route, Request)]) -> Set<Store.Target> {
        var targets: Set<Store.Target> = []
        for (route, _) in requests {
            switch route {
            case .update(let className, let id), .delete(let className, let id):
                targets.insert(Store.Target(className: className, objectId: id))
            default: break
            }
        }
        return targets
    }

    private func success(_ answer: Answer) -> [UInt8] { Array("{\"success\":".utf8) + answer.body + Array("}".utf8) }

    private func failure(_ error: any Error) -> [UInt8] {
        Array("{\"error\":".utf8) + errors.answer(error).0.body + Array("}".utf8)
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
