import Glibc
import Synchronization

/// Where an application's own Swift code runs: hooks, functions, jobs. Not on Swift's global pool, which has a thread for
/// each core: code that blocks its thread would soon have taken all of them.
///
/// The thread of a worker that serves does what is quickly done itself, at the end of its turn, outside of the worker
/// (`LoopExecutor.runHandedOver()`). All else is done here: by one thread, as long as it is quick; a thread is added when
/// something has waited for long, so that neither code that computes nor code that blocks keeps others from running.
/// What a worker hands over in one turn is one wake-up.
public final class CodeThreads: TaskExecutor {
    /// The process's.
    public static let shared = CodeThreads()

    /// The most threads. With so many blocked at once, the others wait for their time limits.
    static let limit = 256
    /// How many threads stay when there is nothing to do.
    private static let stay = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// How often somebody looks whether jobs wait, and so about how long one may.
    private static let interval: useconds_t = 2000
    /// After so many looks without any work the watch goes to sleep.
    private static let patience = 50

    private struct State {
        var jobs: [UnownedJob] = []
        /// Index of the next one.
        var head = 0
        /// How many have been taken, ever.
        var taken = 0
        var threads = 0
        var idle = 0
        /// Whether a thread has found nothing to do since the last look.
        var ranDry = true
        var isWatched = false
        /// Those whose threads have run code themselves, and how often any of them has.
        var loops: [LoopExecutor] = []
        var errands = 0
        /// How many of these threads are kept by code, their loops being others'.
        var lost = 0

        var isEmpty: Bool { head == jobs.count }

        mutating func next() -> UnownedJob? {
            guard !isEmpty else {
                ranDry = true
                return nil
            }
            let job = jobs[head]
            head += 1
            taken += 1
            // Also where there is always more to do.
            if isEmpty || head == 4096 {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }

        /// Brings another thread to work; says how.
        mutating func addThread() -> Addition? {
            if idle > 0 {
                idle -= 1
                return .wake
            }
            guard threads + lost < CodeThreads.limit else { return nil }
            threads += 1
            return .start
        }
    }
    private enum Addition { case wake, start }

    private let state = Mutex(State())
    private let idle = Semaphore()
    private let watch = Semaphore()

    private init() {
        let started = Thread.start("code-watch") { [unowned self] in watchForEver() }
        precondition(started, "a thread could not be started")
    }

    // MARK: TaskExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let executor = LoopExecutor.current { executor.handOver(job) } else { run(CollectionOfOne(job)) }
    }

    /// Lets the jobs run soon, in this order as far as one thread does them.
    func run(_ jobs: some Collection<UnownedJob>) {
        let (addition, isUnwatched) = state.withLock { state in
            state.jobs += jobs
            guard state.idle == state.threads else { return (Addition?.none, false) }
            defer { state.isWatched = true }
            return (state.addThread(), !state.isWatched)
        }
        add(addition)
        if isUnwatched { watch.signal() }
    }

    private func add(_ addition: Addition?) {
        switch addition {
        case .wake: idle.signal()
        case .start:
            // Where the system has none left, those that are there go on, and the watch tries again.
            if !Thread.start("code", { [unowned self] in work() }) { state.withLock { $0.threads -= 1 } }
        case nil: break
        }
    }

    private func work() {
        let executor = asUnownedTaskExecutor()
        while true {
            let (job, ends) = state.withLock { state -> (UnownedJob?, Bool) in
                if let job = state.next() { return (job, false) }
                guard state.idle < Self.stay else {
                    state.threads -= 1
                    return (nil, true)
                }
                state.idle += 1
                return (nil, false)
            }
            if let job {
                job.runSynchronously(on: executor)
            } else if ends {
                return
            } else {
                idle.wait()
            }
        }
    }

    // MARK: jobs that wait

    private func watchForEver() {
        while true {
            watch.wait()
            watchWhileBusy()
        }
    }

    /// Sees to it that the loop of a worker whose thread runs code itself goes on, however long that takes.
    ///
    /// - Returns: false where code keeps so many threads already that this one had better not run any.
    func watchErrand(of loop: LoopExecutor) -> Bool {
        let (mayRun, isUnwatched) = state.withLock { state in
            guard state.threads + state.lost < Self.limit else { return (false, false) }
            state.errands += 1
            if !state.loops.contains(where: { $0 === loop }) { state.loops.append(loop) }
            defer { state.isWatched = true }
            return (true, !state.isWatched)
        }
        if isUnwatched { watch.signal() }
        return mayRun
    }

    func forget(_ loop: LoopExecutor) { state.withLock { $0.loops.removeAll { $0 === loop } } }

    /// Code keeps one thread more, or fewer, whose loop is another's.
    func countLost(_ change: Int) { state.withLock { $0.lost += change } }

    private func watchWhileBusy() {
        var (taken, errands, quiet) = (-1, -1, 0)
        while true {
            // On a thread that does nothing else. Nothing wakes it: what it looks for is that nothing happens.
            usleep(Self.interval)
            let (addition, isOver, loops) = state.withLock { state -> (Addition?, Bool, [LoopExecutor]) in
                defer {
                    taken = state.taken
                    errands = state.errands
                    state.ranDry = false
                }
                guard state.isEmpty else {
                    quiet = 0
                    // Either nobody takes anything, or there is always more than those who work can do.
                    let isStuck = state.taken == taken
                    let isTooMuch = !state.ranDry && state.threads - state.idle < Self.stay
                    return (isStuck || isTooMuch ? state.addThread() : nil, false, state.loops)
                }
                quiet = state.idle == state.threads && state.errands == errands ? quiet + 1 : 0
                if quiet > Self.patience { state.isWatched = false }
                return (nil, quiet > Self.patience, state.loops)
            }
            add(addition)
            for loop in loops where loop.lookAfterErrand() { quiet = 0 }
            if isOver { return }
        }
    }
}
