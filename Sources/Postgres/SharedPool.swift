import Core

/// The connections that plain reads share.
///
/// Reads gather during a turn of the loop and leave together at its end, for one connection as long as it has little to
/// do, else for the one with the least. There are two lanes. Fast reads queue behind one another. A read whose statement
/// is known to be slow waits for a connection that it then has to itself, and some connections are never given to such
/// reads. Where a read turns out to be slow, nothing follows it: new reads go elsewhere, and those that are behind it
/// already are sent once more elsewhere, the first outcome counts. When that leaves no connection for fast reads, the
/// slow read that began last is cancelled and begins anew in its own lane. So `read` is for statements without side
/// effects.
///
/// One long run makes a statement count as slow, and may have been the machine's fault. So that its reads do not wait for
/// the end of others that are slow indeed, one of them is tried as a fast one now and then.
///
/// Where everything is slow because the machine has too much to do, moving reads would only add to it: in the long run
/// at most one read in ten is sent once more.
final class SharedPool: ConnectionOwner {
    private let loop: Loop
    private let configuration: DatabaseConfiguration
    private let hosts: Hosts
    private let buffer: ParameterBuffer
    private var connections: [Connection] = []
    private var fastLane = Queue<Command>()
    private var slowLane = Queue<Command>()
    private var costs: ReadCosts
    private var turnEnd: Loop.TurnEnd?
    private var timer: Loop.Timer?
    private var backoff = Backoff()
    private var isClosed = false
    private let slowRead: UInt64
    private let depthLimit = 256
    /// Nanoseconds of work that are queued on one connection; the rest waits here, and for more connections.
    private var loadLimit: Double { Double(slowRead) * 8 }
    /// Up to which reads go to one connection though another has less to do.
    private var togetherLimit: Double { Double(slowRead) * 2 }
    /// A round is one implicit transaction: it holds its locks to its end, and an error skips the rest of it.
    private let roundLimit = 16
    /// How many connections there may be, and how many of them slow reads may hold.
    private let limit: Int
    private let slowLimit: Int
    /// How many reads may be sent once more now: what two full connections hold, then a tenth of the reads that end.
    private var movesLeft: Double = 512
    private let mostMoves: Double = 512
    /// When a read of a statement that counts as slow may be tried as a fast one again.
    private var nextTrial: UInt64 = 0

    init(loop: Loop, configuration: DatabaseConfiguration, hosts: Hosts, buffer: ParameterBuffer) {
        self.loop = loop
        self.hosts = hosts
        self.configuration = configuration
        self.buffer = buffer
        slowRead = configuration.slowRead.nanoseconds
        limit = max(configuration.sharedLimit, configuration.sharedConnections, 1)
        slowLimit = limit == 1 ? 0 : max(1, limit - max(configuration.sharedConnections, 1))
        costs = ReadCosts(limit: configuration.preparedLimit * 4)
        turnEnd = loop.atTurnEnd { [weak self] in self?.dispatch() }
    }

    deinit {
        turnEnd?.cancel()
        timer?.cancel()
    }

    func run(_ command: Command) async throws -> Rows {
        try enter(command)
        do { try await command.waiter.wait() } catch {
            // Cancelled: if the read still runs after a while, the timer cancels it on the server.
            command.isAbandoned = true
            throw error
        }
        return try command.rows()
    }

    private func enter(_ command: Command) throws(PostgresError) {
        guard !isClosed else { throw PostgresError(.closed, "the database is closed") }
        command.since = loop.now
        if let statement = command.statement { command.cost = costs.find(statement) }
        append(command)
    }

    /// Makes every connection anew, each as soon as it is idle.
    func renew() {
        for connection in connections {
            connection.isOutdated = true
            if connection.isIdle { remove(connection) }
        }
    }

    /// Runs reads that leave together.
    func run(_ commands: [Command]) async throws -> [Rows] {
        for command in commands { try enter(command) }
        do {
            for command in commands { try await command.waiter.wait() }
        } catch {
            for command in commands { command.isAbandoned = true }
            throw error
        }
        return try commands.map { try $0.rows() }
    }

    func close() {
        isClosed = true
        turnEnd?.cancel()
        timer?.cancel()
        let open = connections
        connections = []
        var unfinished = fastLane.removeAll() + slowLane.removeAll()
        for connection in open {
            unfinished += connection.commands
            connection.close()
        }
        for command in unfinished where command.onDone == nil && !command.isDone {
            command.fail(PostgresError(.closed, "the database was closed"))
        }
    }

    // MARK: dealing out

    private func dispatch() {
        guard !fastLane.isEmpty || !slowLane.isEmpty else { return }
        dispatchSlow()
        dispatchFast()
        if connections.count < limit, wantsAnother() { openAnother() }
        startTimer()
    }

    private func dispatchFast() {
        var touched = false
        while let command = fastLane.first {
            if command.isDone || command.isSlow && command.copies > 0 {
                // Answered, or running, where it was sent before.
                drop(&fastLane)
            } else if belongsInSlowLane(command) {
                drop(&fastLane)
                append(command)
            } else if let connection = connection(for: command) {
                drop(&fastLane)
                // One that others' errors have skipped before is not put at their mercy again.
                if command.skips > 1 { endRound(connection) }
                groupBeforeSending(command, connection)
                send(command, connection)
                if command.skips > 1 || connection.roundLength >= roundLimit { endRound(connection) }
                touched = true
            } else {
                break
            }
        }
        if touched { connections.forEach { endRound($0) } }
    }

    /// The server answers a round at its end, in one piece, which costs both sides a third less than an answer for
    /// each read. Reads whose statements are known to be fast go in such groups, of a millisecond at most; any other
    /// read is a group of its own, so that nothing waits for it that could be answered.
    private func groupBeforeSending(_ command: Command, _ connection: Connection) {
        let isKnown = isSure(command)
        let estimate = command.cost?.typical ?? 0
        if !isKnown || connection.groupLoad + estimate > 1_000_000 {
            connection.requestFlush()
            connection.groupLoad = 0
            connection.group += 1
        }
        connection.groupLoad += isKnown ? estimate : 1_000_000
        command.group = connection.group
    }

    /// Whether it can't be told which of the reads of its group a connection runs.
    private func isHeadUncertain(_ connection: Connection) -> Bool {
        let commands = connection.commands
        return commands.count > 1 && commands[0].group == commands[1].group
    }

    private func dispatchSlow() {
        while let command = slowLane.first {
            if command.isDone || command.isSlow && command.copies > 0 {
                drop(&slowLane)
                continue
            }
            let free = connections.filter { $0.phase == .ready && !isHeld($0) && !$0.isOutdated }
            guard connections.count(where: { isHeld($0) }) < slowLimit, free.count > limit - slowLimit,
                let connection = free.min(by: { $0.load < $1.load })
            else { return }
            // Where it has something to do yet, nothing more is added, and the slow read gets it afterwards.
            connection.isTaken = true
            guard connection.isIdle else { continue }
            drop(&slowLane)
            connection.group += 1
            command.group = connection.group
            send(command, connection)
            connection.endRound()
        }
    }

    private func endRound(_ connection: Connection) {
        connection.endRound()
        connection.groupLoad = 0
        connection.group += 1
    }

    private func send(_ command: Command, _ connection: Connection) {
        let count = connection.count
        command.copies += 1
        command.estimate = max(command.cost?.typical ?? 0, 10_000)
        connection.load += command.estimate
        if !isSure(command) { connection.hasUnsure = true }
        connection.send(command)
        // Its parameters were refused.
        if connection.phase == .ready, connection.count == count { settle(command, connection) }
    }

    /// A command is no longer in flight on this connection.
    private func settle(_ command: Command, _ connection: Connection) {
        command.copies -= 1
        connection.load = connection.count == 0 ? 0 : connection.load - command.estimate
        if connection.count == 0 {
            connection.isTaken = false
            connection.hasUnsure = false
        }
    }

    private func drop(_ lane: inout Queue<Command>) { lane.popFirst()?.isInBacklog = false }

    private func belongsInSlowLane(_ command: Command) -> Bool {
        guard slowLimit > 0 else { return false }
        return isSlowItself(command) || !command.isTrial && (command.cost?.typical ?? 0) > Double(patience)
    }

    /// Not by what is known of its statement, but by its own run.
    private func isSlowItself(_ command: Command) -> Bool { command.isSlow || command.kills > 0 }

    /// Whether what is known of a read's statement holds for it.
    private func isSure(_ read: Command) -> Bool {
        read.moves == 0 && read.failures == 0 && !read.isTrial && read.cost?.isKnown == true
    }

    /// The connection for a fast read: the first one on which it would not wait for long, since the more reads go
    /// together, the less each costs; else the one on which it would wait for the shortest time. Reads that may turn
    /// out to be slow do not go together, and nothing goes to them while there is another way. Of the connections that
    /// slow reads once called for, none is used while the usual number has room.
    private func connection(for read: Command) -> Connection? {
        let isSure = isSure(read)
        var best: Connection?
        var seen = 0
        for connection in connections
        where connection.phase == .ready && !isHeld(connection) && !connection.isOutdated {
            if seen >= configuration.sharedConnections, best != nil { return best }
            seen += 1
            guard connection.count < depthLimit else { continue }
            if isSure, !connection.hasUnsure, connection.load < togetherLimit { return connection }
            if connection.load < best?.load ?? loadLimit { best = connection }
        }
        return best
    }

    /// How long a read runs before it counts as slow: longer where all are slow, since the machine is busy then.
    private var patience: UInt64 { max(slowRead, UInt64(min(costs.mean * 8, Double(slowRead) * 8))) }

    /// A slow read holds the connection, so that nothing may follow.
    private func isHeld(_ connection: Connection) -> Bool {
        connection.isTaken || slowLimit > 0 && connection.headAge > patience
    }

    /// Fast reads want their connections beside those that slow ones hold, and one more where they would wait for much
    /// longer than a read is to take.
    private func wantsAnother() -> Bool {
        var held = 0
        var least = Double.infinity
        for connection in connections {
            if isHeld(connection) { held += 1 } else { least = min(least, connection.load) }
        }
        let slow = min(slowLane.count, max(0, slowLimit - held))
        if connections.count - held < max(configuration.sharedConnections, 1) + slow { return true }
        return least.isFinite && least >= loadLimit
    }

    private func openAnother() {
        guard !isClosed, backoff.allows(loop) else { return }
        let connection = Connection(
            loop: loop, configuration: configuration, hosts: hosts, buffer: buffer, isShared: true, owner: self)
        connections.append(connection)
        connection.connect()
    }

    // MARK: the watch over slow reads, waiting ones and idle connections

    private func startTimer() {
        guard timer == nil, !isClosed else { return }
        let busy = !fastLane.isEmpty || !slowLane.isEmpty || connections.contains { $0.count > 0 }
        guard busy || connections.count > configuration.sharedConnections else { return }
        timer = loop.schedule(after: busy ? slowRead : 1_000_000_000) { [weak self] in
            guard let self else { return }
            timer = nil
            inspect()
            startTimer()
        }
    }

    private func inspect() {
        let youngest = mustGiveWay()
        var running: [ObjectIdentifier] = []
        for connection in connections where connection.phase == .ready {
            // The answer may be here already, where this turn was long.
            if connection.headAge > patience { connection.receive() }
            guard connection.phase == .ready else { continue }
            if connection.headAge > patience {
                let limit = configuration.statementTimeout.nanoseconds
                if limit > 0, connection.headAge > limit + 5_000_000_000 {
                    connection.lose(PostgresError(.timeout, "PostgreSQL did not end a read at its statement_timeout"))
                    continue
                }
                guard let first = connection.first else { continue }
                if slowLimit > 0, connection !== youngest, isHeadUncertain(connection) {
                    // Each goes once more, in a group of its own, where the slow one shows itself.
                    let group = connection.commands.filter { $0.group == first.group }
                    sendElsewhere(connection.commands)
                    // All of them are answered or running elsewhere: what is left here is of no use.
                    if group.allSatisfy({ $0.isDone || $0.copies > 1 }), connection.cancels.underWay == 0 {
                        connection.cancelCurrent()
                    }
                    continue
                }
                first.isSlow = true
                if let cost = first.cost { costs.record(cost, connection.headAge, slow: patience) }
                if connection === youngest {
                    // What is behind it runs as soon as it is gone; itself it comes back, as after a stray request.
                    if connection.cancels.underWay == 0 { connection.cancelCurrent() }
                    continue
                }
                if slowLimit > 0 { sendElsewhere(connection.commandsBehindFirst) }
                // Nobody waits for it, or another connection runs it as well.
                let isNeedless = first.isDone || running.contains(ObjectIdentifier(first))
                running.append(ObjectIdentifier(first))
                if isNeedless, connection.cancels.underWay == 0 { connection.cancelCurrent() }
            } else if connection.isIdle {
                let surplus = connections.count > configuration.sharedConnections
                let idle = loop.now &- connection.idleSince > configuration.idleLimit.nanoseconds
                if surplus && idle || connection.isBloated || connection.isOutdated { remove(connection) }
            }
        }
        expire(&fastLane)
        expire(&slowLane)
        tryOneThatWaits()
    }

    /// Of the reads that wait only because their statement counts as slow, for longer than it is thought to take: one
    /// goes to the fast lane, of the statement that is thought to be the fastest. Should it be slow indeed, it gives
    /// way like any other that turns out so; and trials have pauses, so that fast reads keep most of their connections'
    /// time.
    private func tryOneThatWaits() {
        let now = loop.now
        guard !slowLane.isEmpty, now >= nextTrial else { return }
        nextTrial = now + slowRead * 8
        let waiting = slowLane.elements.filter { read in
            guard !read.isDone, read.copies == 0, !isSlowItself(read), let cost = read.cost else { return false }
            return Double(now - min(now, max(read.since, cost.triedAt))) > cost.typical
        }
        guard let read = waiting.min(by: { ($0.cost?.typical ?? 0) < ($1.cost?.typical ?? 0) }) else { return }
        read.cost?.triedAt = now
        read.isTrial = true
        slowLane.removeAll { $0 === read }
        fastLane.prepend(contentsOf: [read])
    }

    /// Where slow reads hold all connections that there may be: the one whose read began last, of those that are not in
    /// the slow lane.
    private func mustGiveWay() -> Connection? {
        guard slowLimit > 0, connections.count >= limit, connections.allSatisfy({ isHeld($0) }) else { return nil }
        return connections.filter { !$0.isTaken }.min { $0.headAge < $1.headAge }
    }

    private func expire(_ lane: inout Queue<Command>) {
        let oldest = loop.now &- min(loop.now, configuration.waitBound.nanoseconds)
        while let command = lane.first, command.isDone || command.since < oldest {
            drop(&lane)
            guard !command.isDone, command.copies == 0 else { continue }
            command.fail(waitedTooLong())
        }
    }

    private func waitedTooLong() -> PostgresError {
        guard connections.contains(where: { $0.phase == .ready }) else { return backoff.lastError ?? .notConnectedYet }
        return PostgresError(.poolExhausted, "all connections for reads were busy for as long as a read may wait")
    }

    /// Sends reads that are stuck behind a slow one once more.
    private func sendElsewhere(_ stuck: [Command]) {
        let movable = stuck.filter {
            // Where it was sent last it may be about to run: each time it is given twice as long.
            !$0.isDone && !$0.isSlow && $0.onDone == nil && !$0.isInBacklog
                && loop.now > $0.since && loop.now - $0.since > slowRead << UInt64(min($0.moves, 10))
        }.prefix(Int(movesLeft))
        guard !movable.isEmpty else { return }
        movesLeft -= Double(movable.count)
        for command in movable {
            command.moves += 1
            command.since = loop.now
            command.isInBacklog = true
        }
        fastLane.prepend(contentsOf: Array(movable))
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
        settle(command, connection)
        if case .rows = outcome, let cost = command.cost {
            // The time may be our own, that of a long turn: slow is only what the timer found running.
            let time = command.isSlow ? command.ran : min(command.ran, patience - 1)
            costs.record(cost, time, slow: patience, isTrial: command.isTrial)
        }
        guard !command.isDone else { return }
        movesLeft = min(movesLeft + 0.1, mostMoves)
        switch outcome {
        case .rows: break
        case .failed(let error, let wasStale):
            let isStray = connection.mayBeStray(error)
            if isStray, command.copies > 0 { return }
            command.failures += 1
            guard command.failures < 8 else { break }
            if wasStale || isStray { return sendAgain(command) }
            if error.isRetryableConflict {
                // Alone in its round it holds no locks for others' sake.
                command.skips = 2
                return sendAgain(command)
            }
        case .skipped:
            command.skips += 1
            return sendAgain(command)
        }
        command.finish(outcome)
    }

    private func sendAgain(_ command: Command) {
        if command.copies == 0 { append(command) }
    }

    private func append(_ command: Command) {
        guard !command.isInBacklog else { return }
        command.isInBacklog = true
        if belongsInSlowLane(command) { slowLane.append(command) } else { fastLane.append(command) }
    }

    func connection(
        _ connection: Connection, wasLost error: PostgresError, unfinished: [Command], wasReady: Bool
    ) {
        connections.removeAll { $0 === connection }
        if wasReady { backoff.succeeded() } else { backoff.failed(error, loop) }
        for (index, command) in unfinished.enumerated() {
            command.copies -= 1
            // The one that ran may be what ended the connection: it gets one more, and that one to itself.
            if index == 0, wasReady { command.kills += 1 } else { command.failures += 1 }
            guard !command.isDone, command.copies == 0 else { continue }
            if command.kills < 2, command.failures < 8 { append(command) } else { command.fail(error) }
        }
        startTimer()
    }
}
