import Cloud
import Core
import Store
import Wire

/// The way back from cloud code into the API: requests without a connection, in the transaction of the operation that
/// called the code, or by themselves once that has ended.
///
/// - Safety: unchecked, because all that it holds is touched on the operation's worker alone: it is made there, and
///   `send` goes there first.
final class OperationCaller: CloudCaller, @unchecked Sendable {
    private let worker: Worker
    private let api: API
    private let operation: Operation
    private enum State { case open, ended, closed }
    private var state = State.open
    /// One statement at a time can run in a transaction: who waits for the one before it.
    private var waiting: [Waiter] = []
    private var isBusy = false

    /// nil when the server is ending.
    init?(_ api: API, _ operation: Operation) {
        guard let worker = api.store.database.loop.worker else { return nil }
        self.worker = worker
        self.api = api
        self.operation = operation
    }

    func send(_ request: CloudRequest) async throws -> CloudResponse {
        // The task is the cloud code's. What it waits for here must end on this worker, not on its own threads first.
        try await withTaskExecutorPreference(worker.executor) {
            try await worker.run { _, _ in try await self.serve(request) }
        }
    }

    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (any CloudCaller) async throws -> Result
    ) async throws -> Result {
        try await worker.run { _, _ in try await self.inTransaction(body) }
    }

    private func inTransaction<Result: Sendable>(
        _ body: @escaping @Sendable (any CloudCaller) async throws -> Result
    ) async throws -> Result {
        let outer = try place()
        guard outer.isInTransaction else { return try await outer.inTransaction { try await self.run(body, in: $0) } }
        try await takeTurn()
        defer { endTurn() }
        return try await outer.savepoint { try await run(body, in: outer) }
    }

    /// Runs `body` off the worker, with a caller of its own.
    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (any CloudCaller) async throws -> Result, in operation: Operation
    ) async throws -> Result {
        guard let caller = OperationCaller(api, operation) else { throw CancellationError() }
        var endsByItself = false
        defer { caller.end(byItself: endsByItself) }
        let outcome = CloudOutcome<Result>()
        let task = Task.detached(executorPreference: CodeThreads.shared) {
            await outcome.run { try await body(caller) }
        }
        do { try await outcome.waiter.wait() } catch {
            task.cancel()
            throw error
        }
        endsByItself = true
        return try outcome.take()
    }

    /// The code has ended. What it left behind may go on, outside of the transaction, if it ended by itself; where it
    /// was stopped, what it still asks for is refused: the client was told that nothing happened.
    func end(byItself: Bool) { state = byItself ? .ended : .closed }

    /// Where a request runs now.
    private func place() throws -> Operation {
        switch state {
        case .open: return operation
        case .ended: return operation.afterwards()
        case .closed: throw CancellationError()
        }
    }

    private func serve(_ request: CloudRequest) async throws -> CloudResponse {
        let outer = try place()
        // Not the client's headers: a request of the server's own code has none.
        var info = RequestInfo()
        info.id = outer.request.id
        info.address = outer.request.address
        info.language = outer.request.language
        let viewer = try await viewer(request)
        if outer.request.isForPage { try await api.count(request, of: viewer, from: outer.request.address ?? "") }
        let operation = try outer.nested(
            as: viewer, context: request.context, request: info, asksCloudCode: request.asksHooks)
        guard operation.isInTransaction else { return try await api.serve(request, in: operation) }
        try await takeTurn()
        defer { endTurn() }
        return try await operation.savepoint { try await api.serve(request, in: operation) }
    }

    private func viewer(_ request: CloudRequest) async throws -> Viewer {
        let installationId = request.installationId ?? operation.viewer.installationId
        switch request.authority {
        case .nobody: return Viewer(installationId: installationId)
        case .master: return Viewer(key: .master, installationId: request.installationId)
        case .session(let token): return try await api.accounts.viewer(token: token, installationId: installationId)
        case .caller: return operation.viewer
        }
    }

    private func takeTurn() async throws {
        guard isBusy else { return isBusy = true }
        let waiter = Waiter()
        waiting.append(waiter)
        do { try await waiter.wait() } catch {
            // Its turn may have come at the same moment.
            if let index = waiting.firstIndex(where: { $0 === waiter }) { waiting.remove(at: index) } else { endTurn() }
            throw error
        }
    }

    private func endTurn() {
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
    }
}

extension API {
    /// Counts for `rateLimit` what a page sends, but for what it only reads: of that it asks as much as it has to show.
    fileprivate func count(_ request: CloudRequest, of viewer: Viewer, from client: String) async throws {
        let method = request.method.uppercased()
        guard method != "GET", let path = MountPath("").split(request.path) else { return }
        var caller = Caller()
        caller.key = viewer.key
        caller.client = client
        let ignoresSession = routes.match(method, path)?.route.ignoresSession == true
        let counted = RateLimits.Counted(method: method, path: path, ignoresSession: ignoresSession)
        try await cloud.rateLimits.check([counted], caller, viewer, store)
    }

    /// Serves a request of cloud code, past all that is about connections.
    func serve(_ request: CloudRequest, in operation: Operation) async throws -> CloudResponse {
        let method = request.method.uppercased()
        do {
            if let answer = try await serveCloud(request, in: operation) { return answer }
            guard let path = MountPath("").split(request.path), let match = routes.match(method, path) else {
                throw ParseError(107, "There is no route \(method) /\(request.path) for cloud code.")
            }
            var caller = Caller()
            caller.key = operation.viewer.key
            caller.sessionToken = operation.viewer.session?.token
            caller.installationId = operation.viewer.installationId
            caller.context = request.context
            let inner = Request(
                method: method, path: path, arguments: match.arguments,
                parameters: method == "GET" ? request.body.members : [], body: request.body, caller: caller,
                operation: operation)
            let answer = try await run(match.route, inner)
            guard let bytes = answer.bytes else { throw ParseError(108, "Cloud code cannot take a stream.") }
            return CloudResponse(
                status: answer.status, headers: answer.headers.map { (name: $0.0, value: $0.1) },
                body: bytes.isEmpty ? .null : try JSONParser.parse(bytes))
        } catch is CancellationError { throw CancellationError() } catch {
            let (parseError, isDefect) = errors.parseError(error)
            if isDefect {
                Log.shared.error(
                    "a request of cloud code failed",
                    [
                        "id": .text(operation.request.id), "method": .text(method), "path": .text(request.path),
                        "error": "\(error)",
                    ])
            }
            throw parseError
        }
    }
}
