import Core
import Postgres
import Store
import Wire

/// Does the jobs of the queue: one for each node, on one of its workers.
///
/// It takes what is due, as far as it has room, and renews its lease on what it runs; another node takes a job over
/// when its lease has ended. It is woken by NOTIFY, and looks by itself every `poll`.
public final class JobRunner {
    public struct Options: Sendable {
        /// Jobs that run at the same time.
        public var concurrency = 8
        /// How long a node may be silent before its jobs are taken over; it renews three times as often.
        public var lease = Duration.seconds(15)
        public var poll = Duration.seconds(3)
        /// How long jobs that are done or cancelled can be looked at.
        public var keepFinished = Duration.seconds(86_400)
        /// The same for those that have failed for good.
        public var keepDead = Duration.seconds(30 * 86_400)
        /// How many nodes may go away while they run one job: it may be what ends them.
        public var maxLosses = 5
        public init() {}
    }

    public let store: Store
    /// This node's name among the owners of jobs.
    public let node: String
    let options: Options
    private var kinds: [String: JobKind] = [:]
    private var running: [Int64: RunningJob] = [:]
    private lazy var scheduler = JobScheduler(store: store)
    private var loop: Loop { store.database.loop }

    private var wake = Waiter()
    private var isAwake = false
    private var isStopping = false
    /// When it looks by itself again, and when it forgets what is old, on the monotonic clock.
    private var nextPoll: UInt64 = 0
    private var nextTidying: UInt64 = 0
    private var taking: Task<Void, Never>?
    private var beating: Task<Void, Never>?
    private var idle: Waiter?

    /// - Parameter store: of the worker that it lives on.
    public init(store: Store, options: Options = Options()) {
        self.store = store
        self.options = options
        node = ObjectIdentifiers.make(12)
    }

    /// Has this node do jobs of a kind. Before `start`.
    public func register(_ kind: JobKind) { kinds[kind.name] = kind }

    /// Has a job made again and again. Before `start`.
    public func schedule(_ schedule: JobSchedule) { scheduler.sources.append { [schedule] } }

    /// The same for schedules that come and go: asked for at each poll.
    public func scheduleAll(_ source: @escaping () async throws -> [JobSchedule]) { scheduler.sources.append(source) }

    // MARK: life

    public func start() {
        let awaken = { [weak self] in self?.awaken() ?? () }
        store.database.listen(channel: JobQueue.channel, handler: { _ in awaken() }, onConnected: awaken)
        taking = loop.spawn { [self] in
            while !isStopping {
                isAwake = false
                wake = Waiter()
                await look()
                guard !isStopping else { break }
                let now = Loop.monotonicNow()
                let timer = loop.schedule(after: nextPoll > now ? nextPoll - now : 0, awaken)
                if isAwake { wake.resume() }
                try? await wake.wait()
                timer.cancel()
            }
        }
        beating = loop.spawn { [self] in
            while !Task.isCancelled {
                try? await loop.sleep(nanoseconds: options.lease.inNanoseconds / 3)
                if !Task.isCancelled { await beat() }
            }
        }
    }

    /// Takes no more jobs, waits for those that run, and gives back what is not done after `grace`: the next node
    /// begins it anew.
    public func stop(grace: Duration) async {
        isStopping = true
        awaken()
        let end = Loop.monotonicNow() + grace.inNanoseconds
        // Where the database does not answer, this would be never; what it gave meanwhile is another's with the lease.
        let impatience = loop.schedule(after: grace.inNanoseconds) { [taking] in taking?.cancel() }
        await taking?.value
        impatience.cancel()
        let now = Loop.monotonicNow()
        await waitUntilIdle(atMost: .nanoseconds(Int64(end > now ? end - now : 0)))
        for job in running.values { job.interrupt(.stopped) }
        // They end soon after they were told; one that does not keeps its lease until that ends by itself.
        await waitUntilIdle(atMost: .seconds(5))
        beating?.cancel()
        await beating?.value
    }

    private func waitUntilIdle(atMost patience: Duration) async {
        guard !running.isEmpty else { return }
        let waiter = Waiter()
        idle = waiter
        let timer = loop.schedule(after: patience.inNanoseconds) { waiter.resume() }
        try? await waiter.wait()
        timer.cancel()
        idle = nil
    }

    private func awaken() {
        isAwake = true
        wake.resume()
    }

    // MARK: taking

    private func look() async {
        do {
            let now = Loop.monotonicNow()
            let polls = now >= nextPoll
            if polls {
                nextPoll = now + options.poll.inNanoseconds
                _ = try await store.database.write(JobSQL.reclaim)
            } else if !running.isEmpty {
                // It may be one of those that run that somebody wants no more.
                await beat()
            }
            try await take()
            // Behind it, so that a schedule that makes trouble holds up nothing else; what it makes wakes this node.
            if polls { try await scheduler.tick() }
            if polls, now >= nextTidying {
                nextTidying = now + 60_000_000_000
                _ = try await store.database.write(
                    JobSQL.forget, [.double(options.keepFinished.inSeconds), .double(options.keepDead.inSeconds)])
            }
        } catch {
            // The database can't be reached, or this node is going away: the next time.
            if let error = error as? PostgresError, error.kind == .closed || error.isUnavailable { return }
            if error is CancellationError { return }
            Log.shared.error("the queue of jobs could not be looked at", ["error": "\(error)"])
        }
    }

    private func take() async throws {
        while !isStopping {
            var room = options.concurrency - running.count
            var open: [String] = []
            for kind in kinds.values {
                let left = kind.atOnce.map { $0 - running.values.count(where: { $0.job.kind == kind.name }) } ?? room
                guard left > 0 else { continue }
                open.append(kind.name)
                // All that are taken may be of one kind.
                room = min(room, left)
            }
            guard room > 0, !open.isEmpty else { return }
            let deadline = Loop.monotonicNow() + options.lease.inNanoseconds
            let rows = try await store.database.write(
                JobSQL.take,
                [
                    .textArray(open.sorted()), .int(Int64(room)), .text(node),
                    .double(options.lease.inSeconds),
                ])
            for row in 0..<rows.count { begin(try JobSQL.job(rows, row), deadline) }
            guard rows.count == room else { return }
        }
    }

    /// Renews the leases, and learns which jobs are not wanted any more and which are not this node's any more.
    private func beat() async {
        guard !running.isEmpty else { return }
        let jobs = Array(running.values)
        let sent = Loop.monotonicNow()
        do {
            let rows = try await store.database.write(
                JobSQL.renew,
                [
                    .intArray(jobs.map(\.job.id)), .intArray(jobs.map { Int64($0.job.run) }), .text(node),
                    .double(options.lease.inSeconds),
                ])
            var kept: Set<Int64> = []
            for row in 0..<rows.count {
                let id = rows.int(row, 0)
                kept.insert(id)
                running[id]?.leaseDeadline = sent + options.lease.inNanoseconds
                if rows.bool(row, 1) { running[id]?.interrupt(.cancelled) }
            }
            for job in jobs where !kept.contains(job.job.id) { job.interrupt(.lost) }
        } catch {
            // Others may take over what could not be renewed in time.
            let now = Loop.monotonicNow()
            for job in jobs where now >= job.leaseDeadline { job.interrupt(.lost) }
        }
    }

    // MARK: running

    private func begin(_ job: Job, _ leaseDeadline: UInt64) {
        guard let kind = kinds[job.kind] else { return }
        let running = RunningJob(job, leaseDeadline: leaseDeadline)
        self.running[job.id] = running
        loop.spawn { [self] in
            await record(await outcome(of: running, kind), of: running, kind)
            self.running[job.id] = nil
            if self.running.isEmpty { idle?.resume() }
            awaken()
        }
    }

    enum Outcome {
        case ended(JobEnding)
        /// It failed, and is tried again.
        case again(reason: String, pause: Duration)
        /// Another run of it is to go on.
        case givenBack
        /// It is another node's by now.
        case lost
    }

    private func outcome(of running: RunningJob, _ kind: JobKind) async -> Outcome {
        let job = running.job
        if job.cancelRequested { return .ended(.cancelled) }
        if job.losses >= options.maxLosses {
            return .ended(.dead("\(job.losses) nodes went away while they ran it."))
        }
        let begun = Loop.monotonicNow()
        let limit = kind.timeLimit.map { limit in
            loop.schedule(after: limit.inNanoseconds) { running.interrupt(.tookTooLong) }
        }
        defer { limit?.cancel() }
        // A task of its own: it may be cancelled, and what comes of it must be recorded all the same.
        let run = JobRun(job: job, store: store, runner: self)
        let task = loop.spawn {
            do { running.result = .success(try await kind.run(run)) } catch { running.result = .failure(error) }
        }
        running.task = task
        if running.interruption != nil { task.cancel() }
        await task.value
        switch running.result {
        case .success(let message): return .ended(.done(message))
        case .failure(let error):
            let elapsed = Duration.nanoseconds(Int64(Loop.monotonicNow() - begun))
            return JobRunner.judge(error, running.interruption, job, kind, age: job.age + elapsed)
        case nil: return .givenBack
        }
    }

    private static func judge(
        _ error: any Error, _ interruption: RunningJob.Interruption?, _ job: Job, _ kind: JobKind, age: Duration
    ) -> Outcome {
        let failure: JobFailure
        switch interruption {
        case .lost: return .lost
        case .stopped: return .givenBack
        case .cancelled: return .ended(.cancelled)
        case .tookTooLong: failure = JobFailure("It took longer than \(kind.timeLimit?.inSeconds ?? 0) s.")
        case nil: failure = error as? JobFailure ?? JobFailure((error as? ParseError)?.message ?? "\(error)")
        }
        let failures = job.failures + 1
        let isOver =
            failure.retry == .never || (job.maxAttempts ?? kind.attempts).map { failures >= $0 } ?? false
            || kind.givesUpAfter.map { age >= $0 } ?? false
        if isOver { return .ended(.dead(failure.description)) }
        if case .after(let pause) = failure.retry { return .again(reason: failure.description, pause: pause) }
        return .again(reason: failure.description, pause: kind.backoff.pause(after: failures))
    }

    // MARK: what came of it

    /// Writes it down, whatever it takes; nothing where the job is another node's by now.
    private func record(_ outcome: Outcome, of running: RunningJob, _ kind: JobKind) async {
        if case .lost = outcome { return }
        // Within the log's closure, `running.job.id` ends the optimiser of Swift 6.3.1.
        let job = running.job
        var ended = kind.ended
        var attempts = 0
        while true {
            attempts += 1
            do {
                try await write(outcome, of: job, ended)
                return JobRunner.tell(outcome, job)
            } catch let error as PostgresError where error.kind == .closed {
                return
            } catch let error as PostgresError where error.isUnavailable {
                try? await loop.sleep(nanoseconds: 500_000_000)
            } catch let error as ParseError where error.retryAfter != nil && attempts < 100 {
                try? await loop.sleep(nanoseconds: 100_000_000)
            } catch {
                Log.shared.error(
                    "what came of a job could not be written down",
                    ["kind": .text(kind.name), "job": .int(Int(job.id)), "error": "\(error)"])
                // Once more without what its kind adds: the job itself must not be done again for that.
                guard ended != nil else { return }
                ended = nil
            }
        }
    }

    private func write(
        _ outcome: Outcome, of job: Job, _ ended: ((Job, JobEnding, Operation) async throws -> Void)?
    ) async throws {
        let parameters = [.int(job.id), .int(Int64(job.run)), .text(node)] + JobSQL.parameters(outcome)
        guard case .ended(let ending) = outcome, let ended else {
            _ = try await store.database.write(JobSQL.finish, parameters)
            return
        }
        try await store.operation(as: .master).inTransaction { operation in
            guard try await operation.write(JobSQL.finish, parameters).count > 0 else { return }
            try await ended(job, ending, operation)
        }
    }

    private static func tell(_ outcome: Outcome, _ job: Job) {
        switch outcome {
        case .ended(.dead(let reason)):
            Log.shared.warning(
                "a job has failed for good",
                ["kind": .text(job.kind), "job": .int(Int(job.id)), "reason": .text(reason)])
        case .again(let reason, let pause):
            Log.shared.info(
                "a job has failed and is tried again",
                [
                    "kind": .text(job.kind), "job": .int(Int(job.id)), "reason": .text(reason),
                    "seconds": .number(pause.inSeconds),
                ])
        default: break
        }
    }

    func report(_ message: String, of job: Job, in operation: Operation) async throws {
        let rows = try await operation.write(
            JobSQL.report, [.int(job.id), .int(Int64(job.run)), .text(node), .text(message)])
        guard rows.count > 0 else { throw CancellationError() }
    }
}

/// A job that this node runs.
private final class RunningJob {
    /// Why it is told to end.
    enum Interruption { case cancelled, tookTooLong, stopped, lost }

    let job: Job
    /// The monotonic time until which nobody else takes it.
    var leaseDeadline: UInt64
    var task: Task<Void, Never>?
    var result: Result<String?, any Error>?
    private(set) var interruption: Interruption?

    init(_ job: Job, leaseDeadline: UInt64) {
        self.job = job
        self.leaseDeadline = leaseDeadline
    }

    func interrupt(_ why: Interruption) {
        // What is another's must not be recorded, whatever it was told before.
        if interruption == nil || why == .lost { interruption = why }
        task?.cancel()
    }
}
