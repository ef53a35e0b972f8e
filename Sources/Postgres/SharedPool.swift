import Core

/// The connections that plain reads share.
///
/// Reads gather during a turn of the loop and leave together at its end, dealt to the connections with the least in
/// flight. On a connection whose first read has run for longer than `slowRead`, nothing follows: new reads go
/// elsewhere, and those that are behind it already are sent once more elsewhere, the first outcome counts. So `read`
/// is for statements without side effects. Where everything is slow because the machine has too much to do, that would
/// only add to it: in the long run at most one read in ten is sent once more.
final class SharedPool: ConnectionOwner {
    private let loop: Loop
    private let configuration: DatabaseConfiguration
    private let buffer: ParameterBuffer
    private var connections: [Connection] = []
    private var backlog = Queue<Command>()
    private var turnEnd: Loop.TurnEnd?
    private var timer: Loop.Timer?
    private var backoff = Backoff()
    private var isClosed = false
    private let slowRead: UInt64
    private let depthLimit = 256
    /// How many reads may be sent once more now: what two full connections hold, then a tenth of the reads that end.
    private var movesLeft: Double = 512
    private let mostMoves: Double = 512

    init(loop: Loop, configuration: DatabaseConfiguration, buffer: ParameterBuffer) {
        self.loop = loop
        self.configuration = configuration
        self.buffer = buffer
        slowRead = configuration.slowRead.nanoseconds
        turnEnd = loop.atTurnEnd { [weak self] in self?.dispatch() }
    }

    deinit {
        turnEnd?.cancel()
        timer?.cancel()
    }

    func run(_ command: Command) async throws -> Rows {
        guard !isClosed else { throw PostgresError(.closed, "the database is closed") }
        command.since = loop.now
        append(command)
        do { try await command.waiter.wait() } catch {
            // Cancelled: if the read still runs after a while, the timer cancels it on the server.
            command.isAbandoned = true
            throw error
        }
        return try command.rows()
    }

    func close() {
        isClosed = true
        turnEnd?.cancel()
        timer?.cancel()
        let open = connections
        connections = []
        var unfinished = backlog.removeAll()
        for connection in open {
            if let first = connection.first { unfinished.append(first) }
            unfinished += connection.commandsBehindFirst
            connection.close()
        }
        for command in unfinished where command.onDone == nil && !command.isDone {
            command.fail(PostgresError(.closed, "the database was closed"))
        }
    }

    // MARK: dealing out

    private func dispatch() {
        guard !backlog.isEmpty else { return }
        var touched = false
        while let command = backlog.first {
            // Answered, or running, where it was sent before.
            if command.isDone || command.isSlow && command.copies > 0 {
                _ = backlog.popFirst()
                command.isInBacklog = false
                continue
            }
            guard let connection = leastBusy() else { break }
            _ = backlog.popFirst()
            command.isInBacklog = false
            command.copies += 1
            // What is sent must come back while later reads of the same round run.
            connection.requestFlush()
            connection.send(command)
            touched = true
        }
        if touched { connections.forEach { $0.endRound() } }
        if !backlog.isEmpty || connections.count < configuration.sharedConnections { openAnother() }
        startTimer()
    }

    private func leastBusy() -> Connection? {
        var best: Connection?
        var least = depthLimit
        for connection in connections
        where connection.phase == .ready && connection.count < least && !isSlow(connection) {
            best = connection
            least = connection.count
        }
        return best
    }

    private func isSlow(_ connection: Connection) -> Bool {
        connection.count > 0 && loop.now &- connection.headSince > slowRead
    }

    private func openAnother() {
        let fast = connections.count { $0.phase == .ready && !isSlow($0) }
        let opening = connections.count { $0.phase != .ready }
        let wanted = max(configuration.sharedConnections, 1)
        guard !isClosed, fast + opening < wanted, connections.count < max(configuration.sharedLimit, wanted),
            backoff.allows(loop)
        else { return }
        let connection = Connection(loop: loop, configuration: configuration, buffer: buffer, owner: self)
        connections.append(connection)
        connection.connect()
    }

    // MARK: the watch over slow reads, waiting ones and idle connections

    private func startTimer() {
        guard timer == nil, !isClosed else { return }
        let busy = !backlog.isEmpty || connections.contains { $0.count > 0 }
        guard busy || connections.count > configuration.sharedConnections else { return }
        timer = loop.schedule(after: busy ? slowRead : 1_000_000_000) { [weak self] in
            guard let self else { return }
            timer = nil
            inspect()
            startTimer()
        }
    }

    private func inspect() {
        var running: [ObjectIdentifier] = []
        for connection in connections where connection.phase == .ready {
            if isSlow(connection) {
                let limit = configuration.statementTimeout.nanoseconds
                if limit > 0, loop.now &- connection.headSince > limit + 5_000_000_000 {
                    connection.lose(PostgresError(.timeout, "PostgreSQL did not end a read at its statement_timeout"))
                    continue
                }
                sendElsewhere(connection.commandsBehindFirst)
                guard let first = connection.first else { continue }
                // Nobody waits for it, or another connection runs it as well.
                first.isSlow = true
                let isNeedless = first.isDone || running.contains(ObjectIdentifier(first))
                running.append(ObjectIdentifier(first))
                if isNeedless, connection.cancels.underWay == 0 { connection.cancelCurrent() }
            } else if connection.isIdle {
                let surplus = connections.count > configuration.sharedConnections
                let idle = loop.now &- connection.idleSince > configuration.idleLimit.nanoseconds
                if surplus && idle || connection.isBloated { remove(connection) }
            }
        }
        let oldest = loop.now &- min(loop.now, configuration.waitBound.nanoseconds)
        while let command = backlog.first, command.isDone || command.since < oldest {
            _ = backlog.popFirst()
            command.isInBacklog = false
            guard !command.isDone, command.copies == 0 else { continue }
            command.fail(waitedTooLong())
        }
    }

    private func waitedTooLong() -> PostgresError {
        if let error = backoff.lastError, !connections.contains(where: { $0.phase == .ready }) { return error }
        return PostgresError(.poolExhausted, "all connections for reads were busy for as long as a read may wait")
    }

    /// Sends reads that are stuck behind a slow one once more.
    private func sendElsewhere(_ stuck: [Command]) {
        let movable = stuck.filter {
            // Where it was sent last it may be about to run: each time it is given twice as long.
            !$0.isDone && !$0.isSlow && $0.onDone == nil && !$0.isInBacklog
                && loop.now &- $0.since > slowRead << UInt64(min($0.moves, 10))
        }.prefix(Int(movesLeft))
        guard !movable.isEmpty else { return }
        movesLeft -= Double(movable.count)
        for command in movable {
            command.moves += 1
            command.since = loop.now
            command.isInBacklog = true
        }
        backlog.prepend(contentsOf: Array(movable))
    }

    private func remove(_ connection: Connection) {
        connections.removeAll { $0 === connection }
        connection.close()
    }

    // MARK: ConnectionOwner

    func connectionIsReady(_ connection: Connection) {
        backoff.succeeded()
    }

    func connection(_ connection: Connection, finished command: Command, _ outcome: Command.Outcome) {
        command.copies -= 1
        guard !command.isDone else { return }
        movesLeft = min(movesLeft + 0.1, mostMoves)
        switch outcome {
        case .rows: break
        case .failed(let error, let wasStale):
            let isStray = connection.mayBeStray(error)
            if isStray, command.copies > 0 { return }
            command.failures += 1
            if wasStale || isStray, command.failures < 8 { return sendAgain(command) }
        case .skipped: return sendAgain(command)
        }
        command.finish(outcome)
    }

    private func sendAgain(_ command: Command) {
        if command.copies == 0 { append(command) }
    }

    private func append(_ command: Command) {
        guard !command.isInBacklog else { return }
        command.isInBacklog = true
        backlog.append(command)
    }

    func connection(
        _ connection: Connection, wasLost error: PostgresError, unfinished: [Command], wasReady: Bool
    ) {
        connections.removeAll { $0 === connection }
        if wasReady { backoff.succeeded() } else { backoff.failed(error, loop) }
        for command in unfinished {
            command.copies -= 1
            guard !command.isDone, command.copies == 0 else { continue }
            // A read may run twice; a read that ends its connection must not do so for ever.
            command.failures += 1
            if command.failures < 3 { append(command) } else { command.fail(error) }
        }
        startTimer()
    }
}
