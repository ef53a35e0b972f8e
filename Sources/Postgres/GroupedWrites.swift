import Core

/// Small writes that share their commits.
///
/// A commit, and waking the server for one, costs more than most statements in front of it. While a round is under way,
/// writes gather; what has gathered is the next round, which is one transaction. Each write is acknowledged only behind
/// that commit. A write that no others are about goes alone, at once. A further round runs beside the one under way only
/// where there are enough writes to fill it: the longer rounds are, the less each write costs.
///
/// Where one of a round fails, nothing of the round has happened, and each of its writes is run again by itself: none
/// suffers from another's error. A round does not wait for locks for long, since everything in it would wait too: after
/// `lockWait` its writes go on by themselves, where each may wait as long as it has to, and for a while no rounds are
/// made. A round takes its rows in one order, so that rounds don't lock one another out.
final class GroupedWrites {
    private let loop: Loop
    private let configuration: DatabaseConfiguration
    /// Its connections' `lock_timeout` is `lockWait`.
    private let pool: OwnedPool
    /// Where a write goes by itself.
    private let owned: OwnedPool
    private var waiting = Queue<Entry>()
    private var turnEnd: Loop.TurnEnd?
    private var timer: Loop.Timer?
    /// How many rounds are under way.
    private var running = 0
    /// Until then writes go by themselves.
    private var pausedUntil: UInt64 = 0
    private var isClosed = false

    private let roundLimit = 32
    private let pause: UInt64 = 1_000_000_000
    /// A write with more bytes of parameters than this is no small one.
    private let sizeLimit = 64 << 10
    private static let lockWait = "50ms"

    private final class Entry {
        let statement: Statement
        let parameters: [Parameter]
        let key: UInt64
        let since: UInt64
        let waiter = Waiter()
        var result: Result<Rows, any Error>?
        var isAbandoned = false
        /// What runs it by itself.
        var task: Task<Void, Never>?

        init(_ statement: Statement, _ parameters: [Parameter], key: UInt64, since: UInt64) {
            self.statement = statement
            self.parameters = parameters
            self.key = key
            self.since = since
        }

        func finish(_ result: Result<Rows, any Error>) {
            guard self.result == nil else { return }
            self.result = result
            waiter.resume()
        }
    }

    init(
        loop: Loop, configuration: DatabaseConfiguration, hosts: Hosts, buffer: ParameterBuffer, owned: OwnedPool
    ) {
        self.loop = loop
        self.configuration = configuration
        self.owned = owned
        var own = configuration
        own.ownedLimit = configuration.groupedConnections
        own.settings["lock_timeout"] = Self.lockWait
        pool = OwnedPool(loop: loop, configuration: own, hosts: hosts, buffer: buffer)
        turnEnd = loop.atTurnEnd { [weak self] in self?.dispatch() }
    }

    deinit {
        turnEnd?.cancel()
        timer?.cancel()
    }

    /// Makes every connection anew, each as soon as it is idle.
    func renew() { pool.renew() }

    /// - Parameter key: which row it is about.
    func run(_ statement: Statement, _ parameters: [Parameter], key: UInt64) async throws -> Rows {
        guard configuration.groupedConnections > 0, !isClosed, loop.now >= pausedUntil,
            parameters.reduce(0, { $0 + $1.size }) <= sizeLimit
        else { return try await owned.write(statement, parameters) }
        let entry = Entry(statement, parameters, key: key, since: loop.now)
        waiting.append(entry)
        do { try await entry.waiter.wait() } catch {
            entry.isAbandoned = true
            entry.task?.cancel()
            throw error
        }
        guard let result = entry.result else { throw PostgresError(.closed, "the database was closed") }
        return try result.get()
    }

    func close() {
        isClosed = true
        turnEnd?.cancel()
        timer?.cancel()
        for entry in waiting.removeAll() {
            entry.finish(.failure(PostgresError(.closed, "the database was closed")))
        }
        pool.close()
    }

    // MARK: rounds

    private func dispatch() {
        while running < configuration.groupedConnections, !waiting.isEmpty,
            running == 0 || waiting.count >= roundLimit
        {
            var round: [Entry] = []
            while round.count < roundLimit, let entry = waiting.popFirst() {
                if !entry.isAbandoned, entry.result == nil { round.append(entry) }
            }
            guard !round.isEmpty else { return }
            if loop.now < pausedUntil {
                round.forEach(runAlone)
                continue
            }
            round.sort { $0.key < $1.key }
            running += 1
            loop.spawn { [self] in
                await run(round)
                running -= 1
            }
        }
        if !waiting.isEmpty { startTimer() }
    }

    private func run(_ round: [Entry]) async {
        let connection: Connection
        do { connection = try await pool.acquire() } catch {
            return round.forEach { $0.finish(.failure(error)) }
        }
        let outcomes = await Self.outcomes(of: round, on: connection)
        pool.release(connection)
        var failure: PostgresError?
        for case .failed(let error, _)? in outcomes where error.kind != .parameter {
            failure = error
            break
        }
        guard let failure else {
            for (entry, outcome) in zip(round, outcomes) {
                switch outcome {
                case .rows(let rows)?: entry.finish(.success(rows))
                // What can't be sent is not part of the round.
                case .failed(let error, _)?: entry.finish(.failure(error))
                case .skipped?, nil: runAlone(entry)
                }
            }
            return
        }
        if failure.kind == .connectionLost(mayHaveRun: true) {
            return round.forEach { $0.finish(.failure(failure)) }
        }
        if failure.isLockTimeout { pausedUntil = loop.now &+ pause }
        round.forEach(runAlone)
    }

    /// Sends a round and waits for its end, which is its commit: outcomes in the order of its writes.
    private static func outcomes(of round: [Entry], on connection: Connection) async -> [Command.Outcome?] {
        final class Outcomes {
            var all: [Command.Outcome?]
            var left: Int
            init(_ count: Int) {
                all = Array(repeating: nil, count: count)
                left = count
            }
        }
        let outcomes = Outcomes(round.count)
        let done = Waiter()
        for (index, entry) in round.enumerated() {
            connection.send(
                Command(entry.statement, entry.parameters) { outcome in
                    outcomes.all[index] = outcome
                    outcomes.left -= 1
                    if outcomes.left == 0 { done.resume() }
                })
        }
        connection.endRound()
        try? await done.wait()
        return outcomes.all
    }

    private func runAlone(_ entry: Entry) {
        guard !entry.isAbandoned, entry.result == nil else { return }
        entry.task = loop.spawn { [owned] in
            do { entry.finish(.success(try await owned.write(entry.statement, entry.parameters))) } catch {
                entry.finish(.failure(error))
            }
        }
    }

    /// Whoever has waited for a round for longer than the bound fails, as those do who wait for a connection.
    private func startTimer() {
        guard timer == nil else { return }
        timer = loop.schedule(after: configuration.waitBound.nanoseconds) { [weak self] in
            guard let self else { return }
            timer = nil
            let oldest = loop.now &- min(loop.now, configuration.waitBound.nanoseconds)
            while let first = waiting.first, first.since <= oldest || first.isAbandoned {
                _ = waiting.popFirst()
                first.finish(.failure(pool.waitedTooLong()))
            }
            if !waiting.isEmpty { startTimer() }
        }
    }
}
