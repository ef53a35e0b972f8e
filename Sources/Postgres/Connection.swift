import CLibPQ
import Core

/// What a connection tells the pool that it belongs to. Called on the worker's thread, outside of any task.
protocol ConnectionOwner: AnyObject {
    func connectionIsReady(_ connection: Connection)
    func connection(_ connection: Connection, finished command: Command, _ outcome: Command.Outcome)
    /// The connection is closed. `unfinished` is what was in flight, first to last; `wasReady` is false where it
    /// could not be made at all.
    func connection(
        _ connection: Connection, wasLost error: PostgresError, unfinished: [Command], wasReady: Bool)
}

/// One connection in pipeline mode: what is sent, what is awaited, which statements are prepared.
///
/// It knows nothing of tasks: commands go in, outcomes go to the owner. Each command is a few steps (statements ahead
/// of it, a Parse where needed, the statement), answered in order; the first error skips all up to the next sync.
final class Connection {
    enum Phase { case connecting, settingUp, ready, closed }

    let loop: Loop
    let configuration: DatabaseConfiguration
    weak var owner: (any ConnectionOwner)?
    var phase = Phase.connecting
    var handle: OpaquePointer?
    var watch: Loop.Watch?
    var connectTimer: Loop.Timer?
    /// COPY has the connection to itself; still true when it was left in the middle.
    var isCopying = false
    /// Resumed when the socket is ready, while a COPY waits for it.
    var copyWaiter: Waiter?
    /// Called for each notification.
    var onNotification: ((_ channel: String, _ payload: String) -> Void)?
    /// When it last had nothing to do.
    var idleSince: UInt64
    /// Since when the first command in flight has been the first.
    private(set) var headSince: UInt64 = 0
    /// A result was so large that libpq's buffer should be given back.
    private(set) var isBloated = false
    var cancels = CancelState()
    let buffer: ParameterBuffer
    private var inFlight = Queue<Sent>()
    private var prepared: PreparedStatements
    private var hasUnsynced = false

    init(loop: Loop, configuration: DatabaseConfiguration, buffer: ParameterBuffer, owner: any ConnectionOwner) {
        self.loop = loop
        self.configuration = configuration
        self.buffer = buffer
        self.owner = owner
        prepared = PreparedStatements(limit: configuration.preparedLimit)
        idleSince = loop.now
    }

    deinit {
        watch?.cancel()
        connectTimer?.cancel()
        if let handle { PQfinish(handle) }
    }

    var count: Int { inFlight.count }
    var isIdle: Bool { phase == .ready && inFlight.isEmpty && !isCopying }
    var isInTransaction: Bool {
        guard let handle else { return false }
        return PQtransactionStatus(handle) != PQTRANS_IDLE
    }
    var first: Command? { inFlight.first?.command }
    var commandsBehindFirst: [Command] { inFlight.elements.dropFirst().map(\.command) }

    // MARK: sending

    /// A command on its way.
    private struct Sent {
        let command: Command
        let steps: Int
        let parseStep: Int
        let name: String?
        var done = 0
        var endsRound = false
        var parseSucceeded = false
        var rows: Rows?
        var error: PostgresError?
    }

    /// Sends a command and the end of its round.
    func run(_ command: Command) {
        send(command)
        endRound()
    }

    /// Puts a command into libpq's buffer. It runs, at the latest, after `endRound()`.
    func send(_ command: Command) {
        guard let handle, phase != .closed else {
            return command.fail(PostgresError(.connectionLost(mayHaveRun: false), "the connection is closed"))
        }
        if command.statement != nil {
            do { try buffer.encode(command.parameters) } catch {
                return command.fail(error as? PostgresError ?? PostgresError(.parameter, "\(error)"))
            }
        }
        var ok = true
        var steps = 0
        func plain(_ sql: String) {
            ok = ok && PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1) == 1
            steps += 1
        }
        var parseStep = -1
        var name: String?
        command.prefix.forEach(plain)
        if let statement = command.statement {
            if PQtransactionStatus(handle) != PQTRANS_INERROR {
                prepared.takeDropped().forEach { plain("DEALLOCATE \($0)") }
            }
            func sendPrepared(_ name: String) -> Bool {
                PQsendQueryPrepared(
                    handle, name, buffer.count, buffer.values, buffer.lengths, buffer.formats, 1) == 1
            }
            switch prepared.find(statement) {
            case .prepared(let known):
                name = known
                ok = ok && sendPrepared(known)
            case .new(let new):
                name = new
                parseStep = steps
                steps += 1
                ok = ok && PQsendPrepare(handle, new, statement.text, 0, nil) == 1 && sendPrepared(new)
            case .uncertain:
                ok =
                    ok
                    && PQsendQueryParams(
                        handle, statement.text, buffer.count, nil, buffer.values, buffer.lengths, buffer.formats, 1)
                        == 1
            }
            steps += 1
            buffer.shrink()
        }
        if inFlight.isEmpty { headSince = loop.now }
        inFlight.append(Sent(command: command, steps: steps, parseStep: parseStep, name: name))
        hasUnsynced = true
        guard ok else {
            return lose(PostgresError(.connectionLost(mayHaveRun: false), PostgresError.message(of: handle)))
        }
    }

    /// Asks the server to answer what was sent so far without waiting for the end of the round.
    func requestFlush() {
        guard let handle, hasUnsynced else { return }
        PQsendFlushRequest(handle)
    }

    /// Ends a round: an error in it skips what follows up to here. Everything leaves for the server.
    func endRound() {
        guard let handle, hasUnsynced, phase != .closed else { return }
        hasUnsynced = false
        inFlight.updateLast { $0.endsRound = true }
        guard PQpipelineSync(handle) == 1 else {
            return lose(PostgresError(.connectionLost(mayHaveRun: true), PostgresError.message(of: handle)))
        }
        flush()
    }

    func flush() {
        guard let handle else { return }
        // A failed write shows itself when reading, with the server's last words if there are any.
        watch?.update(PQflush(handle) == 1 ? [.read, .write] : .read)
    }

    // MARK: receiving

    func handle(_ readiness: Loop.Readiness) {
        if phase == .connecting { return continueConnecting() }
        if let waiter = copyWaiter {
            watch?.update([])
            return waiter.resume()
        }
        receive()
    }

    /// Takes in what has arrived. Also finds out whether an idle connection is gone.
    func receive() {
        guard let handle else { return }
        let isAlive = PQconsumeInput(handle) == 1
        takeResults()
        guard self.handle != nil else { return }
        takeNotifications()
        guard self.handle != nil else { return }
        guard isAlive else {
            return lose(PostgresError(.connectionLost(mayHaveRun: true), PostgresError.message(of: handle)))
        }
        if watch?.interest.contains(.write) == true { flush() }
    }

    private func takeResults() {
        var emptyAnswers = 0
        while let handle, !inFlight.isEmpty, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                // One nil ends the results of each step. More mean that libpq awaits nothing, though we do.
                emptyAnswers += 1
                if emptyAnswers > 2 { return }
                continue
            }
            emptyAnswers = 0
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: stepDone(result)
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                finishFirst()
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                inFlight.updateFirst { $0.done += 1 }
                finishFirstUnlessItEndsRound()
            case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
                let error = PostgresError(result: result)
                PQclear(result)
                inFlight.updateFirst {
                    // An error when all steps are done is that of the commit at the end of the round.
                    $0.done += $0.done < $0.steps ? 1 : 0
                    if $0.error == nil { $0.error = error }
                }
                // Whether what was under way took effect, such an error does not say.
                if error.isFatal { return lose(PostgresError(.connectionLost(mayHaveRun: true), error.message)) }
                finishFirstUnlessItEndsRound()
            default:
                PQclear(result)
                lose(PostgresError(.parameter, "COPY and replication have calls of their own"))
            }
        }
    }

    private func stepDone(_ result: OpaquePointer) {
        guard let sent = inFlight.first else { return PQclear(result) }
        if sent.done == sent.steps - 1 {
            let rows = Rows(result)
            if rows.memorySize > 4 << 20 { isBloated = true }
            inFlight.updateFirst {
                $0.rows = rows
                $0.done += 1
            }
        } else {
            PQclear(result)
            inFlight.updateFirst { $0.done += 1 }
        }
        if sent.done == sent.parseStep, let statement = sent.command.statement, let name = sent.name {
            inFlight.updateFirst { $0.parseSucceeded = true }
            prepared.settle(statement, name: name, succeeded: true)
        }
        finishFirstUnlessItEndsRound()
    }

    /// A write is not acknowledged before the round's end: only there is it committed.
    private func finishFirstUnlessItEndsRound() {
        guard let sent = inFlight.first, !sent.endsRound, sent.done == sent.steps else { return }
        finishFirst()
    }

    private func finishFirst() {
        guard let sent = inFlight.popFirst() else { return }
        headSince = loop.now
        if inFlight.isEmpty { idleSince = loop.now }
        let outcome: Command.Outcome
        if let error = sent.error {
            let wasPrepared = sent.name != nil && sent.parseStep < 0
            outcome = .failed(error, wasStale: wasPrepared && error.meansPlanIsStale)
        } else if let rows = sent.rows {
            outcome = .rows(rows)
        } else {
            outcome = .skipped
        }
        if let statement = sent.command.statement, let name = sent.name {
            if case .failed(let error, wasStale: true) = outcome {
                prepared.forget(statement, name: name, serverForgot: error.sqlState == "26000")
            } else if sent.rows == nil, sent.parseStep >= 0 {
                prepared.settle(statement, name: name, succeeded: sent.parseSucceeded)
            }
        }
        if sent.command.onDone != nil {
            sent.command.finish(outcome)
        } else {
            owner?.connection(self, finished: sent.command, outcome)
        }
    }

    private func takeNotifications() {
        while let handle, let notification = PQnotifies(handle) {
            let channel = String(cString: notification.pointee.relname)
            let payload = String(cString: notification.pointee.extra)
            PQfreemem(notification)
            onNotification?(channel, payload)
        }
    }

    // MARK: the end

    /// Closes the connection and hands back what was in flight.
    func lose(_ error: PostgresError) {
        guard phase != .closed else { return }
        let wasReady = phase == .ready
        var error = error
        // The server's last words say more than "connection closed".
        if let said = inFlight.first?.error {
            error.message = said.message
            error.sqlState = said.sqlState
        }
        let unfinished = inFlight.elements.map(\.command)
        close()
        unfinished.filter { $0.onDone != nil }.forEach { $0.fail(error) }
        owner?.connection(
            self, wasLost: error, unfinished: unfinished.filter { $0.onDone == nil }, wasReady: wasReady)
    }

    /// Closes the connection without telling the owner. What is in flight gets no outcome.
    func close() {
        guard phase != .closed else { return }
        phase = .closed
        connectTimer?.cancel()
        watch?.cancel()
        watch = nil
        _ = inFlight.removeAll()
        if let handle { PQfinish(handle) }
        handle = nil
        copyWaiter?.resume()
        copyWaiter = nil
    }
}
