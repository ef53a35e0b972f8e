import Accounts
import Store
import Wire

/// Users and sessions.
extension API {
    func logIn(_ request: Request) async throws -> Answer {
        let credentials = credentials(request)
        let links = credentials["authData"]?.object.map { !$0.isEmpty } == true
        return answer(try await accounts.logIn(credentials, in: request.operation), byAuthData: links)
    }

    func logInAs(_ request: Request) async throws -> Answer {
        answer(try await accounts.logInAs(credentials(request), in: request.operation))
    }

    func verifyPassword(_ request: Request) async throws -> Answer {
        answer(try await accounts.verifyPassword(credentials(request), in: request.operation))
    }

    func requestPasswordReset(_ request: Request) async throws -> Answer {
        try await accounts.requestPasswordReset(request.body, in: request.operation)
        return .empty
    }

    func requestLogInLink(_ request: Request) async throws -> Answer {
        try await accounts.requestLogInLink(request.body, in: request.operation)
        return .empty
    }

    func logInByLink(_ request: Request) async throws -> Answer {
        answer(try await accounts.logInByLink(request.body, in: request.operation))
    }

    func requestVerification(_ request: Request) async throws -> Answer {
        try await accounts.requestVerification(request.body, in: request.operation)
        return .empty
    }

    /// The account of the session, or the one that the master key names.
    func exportAccount(_ request: Request) async throws -> Answer {
        Answer(json: try await accounts.export(try account(request), in: request.operation))
    }

    func deleteAccount(_ request: Request) async throws -> Answer {
        let isOwn = request.arguments.isEmpty
        let userId = try account(request)
        try await accounts.deleteAccount(userId, confirmedBy: isOwn ? request.body : nil, in: request.operation) {
            try await AccountRemains.enqueue(of: userId, in: $0)
        }
        return .empty
    }

    /// What stands in the way of an account's logging in.
    func lock(_ request: Request) async throws -> Answer {
        switch try await accounts.lock(of: request.arguments[0], in: request.operation) {
        case .none: return Answer(json: ["locked": false])
        case .until(let end): return Answer(json: ["locked": true, "until": Value.date(end).json])
        case .forever: return Answer(json: ["locked": true])
        }
    }

    func lockAccount(_ request: Request) async throws -> Answer {
        let ended = try await accounts.lock(request.arguments[0], in: request.operation)
        return Answer(json: ["locked": true, "sessionsEnded": .number(Double(ended))])
    }

    func unlockAccount(_ request: Request) async throws -> Answer {
        try await accounts.unlock(request.arguments[0], in: request.operation)
        return Answer(json: ["locked": false])
    }

    private func account(_ request: Request) throws(ParseError) -> String {
        if let id = request.arguments.first { return id }
        guard let userId = request.viewer.userId else {
            throw ParseError(209, refusal("Invalid session token"))
        }
        return userId
    }

    func logOut(_ request: Request) async throws -> Answer {
        try await accounts.logOut(request.operation)
        return .empty
    }

    func upgradeSession(_ request: Request) async throws -> Answer {
        Answer(json: .object(try await accounts.upgradeSession(request.operation)))
    }

    /// Of the body, else of the URL, where everything is text, also what looks like a number.
    private func credentials(_ request: Request) -> JSONObject {
        // `username[$ne]=x` asks for an object, as clients of the reference may; no credential is one.
        let objects = request.parameters.compactMap { name, _ -> (key: String, value: JSON)? in
            name.firstIndex(of: "[").map { (String(name[..<$0]), .object(JSONObject())) }
        }
        return JSONObject.first(of: request.body.members + request.parameters + objects)
    }

    func answer(_ loggedIn: LoggedIn, byAuthData: Bool = false) -> Answer {
        let extras: (inout JSONWriter) -> Void = { out in
            if let token = loggedIn.sessionToken { out.member("sessionToken", .string(token)) }
            if byAuthData { out.member("authDataResponse", .object(JSONObject())) }
        }
        return Answer { out in
            if let user = loggedIn.user {
                user.write(to: &out, extra: extras)
            } else {
                out.raw("{\"objectId\":")
                out.string(loggedIn.userId)
                extras(&out)
                out.raw("}")
            }
        }
    }

    /// The user of the session, as it may see itself.
    func me(_ request: Request) async throws -> Answer {
        guard let userId = request.viewer.userId, let session = request.viewer.session else {
            throw ParseError(209, refusal("Invalid session token"))
        }
        // What else a client library sends with it does not matter here.
        let parameters = request.parameters.filter { ["keys", "include", "excludeKeys"].contains($0.key) }
        let query = try Query.parseGet(className: "_User", objectId: userId, parameters: parameters)
        let user = try await store.getRow(query, objectId: userId, in: request.operation)
        return Answer { out in
            user.write(to: &out) { out in out.member("sessionToken", .string(session.token)) }
        }
    }

    func currentSession(_ request: Request) async throws -> Answer {
        guard let session = request.viewer.session else { throw ParseError(209, "Session token required.") }
        // The token may lie in the database as a digest; the request has it.
        var query = Query(className: "_Session")
        query.excludeKeys = [FieldPath(field: "sessionToken")]
        let found = try await store.getRow(query, objectId: session.objectId, in: request.operation)
        return Answer { out in
            found.write(to: &out) { out in out.member("sessionToken", .string(session.token)) }
        }
    }

    /// `/challenge`: there are no challenges, since no provider is configured that has any; the checks are the
    /// protocol's.
    func challenge(_ request: Request) async throws -> Answer {
        let body = request.body
        let names = body["username"] != nil || body["email"] != nil
        if names, body["password"] == nil {
            throw ParseError(-1, "You provided username or email, you need to also provide password.")
        }
        guard let data = body["challengeData"] else { throw ParseError(-1, "Nothing to challenge.") }
        guard case .object = data else { throw ParseError(-1, "challengeData should be an object.") }
        if names { _ = try await accounts.verifyPassword(body, in: request.operation) }
        if let given = body["authData"] { try await accounts.checkChallenged(given, in: request.operation) }
        return Answer(json: ["challengeData": [:]])
    }
}
