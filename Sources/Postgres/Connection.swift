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
/// It knows nothing of tasks: commands go in, outcomes go to the owner. `Pipeline` keeps what is in flight.
final class Connection {
    enum Phase { case connecting, settingUp, ready, closed }

    let loop: Loop
    let configuration: DatabaseConfiguration
    let hosts: Hosts
    /// Where it is being made, or was made to.
    var host: Hosts.Candidate?
    /// The places to try after it, how long each may take, and why the last one did not serve.
    var candidatesLeft: ArraySlice<Hosts.Candidate> = []
    var connectLimit: UInt64 = 0
    var connectingError: PostgresError?
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
    private var headSince: UInt64 = 0
    /// A result was so large that libpq's buffer should be given back.
    private(set) var isBloated = false
    /// Why it is closed.
    private(set) var closedBy: PostgresError?
    var cancels = CancelState()
    /// Of a result that comes in pieces.
    private var incoming: IncomingResult
    let buffer: ParameterBuffer
    /// What the server says outside of answers, such as why it ends the connection.
    let notices = Notices()
    private var pipeline = Pipeline<Sent, Rows>()
    /// How many results have come, those of single steps included.
    private var resultCount: UInt64 = 0
    private var prepared: PreparedStatements

    /// For reads only: the server refuses writes on it.
    let isShared: Bool

    // What the shared pool keeps of a connection.
    /// Nanoseconds that what is in flight will take, as far as is known.
    var load: Double = 0
    /// The reads that are answered in one piece with the next one that is sent, and what they cost.
    var group: UInt64 = 0
    var groupLoad: Double = 0
    /// A read has it to itself.
    var isTaken = false
    /// Of what was sent since it was last idle, something may turn out to be slow.
    var hasUnsure = false
    /// To be closed as soon as it is idle.
    var isOutdated = false

    /// A command on its way, and the name of its prepared statement.
    private struct Sent {
        let command: Command
        let name: String?
    }

    init(
        loop: Loop, configuration: DatabaseConfiguration, hosts: Hosts, buffer: ParameterBuffer, isShared: Bool = false,
        owner: any ConnectionOwner
    ) {
        self.loop = loop
        self.hosts = hosts
        self.isShared = isShared
        self.configuration = configuration
        self.buffer = buffer
        self.owner = owner
        prepared = PreparedStatements(limit: configuration.preparedLimit)
        incoming = IncomingResult(configuration.resultBudget)
        idleSince = loop.now
    }

    deinit {
        watch?.cancel()
        connectTimer?.cancel()
        _ = incoming.end()
        if let handle { PQfinish(handle) }
    }

    var count: Int { pipeline.count }
    var roundLength: Int { pipeline.roundLength }
    var isIdle: Bool { phase == .ready && pipeline.isEmpty && !isCopying }
    var isInTransaction: Bool {
        guard let handle else { return false }
        return PQtransactionStatus(handle) != PQTRANS_IDLE
    }
    var first: Command? { pipeline.first?.command }
    var commands: [Command] { pipeline.requests.map(\.command) }
    var commandsBehindFirst: [Command] { Array(commands.dropFirst()) }
    /// Nanoseconds for which the first command in flight has been the first.
    var headAge: UInt64 { !pipeline.isEmpty && loop.now > headSince ? loop.now - headSince : 0 }

    // MARK: sending

    /// Sends a command and the end of its round.
    func run(_ command: Command) {
        send(command)
        endRound()
    }

    /// Puts a command into libpq's buffer. `endRound()` must follow before anything is received.
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
        var parseStep: Int?
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
        if pipeline.isEmpty { headSince = Loop.monotonicNow() }
        pipeline.append(Sent(command: command, name: name), steps: steps, parseStep: parseStep)
        guard ok else {
            return lose(PostgresError(.connectionLost(mayHaveRun: false), PostgresError.message(of: handle)))
        }
    }

    /// Asks the server to answer what was sent so far without waiting for the end of the round.
    func requestFlush() {
        guard let handle, pipeline.roundLength > 0 else { return }
        PQsendFlushRequest(handle)
    }

    /// Ends a round: an error in it skips what follows up to here. Everything leaves for the server.
    func endRound() {
        guard let handle, phase != .closed, pipeline.endRound() else { return }
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
        let before = resultCount
        if incoming.isUnderWay { incoming.look(PQsocket(handle)) }
        let isAlive = PQconsumeInput(handle) == 1
        if incoming.isUnderWay { incoming.look(PQsocket(handle)) }
        takeResults()
        guard self.handle != nil else { return }
        if isShared, before == resultCount, !pipeline.isEmpty, let error = incoming.grow() {
            return giveUpFirst(error)
        }
        takeNotifications()
        guard self.handle != nil else { return }
        guard isAlive else {
            return lose(PostgresError(.connectionLost(mayHaveRun: true), PostgresError.message(of: handle)))
        }
        if watch?.interest.contains(.write) == true { flush() }
    }

    private func takeResults() {
        var emptyAnswers = 0
        while let handle, !pipeline.isEmpty, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                // One nil ends the results of each step. More mean that libpq awaits nothing, though we do.
                emptyAnswers += 1
                if emptyAnswers > 2 { return }
                continue
            }
            emptyAnswers = 0
            resultCount &+= 1
            let wasLarge = incoming.end()
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                guard pipeline.awaitsLastStep else {
                    PQclear(result)
                    receive(.result(nil))
                    continue
                }
                let rows = Rows(result)
                if rows.memorySize > 4 << 20 { isBloated = true }
                if wasLarge { rows.hold(of: configuration.resultBudget) }
                receive(.result(rows))
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                receive(.synced)
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                receive(.skipped)
            case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
                let error = PostgresError(result: result)
                PQclear(result)
                // Whether what was under way took effect, such an error does not say. One without a SQLSTATE is no
                // server's: libpq reports the end of the connection so where it notices it between two results.
                if error.isFatal || error.sqlState.isEmpty {
                    notices.fatal = error
                    return lose(PostgresError(.connectionLost(mayHaveRun: true), error.message))
                }
                receive(.failed(error))
            default:
                PQclear(result)
                lose(PostgresError(.parameter, "COPY and replication have calls of their own"))
            }
        }
    }

    private func receive(_ event: Pipeline<Sent, Rows>.Event) {
        guard let finished = pipeline.receive(event) else { return }
        let command = finished.request.command
        command.ran = loop.now > headSince ? loop.now - headSince : 0
        headSince = loop.now
        if pipeline.isEmpty { idleSince = loop.now }
        let outcome: Command.Outcome
        switch finished.ending {
        case .succeeded(let rows): outcome = .rows(rows)
        case .failed(let error):
            let wasPrepared = finished.request.name != nil && finished.parsed == nil
            outcome = .failed(error, wasStale: wasPrepared && error.meansPlanIsStale)
        case .skipped: outcome = .skipped
        }
        if let statement = command.statement, let name = finished.request.name {
            if let parsed = finished.parsed {
                prepared.settle(statement, name: name, succeeded: parsed)
            } else if case .failed(let error, wasStale: true) = outcome {
                prepared.forget(statement, name: name, serverForgot: error.sqlState == "26000")
            }
        }
        if command.onDone != nil {
            command.finish(outcome)
        } else {
            owner?.connection(self, finished: command, outcome)
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

    /// Ends what runs by ending the connection, and what has come of its result with it; what is behind it is for the
    /// owner to send again.
    private func giveUpFirst(_ error: PostgresError) {
        first?.fail(error)
        lose(PostgresError(.connectionLost(mayHaveRun: true), error.message))
    }

    // MARK: the end

    /// Closes the connection and hands back what was in flight.
    func lose(_ error: PostgresError) {
        guard phase != .closed else { return }
        let wasReady = phase == .ready
        var error = error
        // The server's last words say more than "connection closed".
        if let said = notices.fatal ?? pipeline.firstError {
            error.message = said.message
            error.sqlState = said.sqlState
        }
        closedBy = error
        let unfinished = commands
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
        _ = pipeline.removeAll()
        _ = incoming.end()
        if let handle { PQfinish(handle) }
        handle = nil
        copyWaiter?.resume()
        copyWaiter = nil
    }
}

/// Keeps what a server says while no answer is awaited: libpq hands it to a notice receiver.
final class Notices {
    /// Why the server ends the connection.
    var fatal: PostgresError?

    /// Takes the notices of a connection; must live as long as it.
    func attach(to handle: OpaquePointer) {
        PQsetNoticeReceiver(
            handle,
            { notices, result in
                guard let notices, let result else { return }
                let notice = PostgresError(result: result)
                if notice.isFatal { Unmanaged<Notices>.fromOpaque(notices).takeUnretainedValue().fatal = notice }
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
