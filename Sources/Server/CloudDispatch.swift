import Accounts
import Cloud
import Core
import HTTP
import Store
import Synchronization
import Wire

/// Calls an application's cloud code: makes hooks of its triggers, and runs its functions. One for each worker.
final class CloudDispatch {
    private unowned let api: API
    let registry: CloudRegistry
    private var generation = -1
    private(set) var code = CloudCode()
    /// The option's and the code's own.
    private(set) var rateLimits = RateLimits([])
    /// Seconds that a call may take.
    private let timeLimit: Double
    // Options that every call tells; asking for one of them copies them all.
    private let publicURL: String
    private let appId: String

    init(_ api: API, _ registry: CloudRegistry, timeLimit: Double) {
        self.api = api
        self.registry = registry
        self.timeLimit = timeLimit
        publicURL = api.options.publicURL
        appId = api.options.appId
    }

    /// Takes what the registry has now. Called before each request: costs one look at a number.
    func refresh() {
        let now = registry.generation
        guard now != generation else { return }
        generation = now
        code = registry.code
        rateLimits = RateLimits(api.options.rateLimit + code.rateLimits)
        let here = Here(self)
        var hooks: [Hook] = []
        var finds: [FindHook] = []
        var sessions: [SessionHook] = []
        for (trigger, handlers) in code.triggers {
            for handler in handlers {
                if let hook = here.hook(trigger, handler) { hooks.append(hook) }
                if let hook = here.findHook(trigger, handler) { finds.append(hook) }
                if let hook = here.sessionHook(trigger, handler) { sessions.append(hook) }
            }
        }
        api.store.hooks = Hooks(api.accounts.options.rules + hooks, finds: finds, sessions: sessions)
    }

    /// - Safety: unchecked, because a store's hooks run on its worker, where this was made.
    private struct Here: @unchecked Sendable {
        let dispatch: CloudDispatch
        init(_ dispatch: CloudDispatch) { self.dispatch = dispatch }

        func hook(_ trigger: Trigger, _ handler: CloudHandler) -> Hook? {
            let event: Hook.Event
            switch trigger.kind {
            case .beforeSave: event = .beforeSave
            case .afterSave: event = .afterSave
            case .beforeDelete: event = .beforeDelete
            case .afterDelete: event = .afterDelete
            default: return nil
            }
            var needs: Hook.Needs = .original
            if event == .afterSave { needs.insert(.result) }
            if handler.inTransaction, event == .beforeSave || event == .beforeDelete { needs.insert(.transaction) }
            return Hook(handler.name, on: trigger.className, event, needs: needs) { write in
                switch event {
                case .beforeSave: try await dispatch.beforeSave(handler, write)
                case .afterSave: try await dispatch.afterSave(handler, write)
                case .beforeDelete: try await dispatch.ofDelete(.beforeDelete, handler, write)
                case .afterDelete: try await dispatch.ofDelete(.afterDelete, handler, write)
                case .completeSave: break
                }
            }
        }

        func findHook(_ trigger: Trigger, _ handler: CloudHandler) -> FindHook? {
            switch trigger.kind {
            case .beforeFind:
                FindHook(handler.name, on: trigger.className, .beforeFind) {
                    try await dispatch.beforeFind(handler, $0)
                }
            case .afterFind:
                FindHook(handler.name, on: trigger.className, .afterFind) { try await dispatch.afterFind(handler, $0) }
            default: nil
            }
        }

        func sessionHook(_ trigger: Trigger, _ handler: CloudHandler) -> SessionHook? {
            let event: SessionHook.Event
            switch trigger.kind {
            case .beforeLogin: event = .beforeLogin
            case .afterLogin: event = .afterLogin
            case .afterLogout: event = .afterLogout
            case .beforePasswordResetRequest: event = .beforePasswordResetRequest
            case .accountExport: event = .accountExport
            default: return nil
            }
            return SessionHook(handler.name, event) { object, operation in
                try await dispatch.ofSession(trigger, handler, object, operation)
            }
        }
    }

    // MARK: calls

    /// Calls a handler, for as long as it may take.
    ///
    /// - Throws: the handler's `ParseError`; 141 for any other fault of it, told to the log with its name.
    func call(
        _ handler: CloudHandler, _ payload: JSONObject, changes: JSONObject? = nil, objectId: String? = nil,
        hasPassword: Bool = false, result: [UInt8]? = nil, in operation: Operation
    ) async throws -> CloudAnswer {
        guard let caller = OperationCaller(api, operation) else { throw CancellationError() }
        var endsByItself = true
        defer { caller.end(byItself: endsByItself) }
        var call = CloudCall(
            payload: payload, changes: changes, sessionToken: operation.viewer.session?.token, caller: caller)
        call.hasPassword = hasPassword
        call.result = result
        call.objectId = objectId
        call.userId = operation.viewer.userId
        call.roles = operation.viewer.roles
        call.requestId = operation.request.id
        // Nobody's headers are none; what cloud code asks for has not even those.
        call.headers = operation.request.headers ?? (operation.depth == 0 ? HeaderText([]) : nil)
        call.languages = operation.request.language
        call.publicURL = publicURL
        call.appId = appId
        let asked = call
        let limit = handler.timeLimit ?? timeLimit
        do {
            let answer = try await run(handler, asked, atMost: limit)
            if let context = answer.context { operation.context = context }
            return answer
        } catch let error as ParseError {
            throw error
        } catch is CancellationError {
            endsByItself = false
            throw CancellationError()
        } catch is TimeIsUp {
            endsByItself = false
            log(handler, operation, "it took longer than \(limit) s and was stopped")
            throw ParseError(141, "\(handler.name) took longer than \(limit) s and was stopped.")
        } catch {
            log(handler, operation, "\(error)")
            throw ParseError(141, "Cloud code failed.")
        }
    }

    private func log(_ handler: CloudHandler, _ operation: Operation, _ error: String) {
        Log.shared.error(
            "cloud code failed",
            ["hook": .text(handler.name), "id": .text(operation.request.id), "error": .text(error)])
    }

    struct TimeIsUp: Error {}

    /// Runs it on the threads for code, or its provider's. Ends at the limit, or when the client has gone, whatever the
    /// handler does.
    func run(
        _ handler: CloudHandler, _ call: CloudCall, atMost limit: Double
    ) async throws -> CloudAnswer {
        let waiter = call.waiter
        let timer = api.store.database.loop.schedule(after: UInt64(limit * 1e9)) {
            waiter.resume(throwing: TimeIsUp())
        }
        defer { timer.cancel() }
        if handler.handsOver { return try await handler.run(call) }
        let outcome = CloudOutcome<CloudAnswer>(waiter)
        let task = Task.detached(executorPreference: CodeThreads.shared) {
            await outcome.run { try await handler.run(call) }
        }
        do { try await outcome.waiter.wait() } catch {
            task.cancel()
            throw error
        }
        return try outcome.take()
    }

    // MARK: functions

    func function(_ name: String, _ request: Request) async throws -> Answer {
        guard let handler = code.functions[name] else {
            throw ParseError(141, "Invalid function: \"\(name)\"")
        }
        var parameters = request.body
        for (name, value) in request.parameters { parameters[name] = value }
        var payload = try await payload(handler, request.operation)
        payload["functionName"] = .string(name)
        payload["params"] = .object(parameters)
        let answer = try await call(handler, payload, in: request.operation)
        let headers = answer.headers.map { ($0.name, $0.value) }
        return Answer(status: answer.status ?? 200, headers: headers) { out in
            guard let text = answer.text ?? answer.body?.bytes else { return out.raw("{}") }
            out.raw("{\"result\":")
            out.raw(text)
            out.raw("}")
        }
    }

    /// What the functions are called, and what their providers say of them; in the order of their names.
    func listFunctions() -> Answer {
        let functions = code.functions.sorted { $0.key < $1.key }.map { name, handler in
            var description = JSONObject([("functionName", .string(name))])
            for (key, value) in handler.description.members { description[key] = value }
            return JSON.object(description)
        }
        return Answer(json: ["results": .array(functions)])
    }

    /// Which language a user reads, where the application knows it.
    func language(of userId: String, in operation: Operation) async throws -> String? {
        guard let handler = code.language else { return nil }
        let payload = JSONObject([("user", .string(userId))])
        return try await call(handler, payload, in: operation).body?.string
    }

    // MARK: payloads

    /// What every call is told.
    func payload(_ handler: CloudHandler, _ operation: Operation) async throws -> JSONObject {
        let viewer = operation.viewer
        var payload = JSONObject()
        payload.reserve(16)
        payload.add("master", .bool(viewer.isMaster))
        payload.add("isReadOnly", .bool(viewer.key == .readOnlyMaster))
        if handler.needsUser, let user = try await user(operation) { payload.add("user", .object(user)) }
        payload.add("installationId", viewer.installationId.map { .string($0) })
        payload.add("ip", operation.request.address.map { .string($0) })
        payload.add("context", .object(operation.context))
        return payload
    }

    /// The same for a trigger.
    func payload(
        _ trigger: Trigger, _ handler: CloudHandler, _ operation: Operation
    ) async throws -> JSONObject {
        var payload = try await payload(handler, operation)
        payload.add("triggerName", .string(trigger.kind.rawValue))
        payload.add("className", .string(trigger.className))
        if operation.viewer.isMaster, operation.viewer.installationId == nil { payload["installationId"] = "cloud" }
        return payload
    }

    /// The user as it sees itself.
    private func user(_ operation: Operation) async throws -> JSONObject? {
        guard let id = operation.viewer.userId else { return nil }
        if let user = operation.user { return user }
        let found = try await api.store.getRow(Query(className: "_User"), objectId: id, in: operation)
        operation.user = try found.json().object
        return operation.user
    }

    private static let secretHeaders = ["x-parse-master-key", "x-parse-maintenance-key", "authorization"]

    /// What cloud code sees of a client's headers: all but the keys that stand above users.
    static func headers(_ http: HTTPRequest) -> HeaderText {
        http.withRawHeaders { HeaderText(raw: $0, without: secretHeaders) }
    }

    private func named(_ object: JSONObject, _ className: String) -> JSON {
        var object = object
        object["className"] = .string(className)
        return .object(object)
    }

    // MARK: writes

    private func beforeSave(_ handler: CloudHandler, _ write: Write) async throws {
        var payload = try await payload(Trigger(.beforeSave, on: write.className), handler, write.operation)
        let original = write.isNew ? nil : try await write.readOriginal()
        if let original { payload["original"] = named(original, write.className) }
        var changes = write.update.json
        // What is going to be kept of how somebody signs up, and nothing of what has shown it.
        let logins = write.className == "_User" ? try write.columns.first { $0.name == "authData" }?.json : nil
        if let logins { changes["authData"] = logins }
        if handler.needsObject {
            var object = original ?? JSONObject()
            object.apply(write.update)
            if let logins { object["authData"] = logins }
            payload["object"] = named(object, write.className)
        } else if write.isNew, let chosen = write.update.objectId {
            payload["objectId"] = chosen
        }
        let answer = try await call(
            handler, payload, changes: changes, objectId: write.objectId,
            hasPassword: write.password != nil, in: write.operation)
        write.wasSeenByHooks = true
        guard let body = answer.body?.object, let object = body["object"]?.object else { return }
        try replace(write, by: object)
        let unwritten = Self.unwritten(of: write.className)
        write.changedByHooks += (body["takenBack"]?.array ?? []).compactMap(\.string).filter { !unwritten.contains($0) }
    }

    /// What no hook changes, and no answer tells as changed. An application's class may have fields of the last two
    /// names.
    private static func unwritten(of className: String) -> [String] {
        let names = ["objectId", "className", "__type", "createdAt", "updatedAt"]
        return className == "_User" || className == "_Session" ? names + ["sessionToken", "authData"] : names
    }

    /// What a hook answers is written in place of what was to be written.
    private func replace(_ write: Write, by body: JSONObject) throws {
        var body = body
        for name in Self.unwritten(of: write.className) { body[name] = nil }
        try api.store.denylist.check(body)
        var update = try Update.parse(body, creating: write.isNew)
        update.objectId = write.update.objectId
        update.createdAt = write.update.createdAt
        update.updatedAt = write.update.updatedAt
        let before = write.update
        for change in update.changes where !before.changes.contains(change) {
            if case .relation = change.operation { continue }
            // It is taken out of the write, and no answer tells it.
            if write.className == "_User", change.path.field == "password" { continue }
            write.changedByHooks.append(change.path.description)
        }
        if let acl = update.acl, acl != before.acl { write.changedByHooks.append("ACL") }
        write.update = update
    }

    private func afterSave(_ handler: CloudHandler, _ write: Write) async throws {
        let operation = write.operation.afterwards()
        var payload = try await payload(Trigger(.afterSave, on: write.className), handler, operation)
        if let original = write.original { payload["original"] = named(original, write.className) }
        let answer = try await call(handler, payload, result: write.result ?? Array("{}".utf8), in: operation)
        if case .object(let body)? = answer.body {
            if let object = body["object"] { write.replacement = object }
            for (name, value) in body["fields"]?.object?.members ?? [] { write.shownByHooks[name] = value }
        }
    }

    private func ofDelete(_ kind: TriggerKind, _ handler: CloudHandler, _ write: Write) async throws {
        let operation = kind == .afterDelete ? write.operation.afterwards() : write.operation
        var payload = try await payload(Trigger(kind, on: write.className), handler, operation)
        payload["object"] = named(try await write.readOriginal(), write.className)
        _ = try await call(handler, payload, in: operation)
    }

    // MARK: finds

    private func beforeFind(_ handler: CloudHandler, _ find: Find) async throws {
        let className = find.query.className
        var payload = try await payload(Trigger(.beforeFind, on: className), handler, find.operation)
        // How many are asked for, or that they are to be counted, is said where it says something.
        var query = told(find)
        query["count"] = nil
        if query["limit"] == 0 { query["limit"] = nil }
        payload["query"] = .object(query)
        payload["isGet"] = .bool(find.isGet)
        payload["count"] = .bool(find.query.count)
        let answer = try await call(handler, payload, in: find.operation)
        guard case .object(let body)? = answer.body else { return }
        if case .object(var asked)? = body["query"] {
            asked["className"] = nil
            // What the hook was not told of it can't have changed.
            for name in ["count", "limit"] where query[name] == nil && asked[name] == nil {
                asked[name] = find.parameters[name]
            }
            find.query = try Query.parse(
                className: className, parameters: asked.members, internalKeys: find.operation.viewer.isMaster)
            find.parameters = asked
        }
        if case .array(let objects)? = body["objects"] { find.objects = objects }
    }

    /// The query as hooks read it: names in one text, with commas, also where the client sent a list.
    private func told(_ find: Find) -> JSONObject {
        var query = find.parameters
        for name in ["include", "keys", "excludeKeys", "order"] {
            guard let names = query[name]?.array else { continue }
            query[name] = .string(names.compactMap(\.string).joined(separator: ","))
        }
        return query
    }

    private func afterFind(_ handler: CloudHandler, _ find: Find) async throws {
        let className = find.query.className
        var payload = try await payload(Trigger(.afterFind, on: className), handler, find.operation)
        var query = told(find)
        if !find.isGet, query["limit"] == nil { query["limit"] = .number(Double(api.options.defaultLimit)) }
        payload["query"] = .object(query)
        payload["isGet"] = .bool(find.isGet)
        payload["object"] = .null
        payload["objects"] = .array(find.objects ?? [])
        let answer = try await call(handler, payload, in: find.operation)
        if case .array(let objects)? = answer.body?.object?["objects"] { find.objects = objects }
    }

    // MARK: sessions

    private func ofSession(
        _ trigger: Trigger, _ handler: CloudHandler, _ object: JSONObject, _ operation: Operation
    ) async throws -> JSON? {
        var payload = try await payload(trigger, handler, operation)
        payload["object"] = named(object, trigger.className)
        return try await call(handler, payload, in: operation).body?.object?["data"]
    }
}

/// What became of code that runs off the worker.
final class CloudOutcome<Success: Sendable>: Sendable {
    let waiter: Waiter
    private let result = Mutex<Result<Success, any Error>?>(nil)

    init(_ waiter: Waiter = Waiter()) { self.waiter = waiter }

    func run(_ body: () async throws -> Success) async {
        let outcome: Result<Success, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        result.withLock { $0 = outcome }
        waiter.resume()
    }

    func take() throws -> Success {
        guard let outcome = result.withLock({ $0 }) else { throw CancellationError() }
        return try outcome.get()
    }
}

extension ServerColumn {
    /// What is written there, where that is JSON.
    fileprivate var json: JSON? {
        get throws {
            guard case .utf8(let bytes) = parameter else { return nil }
            return try JSONParser.parse(bytes)
        }
    }
}

extension JSONObject {
    /// What an object looks like with an update over it: plain values as they will be, operations as `__op`.
    fileprivate mutating func apply(_ update: Update) {
        for change in update.changes {
            guard change.path.isDotted else {
                self[change.path.field] = change.operation.json
                continue
            }
            guard case .set(let value) = change.operation else {
                self[change.path.description] = change.operation.json
                continue
            }
            set(value.json, at: ([change.path.field] + change.path.rest)[...])
        }
        switch update.acl {
        case .set(let acl)?: self["ACL"] = acl.json
        case .delete?: self["ACL"] = nil
        case nil: break
        }
        if let objectId = update.objectId { self["objectId"] = objectId }
    }

    private mutating func set(_ value: JSON, at path: ArraySlice<String>) {
        guard let head = path.first else { return }
        guard path.count > 1 else { return self[head] = value }
        var inner = self[head]?.object ?? JSONObject()
        inner.set(value, at: path.dropFirst())
        self[head] = .object(inner)
    }
}
