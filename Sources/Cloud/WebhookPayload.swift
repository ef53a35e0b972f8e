import Wire

/// What a webhook is sent: the call's payload as the reference sends it, without what is nobody else's business.
struct WebhookPayload {
    let sendsSessionTokens: Bool

    func body(of call: CloudCall, _ kind: Webhook.Kind) -> JSONObject {
        var body = call.wholePayload
        if case .trigger(let trigger) = kind { shape(&body, trigger) }
        if case .object(let headers)? = body["headers"] {
            body["headers"] = .object(without(headers, Self.secretHeaders, token: "x-parse-session-token"))
        }
        if case .object(var user)? = body["user"] {
            user = without(user, Self.secretFields, token: "sessionToken")
            if sendsSessionTokens, let token = call.sessionToken { user["sessionToken"] = .string(token) }
            body["user"] = .object(user)
        }
        return body
    }

    /// Objects carry their class, finds don't tell it, and who logs out has no context: so it has always been.
    private func shape(_ body: inout JSONObject, _ trigger: Trigger) {
        body["className"] = nil
        if trigger.kind == .afterLogout || trigger.className == "@File" { body["context"] = nil }
        for name in ["object", "original"] {
            guard case .object(let object)? = body[name] else { continue }
            body[name] = .object(shown(object, trigger.className))
        }
        if case .array(let objects)? = body["objects"] {
            body["objects"] = .array(
                objects.map { json in
                    guard case .object(var object) = json else { return json }
                    object["className"] = nil
                    return .object(shown(object, trigger.className))
                })
        }
    }

    /// Other classes have fields of the application's, whatever their names.
    private func shown(_ object: JSONObject, _ className: String) -> JSONObject {
        guard className == "_User" || className == "_Session" else { return object }
        return without(object, Self.secretFields, token: "sessionToken")
    }

    private func without(_ members: JSONObject, _ secrets: Set<String>, token: String) -> JSONObject {
        JSONObject(
            members.members.filter { name, _ in
                let name = name.lowercased()
                return !secrets.contains(name) && (sendsSessionTokens || name != token.lowercased())
            })
    }

    private static let secretHeaders: Set<String> = [
        "x-parse-master-key", "x-parse-maintenance-key", "x-parse-rest-api-key", "x-parse-client-key",
        "x-parse-javascript-key", "x-parse-windows-key", "authorization", "proxy-authorization", "cookie",
    ]
    private static let secretFields: Set<String> = ["password", "_hashed_password", "_password_history"]
}
