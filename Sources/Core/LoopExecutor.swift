import CLinux
import Glibc
import Synchronization

/// Runs the jobs of one worker, one after another, on one thread of its own.
///
/// Everything that lives on a worker (its HTTP daemon, its database connections, its timers) is reached only from
/// jobs that run here, or from the handlers that `Loop` calls between them.
///
/// - Safety: `@unchecked Sendable` holds because other threads touch only `inbox` (behind its mutex), `wakeUp`
///   (a descriptor that never changes) and `thread` (written once, before `start()` returns). All other state
///   belongs to the loop's thread.
public final class LoopExecutor: SerialExecutor, @unchecked Sendable {
    private let inbox = Mutex<[UnownedJob]>([])
    private let wakeUp: Int32
    private var thread = pthread_t()
    private var ready: [UnownedJob] = []
    private var spare: [UnownedJob] = []

    init() {
        wakeUp = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        precondition(wakeUp >= 0, "no descriptor left for a worker's wake-up")
    }

    deinit { close(wakeUp) }

    /// Whether the calling thread is this executor's.
    public var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            ready.append(job)
            return
        }
        let first = inbox.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
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

    func bindToCurrentThread() { thread = pthread_self() }

    func wake() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }

    /// Takes over what other threads sent. Called when `descriptor` is readable.
    func drainInbox() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
        inbox.withLock { jobs in
            ready.append(contentsOf: jobs)
            jobs.removeAll(keepingCapacity: true)
        }
    }

    /// Runs the jobs that are ready now, not those that they make ready, so that descriptors and timers get their turn.
    func runReadyJobs() {
        swap(&ready, &spare)
        for job in spare { job.runSynchronously(on: asUnownedSerialExecutor()) }
        spare.removeAll(keepingCapacity: true)
    }
}
