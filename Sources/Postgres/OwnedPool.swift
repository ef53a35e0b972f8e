import CLibPQ
import Core

/// The connections for writes and transactions: each belongs to one task while it runs, since it may wait for a lock.
///
/// Those who wait are served in order; whoever waits for longer than the bound fails. A connection comes back clean:
/// a transaction left open is rolled back, a statement left running is cancelled, and where that does not succeed
/// soon the connection is closed.
final class OwnedPool: ConnectionOwner {
    private let loop: Loop
    private let configuration: DatabaseConfiguration
    private let hosts: Hosts
    private let buffer: ParameterBuffer
    private var idle: [Connection] = []
    private var all: [Connection] = []
    private var waiting = Queue<Request>()
    private var backoff = Backoff()
    private var retryTimer: Loop.Timer?
    private var idleTimer: Loop.Timer?
    private var isClosed = false
    /// How many in `waiting` have gone.
    private var gone = 0
    /// Called when a connection turned out to lead to a server that takes no writes.
    var onReadOnlyServer: () -> Void = {}

    /// A task that waits for a connection.
    private final class Request {
        let waiter = Waiter()
        var connection: Connection?
        var error: PostgresError?
        var isGone = false
        var isDone: Bool { connection != nil || error != nil || isGone }
    }

    init(loop: Loop, configuration: DatabaseConfiguration, hosts: Hosts, buffer: ParameterBuffer) {
        self.loop = loop
        self.hosts = hosts
        self.configuration = configuration
        self.buffer = buffer
    }

    deinit {
        retryTimer?.cancel()
        idleTimer?.cancel()
    }

    func close() {
        isClosed = true
        retryTimer?.cancel()
        idleTimer?.cancel()
        let error = PostgresError(.closed, "the database was closed")
        waiting.removeAll().forEach { fail($0, error) }
        gone = 0
        let open = all
        all = []
        idle = []
        for connection in open {
            let commands = connection.commands
            connection.close()
            commands.forEach { $0.fail(error) }
        }
    }

    // MARK: taking and giving back

    func acquire() async throws -> Connection {
        guard !isClosed else { throw PostgresError(.closed, "the database is closed") }
        while waiting.isEmpty, let connection = idle.popLast() {
            // The server may have gone since: look, so that the statement is not sent into the void.
            connection.receive()
            if connection.isIdle { return connection }
        }
        let request = Request()
        waiting.append(request)
        openAnother()
        let bound = loop.schedule(after: configuration.waitBound.nanoseconds) { [weak self] in
            guard let self else { return }
            fail(request, waitedTooLong())
        }
        defer { bound.cancel() }
        do { try await request.waiter.wait() } catch {
            request.isGone = true
            if let connection = request.connection { release(connection) } else { forgetGone() }
            throw error
        }
        if let connection = request.connection { return connection }
        forgetGone()
        throw request.error ?? PostgresError(.closed, "the database was closed")
    }

    /// Runs one statement, committed when this returns.
    func write(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows {
        var attempts = 0
        while true {
            attempts += 1
            let connection = try await acquire()
            let command = Command(statement, parameters)
            defer { release(connection) }
            connection.run(command)
            try await command.waiter.wait()
            if case .failed(let error, let wasStale) = command.outcome, wasStale || error.isReadOnlyServer,
                attempts < 3
            {
                continue
            }
            return try command.rows()
        }
    }

    /// Takes a connection back, in whatever state it is.
    func release(_ connection: Connection) {
        guard connection.phase == .ready, !isClosed, !connection.isBloated, !connection.isCopying,
            !connection.isOutdated
        else {
            return discard(connection)
        }
        if connection.count > 0 || connection.isInTransaction || connection.cancels.underWay > 0 {
            return clean(connection)
        }
        while let request = waiting.popFirst() {
            if request.isDone {
                gone -= 1
                continue
            }
            request.connection = connection
            return request.waiter.resume()
        }
        connection.idleSince = loop.now
        idle.append(connection)
        startIdleTimer()
    }

    /// How many are kept that wait for a connection, those who have gone included.
    var waitingCount: Int { waiting.count }

    /// One of those who wait was cancelled or told that it takes too long: once that is true of half of them they are
    /// let go, so that it costs each the same, however many there are.
    private func forgetGone() {
        gone += 1
        guard gone * 2 >= waiting.count else { return }
        waiting.removeAll { $0.isDone }
        gone = 0
    }

    /// The server that a connection leads to takes no writes (any more): neither it nor those that wait for use are of
    /// any use, and the next ones may find another server.
    private func leaveReadOnlyServer() {
        renew()
        onReadOnlyServer()
    }

    /// Makes every connection anew, each as soon as it is idle.
    func renew() {
        for connection in all { connection.isOutdated = true }
        for connection in idle { discard(connection) }
        idle = []
    }

    /// Ends what runs, rolls back what is open, and only then lends the connection again.
    private func clean(_ connection: Connection) {
        let limit = loop.schedule(after: 5_000_000_000) { [weak self, weak connection] in
            guard let self, let connection else { return }
            discard(connection)
        }
        let rollBack = { [weak self, weak connection] in
            guard let self, let connection, connection.phase == .ready else { return limit.cancel() }
            // Outside a transaction ROLLBACK does nothing but warn; a cancel request that comes late meets it here.
            connection.run(
                Command(prefix: ["ROLLBACK"], nil) { [weak self, weak connection] outcome in
                    limit.cancel()
                    guard let self, let connection else { return }
                    if case .rows = outcome { release(connection) } else { discard(connection) }
                })
        }
        guard connection.count > 0 else { return rollBack() }
        connection.cancelCurrent(rollBack)
        cancelAgain(connection)
    }

    /// A cancel request that reaches the server before the statement does is lost: asks again while anything runs
    /// ahead of the ROLLBACK.
    private func cancelAgain(_ connection: Connection) {
        loop.schedule(after: 100_000_000) { [weak self, weak connection] in
            guard let self, let connection, connection.phase == .ready, connection.count > 1 else { return }
            connection.cancelCurrent {}
            cancelAgain(connection)
        }
    }

    private func discard(_ connection: Connection) {
        all.removeAll { $0 === connection }
        connection.close()
        if !waiting.isEmpty { openAnother() }
    }

    // MARK: opening and closing

    private func openAnother() {
        let opening = all.count { $0.phase == .connecting || $0.phase == .settingUp }
        guard !isClosed, opening < waiting.count - gone, all.count < configuration.ownedLimit else { return }
        guard backoff.allows(loop) else { return retryLater() }
        let connection = Connection(
            loop: loop, configuration: configuration, hosts: hosts, buffer: buffer, owner: self)
        all.append(connection)
        connection.connect()
    }

    private func retryLater() {
        guard retryTimer == nil, !waiting.isEmpty else { return }
        retryTimer = loop.schedule(after: backoff.delay()) { [weak self] in
            guard let self else { return }
            retryTimer = nil
            openAnother()
        }
    }

    private func startIdleTimer() {
        guard idleTimer == nil, !idle.isEmpty else { return }
        idleTimer = loop.schedule(after: configuration.idleLimit.nanoseconds) { [weak self] in
            guard let self else { return }
            idleTimer = nil
            let oldest = loop.now &- min(loop.now, configuration.idleLimit.nanoseconds)
            for connection in idle where connection.idleSince <= oldest { discard(connection) }
            idle.removeAll { $0.phase == .closed }
            startIdleTimer()
        }
    }

    private func fail(_ request: Request, _ error: PostgresError) {
        guard !request.isDone else { return }
        request.error = error
        request.waiter.resume()
    }

    func waitedTooLong() -> PostgresError {
        if let error = backoff.lastError { return error }
        guard all.contains(where: { $0.phase == .ready }) else { return .notConnectedYet }
        return PostgresError(
            .poolExhausted, "all connections for writes were busy for as long as a statement may wait")
    }

    // MARK: ConnectionOwner

    func connectionIsReady(_ connection: Connection) {
        backoff.succeeded()
        release(connection)
        if !waiting.isEmpty { openAnother() }
    }

    func connection(_ connection: Connection, finished command: Command, _ outcome: Command.Outcome) {
        if case .failed(let error, _) = outcome, error.isReadOnlyServer, !command.isReadOnly { leaveReadOnlyServer() }
        command.finish(outcome)
    }

    func connection(
        _ connection: Connection, wasLost error: PostgresError, unfinished: [Command], wasReady: Bool
    ) {
        all.removeAll { $0 === connection }
        idle.removeAll { $0 === connection }
        if !wasReady { backoff.failed(error, loop) }
        unfinished.forEach { $0.fail(error) }
        if !waiting.isEmpty { retryLater() }
    }
}
