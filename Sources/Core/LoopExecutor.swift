import CLinux
import Glibc
import Synchronization

/// Runs the jobs of one worker, one after another, on one thread of its own.
///
/// Everything that lives on a worker (its HTTP daemon, its database connections, its timers) is reached only from
/// jobs that run here, or from the handlers that `Loop` calls between them.
///
/// It is the executor of its worker's actor, and the one that the worker's tasks prefer: without the second, each wait
/// would end on Swift's global pool first and only then come back here.
///
/// - Safety: `@unchecked Sendable` holds because other threads touch only `inbox` (behind its mutex) and `wakeUp`
///   (a descriptor that never changes). All other state belongs to the loop's thread.
public final class LoopExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        var isEmpty: Bool { jobs.isEmpty && calls.isEmpty }
    }

    private let inbox = Mutex(Inbox())
    private let wakeUp: Int32
    private var ready: [UnownedJob] = []
    private var spare: [UnownedJob] = []
    private var handedOver: [UnownedJob] = []

    init() {
        wakeUp = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        precondition(wakeUp >= 0, "no descriptor left for a worker's wake-up")
    }

    deinit { close(wakeUp) }

    /// Whether the calling thread is this executor's.
    public var isCurrent: Bool {
        hermes_current_executor() == UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    }

    /// The calling thread's; nil of any other thread.
    static var current: LoopExecutor? {
        hermes_current_executor().map { Unmanaged<LoopExecutor>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Calls `body` on this executor's thread, outside of any task, soon; the calls of one thread keep their order.
    /// Callable from any thread. After the loop has stopped, `body` is never called.
    public func post(_ body: @escaping @Sendable () -> Void) {
        let first = inbox.withLock { inbox in
            defer { inbox.calls.append(body) }
            return inbox.isEmpty
        }
        if first { wake() }
    }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            ready.append(job)
            return
        }
        let first = inbox.withLock { inbox in
            defer { inbox.jobs.append(job) }
            return inbox.isEmpty
        }
        if first { wake() }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() {
        precondition(isCurrent, "this code must run on its worker's thread")
    }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: for the loop

    var descriptor: Int32 { wakeUp }
    var hasReadyJobs: Bool { !ready.isEmpty }

    func bindToCurrentThread() { hermes_set_current_executor(Unmanaged.passUnretained(self).toOpaque()) }
    func unbindFromCurrentThread() { hermes_set_current_executor(nil) }

    /// A job for `CodeThreads`, which get all of a turn's at its end.
    func handOver(_ job: UnownedJob) { handedOver.append(job) }

    func flushHandedOver() {
        guard !handedOver.isEmpty else { return }
        CodeThreads.shared.run(handedOver)
        handedOver.removeAll(keepingCapacity: true)
    }

    func wake() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }

    /// Takes over what other threads sent. Called when `descriptor` is readable.
    func drainInbox() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
        let calls = inbox.withLock { inbox in
            ready.append(contentsOf: inbox.jobs)
            inbox.jobs.removeAll(keepingCapacity: true)
            let calls = inbox.calls
            if !calls.isEmpty { inbox.calls = [] }
            return calls
        }
        for call in calls { call() }
    }

    /// Runs the jobs that are ready, and those that they make ready in turn, for a bounded number of rounds, so that
    /// descriptors and timers are not kept waiting by tasks that hand work to each other for ever.
    func runReadyJobs(rounds: Int) {
        var round = 0
        while round < rounds && !ready.isEmpty {
            swap(&ready, &spare)
            let serial = asUnownedSerialExecutor()
            let task = asUnownedTaskExecutor()
            for job in spare { job.runSynchronously(isolatedTo: serial, taskExecutor: task) }
            spare.removeAll(keepingCapacity: true)
            round += 1
        }
    }
}
