import Wire

/// What a webhook's answer means: `{"success": …}` or `{"error": …}`.
enum WebhookAnswer {
    enum Problem: Error, Equatable {
        /// The webhook says no, in these words.
        case refused(String)
        /// What it says makes no sense; how, as the end of a sentence.
        case nonsense(String)
    }

    static func read(_ bytes: [UInt8], of kind: Webhook.Kind) throws(Problem) -> CloudAnswer {
        // A body that is not there says neither.
        guard !bytes.isEmpty else { return CloudAnswer() }
        let json: JSON
        do throws(ParseError) { json = try JSONParser.parse(bytes) } catch { throw .nonsense("is not JSON") }
        guard case .object(let answer) = json else { throw .nonsense("is not a JSON object") }
        if let error = answer["error"], error.isTruthy { throw .refused(message(error)) }
        guard let success = answer["success"] else { return CloudAnswer() }
        switch kind {
        case .function, .job: return CloudAnswer(success)
        case .trigger(let trigger): return CloudAnswer(try body(success, of: trigger.kind))
        }
    }

    private static func message(_ error: JSON) -> String {
        switch error {
        case .string(let text): text
        // Also in the form in which Parse itself answers errors.
        case .object(let object): object["message"]?.string ?? object["error"]?.string ?? "The webhook refused."
        default: error.description
        }
    }

    private static func body(_ success: JSON, of kind: TriggerKind) throws(Problem) -> JSON? {
        switch kind {
        case .beforeSave:
            guard let object = try change(success, "an object") else { return nil }
            return .object(JSONObject([("object", .object(object))]))
        case .afterSave:
            // Whoever answers `true` or a text means no more than that all is well.
            guard case .object = success else { return nil }
            return .object(JSONObject([("object", success)]))
        case .beforeFind, .beforeSubscribe:
            if case .array(let objects) = success, kind == .beforeFind {
                return .object(JSONObject([("objects", .array(try checked(objects)))]))
            }
            guard let query = try change(success, "a query or a list of objects"), !query.isEmpty else { return nil }
            for (name, _) in query.members where !parts.contains(name) {
                throw .nonsense("has no query: \(name.prefix(100)) is no part of one")
            }
            return .object(JSONObject([("query", .object(query))]))
        case .afterFind:
            switch success {
            case .array(let objects): return .object(JSONObject([("objects", .array(try checked(objects)))]))
            case .null, .bool(true): return nil
            case .object(let object) where object.isEmpty: return nil
            default: throw .nonsense("has no list of objects")
            }
        case .accountExport: return .object(JSONObject([("data", success)]))
        case .beforeDelete, .afterDelete, .beforeLogin, .afterLogin, .afterLogout, .beforePasswordResetRequest,
            .beforeConnect, .afterEvent:
            return nil
        }
    }

    /// All that a client may say of a query: a hook that changes one thing answers the rest as it was told it.
    private static let parts: Set<String> = [
        "where", "limit", "skip", "order", "include", "includeAll", "keys", "excludeKeys", "className", "count",
        "cursor", "comment", "hint", "explain", "redirectClassNameForKey", "readPreference",
        "includeReadPreference", "subqueryReadPreference",
    ]

    /// The object that changes something; nil for what says only that all is well.
    private static func change(_ success: JSON, _ wanted: String) throws(Problem) -> JSONObject? {
        switch success {
        case .object(let object): return object
        case .null, .bool(true): return nil
        default: throw .nonsense("has not \(wanted) as its success")
        }
    }

    /// Dates and names that every object is sent with; an answer never changes them.
    fileprivate static let given: Set<String> = ["objectId", "className", "createdAt", "updatedAt"]

    private static func checked(_ objects: [JSON]) throws(Problem) -> [JSON] {
        for object in objects {
            guard let id = object.object?["objectId"]?.string, !id.isEmpty else {
                throw .nonsense("has something else than objects, each with its objectId, in its list")
            }
        }
        return objects
    }
}

extension CloudAnswer {
    /// Webhooks send back all that they were sent of an object, and others change it meanwhile: what comes back as it was
    /// is not written again. The client is told of it all the same.
    func withoutWhatStands(_ call: CloudCall) -> CloudAnswer {
        guard call.payload["original"] != nil, let sent = call.payload["object"]?.object, let changes = call.changes,
            case .object(var body)? = body, let object = body["object"]?.object
        else { return self }
        var written = JSONObject()
        var standing: [JSON] = []
        for (name, value) in object.members {
            guard changes[name] == nil, sent[name] == value, !WebhookAnswer.given.contains(name),
                value.object?["__type"] != "Relation"
            else {
                written[name] = value
                continue
            }
            let within = changes.members.filter { $0.key.hasPrefix(name + ".") }
            if within.isEmpty { standing.append(.string(name)) }
            // Those that were not sent by themselves are in what was sent.
            for (path, change) in within where sent[path] == nil { written[path] = change }
        }
        body["object"] = .object(written)
        body["takenBack"] = .array(standing)
        var answer = self
        answer.body = .object(body)
        return answer
    }
}
