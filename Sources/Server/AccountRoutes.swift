import Accounts
import Store
import Wire

/// Users and sessions.
extension API {
    func signUp(_ request: Request) async throws -> Answer {
        do {
            let signedUp = try await accounts.signUp(request.body, as: request.viewer)
            return answer(signedUp.created, location: "/users/") { out in
                if let token = signedUp.sessionToken { out.member("sessionToken", token) }
                if signedUp.byAuthData { out.member("authDataResponse", .object(JSONObject())) }
            }
        } catch let instead as LoggedInInstead {
            var answer = answer(
                try await accounts.loggedIn(instead.userId, token: instead.sessionToken, request.viewer))
            answer.headers.append(("Location", (options.serverURL ?? "") + "/users/" + instead.userId))
            return answer
        }
    }

    func logIn(_ route: Route, _ request: Request) async throws -> Answer {
        var parameters = request.body
        for (name, value) in request.parameters where parameters[name] == nil {
            // Of a URL everything is text, also what looks like a number.
            parameters[name] = value
        }
        switch route {
        case .logInAs:
            guard request.viewer.isMaster || request.viewer.key == .none else { throw masterRequired }
            return answer(try await accounts.logInAs(parameters, as: request.viewer))
        case .verifyPassword: return answer(try await accounts.verifyPassword(parameters, as: request.viewer))
        default:
            try checkWritable(request.viewer)
            return answer(try await accounts.logIn(parameters, as: request.viewer))
        }
    }

    private var masterRequired: ParseError { ParseError(119, refusal("master key is required")) }

    func answer(_ loggedIn: LoggedIn) -> Answer {
        Answer { out in
            let token: (inout JSONWriter) -> Void = { out in
                if let token = loggedIn.sessionToken { out.member("sessionToken", token) }
            }
            if let user = loggedIn.user {
                user.write(to: &out, extra: token)
            } else {
                out.raw("{\"objectId\":")
                out.string(loggedIn.userId)
                token(&out)
                out.raw("}")
            }
        }
    }

    func answer(_ session: Accounts.CreatedSession) -> Answer {
        var members = session.members
        members["objectId"] = .string(session.objectId)
        var answer = Answer(status: 201, json: .object(members))
        answer.headers.append(("Location", (options.serverURL ?? "") + "/classes/_Session/" + session.objectId))
        return answer
    }

    /// The user of the session, as it may see itself.
    func me(_ request: Request) async throws -> Answer {
        guard let userId = request.viewer.userId, let session = request.viewer.session else {
            throw ParseError(209, refusal("Invalid session token"))
        }
        // What else a client library sends with it does not matter here.
        let parameters = request.parameters.filter { ["keys", "include", "excludeKeys"].contains($0.key) }
        let query = try Query.parseGet(className: "_User", objectId: userId, parameters: parameters)
        let user = try await store.get(query, objectId: userId, as: request.viewer)
        return Answer { out in
            user.write(to: &out) { out in out.member("sessionToken", session.token) }
        }
    }

    func currentSession(_ request: Request) async throws -> Answer {
        guard let session = request.viewer.session else { throw ParseError(209, "Session token required.") }
        let found = try await store.get(
            Query(className: "_Session"), objectId: session.objectId, as: request.viewer)
        return Answer { out in found.write(to: &out) }
    }

    /// `/challenge`: there are no challenges, since no provider is configured that has any; the checks are the protocol's.
    func challenge(_ request: Request) async throws -> Answer {
        let body = request.body
        let names = body["username"] != nil || body["email"] != nil
        if names, body["password"] == nil {
            throw ParseError(-1, "You provided username or email, you need to also provide password.")
        }
        guard let data = body["challengeData"] else { throw ParseError(-1, "Nothing to challenge.") }
        guard case .object = data else { throw ParseError(-1, "challengeData should be an object.") }
        if names { _ = try await accounts.verifyPassword(body, as: request.viewer) }
        return Answer(json: ["challengeData": [:]])
    }
}
