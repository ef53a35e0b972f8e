import Cloud
import Wire

/// `/hooks`: which URLs are called for functions, triggers and jobs.
extension API {
    enum HookRoute: String, CaseIterable { case functions, triggers, jobs }

    func hooks(_ route: HookRoute) async throws -> Answer {
        let all = try await hookTable.list(store.database).filter { $0.kind.route == route }
        return Answer(json: .array(all.map(\.shown)))
    }

    func hook(_ route: HookRoute, _ request: Request) async throws -> Answer {
        let kind = try kind(route, request.arguments)
        guard let hook = try await hookTable.list(store.database).first(where: { $0.kind == kind }) else {
            throw noHook(kind)
        }
        return Answer(json: hook.shown)
    }

    func createHook(_ route: HookRoute, _ request: Request) async throws -> Answer {
        try store.denylist.check(request.body)
        let names: [String]
        switch route {
        case .functions: names = [try text("functionName", request.body)]
        case .jobs: names = [try text("jobName", request.body)]
        case .triggers: names = [try text("className", request.body), try text("triggerName", request.body)]
        }
        let hook = try Webhook(try kind(route, names), url: try text("url", request.body))
        guard try await hookTable.add(hook, store.database) else {
            switch hook.kind {
            case .function(let name): throw ParseError(143, "function name: \(name) already exists")
            case .job(let name): throw ParseError(143, "job name: \(name) already exists")
            case .trigger(let trigger):
                throw ParseError(143, "class \(trigger.className) already has trigger \(trigger.kind.rawValue)")
            }
        }
        return Answer(json: hook.shown)
    }

    /// Another URL, or `{"__op": "Delete"}`.
    func updateHook(_ route: HookRoute, _ request: Request) async throws -> Answer {
        guard request.body["__op"] != "Delete" else { return try await deleteHook(route, request) }
        try store.denylist.check(request.body)
        let hook = try Webhook(try kind(route, request.arguments), url: try text("url", request.body))
        guard try await hookTable.replace(hook, store.database) else { throw noHook(hook.kind) }
        return Answer(json: hook.shown)
    }

    func deleteHook(_ route: HookRoute, _ request: Request) async throws -> Answer {
        let kind = try kind(route, request.arguments)
        guard try await hookTable.remove(kind, store.database) else { throw ParseError.objectNotFound }
        return .empty
    }

    private func text(_ name: String, _ body: JSONObject) throws(ParseError) -> String {
        guard case .string(let text)? = body[name], !text.isEmpty else { throw .badHook() }
        return text
    }

    private func kind(_ route: HookRoute, _ names: [String]) throws(ParseError) -> Webhook.Kind {
        switch route {
        case .functions: return .function(names[0])
        case .jobs: return .job(names[0])
        case .triggers:
            guard let event = TriggerKind(rawValue: names[1]) else { throw .badHook() }
            return .trigger(Trigger(event, on: names[0]))
        }
    }

    private func noHook(_ kind: Webhook.Kind) -> ParseError {
        switch kind {
        case .function(let name): ParseError(143, "no function named: \(name) is defined")
        case .job(let name): ParseError(143, "no job named: \(name) is defined")
        // The reference's words: it means that the class has no such trigger.
        case .trigger(let trigger): ParseError(143, "class \(trigger.className) does not exist")
        }
    }
}

extension Webhook.Kind {
    fileprivate var route: API.HookRoute {
        switch self {
        case .function: .functions
        case .job: .jobs
        case .trigger: .triggers
        }
    }
}

extension Webhook {
    /// As it is answered.
    fileprivate var shown: JSON {
        switch kind {
        case .function(let name): ["functionName": .string(name), "url": .string(url)]
        case .job(let name): ["jobName": .string(name), "url": .string(url)]
        case .trigger(let trigger):
            [
                "className": .string(trigger.className), "triggerName": .string(trigger.kind.rawValue),
                "url": .string(url),
            ]
        }
    }
}
