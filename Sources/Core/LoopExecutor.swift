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
/// - Safety: `@unchecked Sendable` holds because other threads touch only `inbox` and `errand` (behind their mutexes)
///   and `wakeUp` (a descriptor that never changes). All other state belongs to the loop's thread; where another thread
///   takes that one's place, the errand's mutex stands between the two.
public final class LoopExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        /// The loop waits, and whoever brings something wakes it.
        var isAsleep = false
        var isEmpty: Bool { jobs.isEmpty && calls.isEmpty }

        /// Whether the loop has to be woken.
        mutating func awaken() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }
    }

    private let inbox = Mutex(Inbox())
    private let wakeUp: Int32
    private var ready: [UnownedJob] = []
    private var spare: [UnownedJob] = []
    private var handedOver: [UnownedJob] = []
    private let errand = Mutex(Errand())
    /// Whether the loop's thread does itself what is handed over, and until when other threads do it all the same.
    private var runsErrands = false
    private var staysAwayUntil: UInt64 = 0

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
        let wakes = inbox.withLock { inbox in
            inbox.calls.append(body)
            return inbox.awaken()
        }
        if wakes { wake() }
    }

    // MARK: SerialExecutor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            ready.append(job)
            return
        }
        let wakes = inbox.withLock { inbox in
            inbox.jobs.append(job)
            return inbox.awaken()
        }
        if wakes { wake() }
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

    /// Called when `descriptor` is readable.
    func clearWakeUp() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
    }

    /// Called before the loop waits: whether it may. From then on whoever brings something wakes it.
    func fallAsleep() -> Bool {
        inbox.withLock { inbox in
            inbox.isAsleep = inbox.isEmpty
            return inbox.isAsleep
        }
    }

    /// Takes over what other threads sent. Called after the loop has waited.
    func takeIn() {
        let calls = inbox.withLock { inbox in
            inbox.isAsleep = false
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

    // MARK: an application's code on the loop's own thread

    /// What was handed over in a turn, while the loop's thread does it itself: that spares the code two changes of
    /// thread.
    private struct Errand {
        var jobs: [UnownedJob] = []
        /// Index of the next one.
        var next = 0
        /// Changes with each errand, and when another thread takes the place of the one that is out.
        var number = 0
        var isOut = false
        /// The loop's own, once it runs.
        var thread: hermes_thread?
        /// What stood here when somebody looked, and how long the thread had run by then.
        var seen: (mark: Mark, time: UInt64)?
        /// Starts a thread that takes the place of the one that is out. nil: this loop's thread runs no errands.
        var startSuccessor: (@Sendable (Mark) -> Void)?

        var mark: Mark { Mark(number: number, next: next) }

        mutating func rest() -> [UnownedJob] {
            defer { jobs.removeAll(keepingCapacity: true) }
            return Array(jobs[next...])
        }
    }

    /// How far an errand is.
    struct Mark: Equatable, Sendable {
        fileprivate let number: Int
        fileprivate let next: Int
    }

    private enum Step {
        case run(UnownedJob)
        /// Back, with what is left for other threads.
        case home([UnownedJob])
        case replaced
    }

    /// For how long the loop may be without its thread, in nanoseconds. What has not begun by then goes to other threads;
    /// what has run for so long between two looks keeps its thread, but not the loop.
    private static let longest: UInt64 = 1_000_000
    /// After code that has kept a thread, what is handed over goes to other threads for this time.
    private static let pause: UInt64 = 10_000_000_000

    /// Lets the loop's thread run what is handed over; `startSuccessor` starts a thread that calls `takePlace(_:)`.
    func beginErrands(_ startSuccessor: @escaping @Sendable (Mark) -> Void) {
        runsErrands = true
        errand.withLock { $0.startSuccessor = startSuccessor }
    }

    func endErrands() {
        guard runsErrands else { return }
        runsErrands = false
        errand.withLock { $0.startSuccessor = nil }
        CodeThreads.shared.forget(self)
    }

    /// Runs what was handed over in this turn, or gives it to other threads. Nothing of the loop may be under way.
    ///
    /// - Returns: false when another thread has become the loop's: the caller must not touch the loop any more.
    func runHandedOver() -> Bool {
        guard !handedOver.isEmpty else { return true }
        let began = Loop.monotonicNow()
        guard runsErrands, began >= staysAwayUntil, CodeThreads.shared.watchErrand(of: self) else {
            flushHandedOver()
            return true
        }
        let number = errand.withLock { errand in
            swap(&errand.jobs, &handedOver)
            errand.next = 0
            errand.number += 1
            errand.isOut = true
            return errand.number
        }
        // The code must not take itself for a part of the loop: the loop may be gone when it goes on.
        unbindFromCurrentThread()
        let executor = CodeThreads.shared.asUnownedTaskExecutor()
        while true {
            switch step(number, isLate: Loop.monotonicNow() - began > Self.longest) {
            case .run(let job): job.runSynchronously(on: executor)
            case .home(let rest):
                bindToCurrentThread()
                if !rest.isEmpty { CodeThreads.shared.run(rest) }
                return true
            case .replaced:
                CodeThreads.shared.countLost(-1)
                return false
            }
        }
    }

    private func step(_ number: Int, isLate: Bool) -> Step {
        errand.withLock { errand in
            guard errand.number == number else { return .replaced }
            if isLate || errand.next == errand.jobs.count {
                errand.isOut = false
                return .home(errand.rest())
            }
            defer { errand.next += 1 }
            return .run(errand.jobs[errand.next])
        }
    }

    /// The calling thread is the loop's from now on.
    func noteThread() {
        let thread = hermes_this_thread()
        errand.withLock { $0.thread = thread }
    }

    /// Called every few milliseconds, by a thread of its own. Where the same code runs as the last time, and has been
    /// computing since, or waits, another thread goes on with the loop. Who only gets no processor would not get one as
    /// somebody else either.
    ///
    /// - Returns: whether the loop's thread is out.
    func lookAfterErrand() -> Bool {
        let (isOut, stuck) = errand.withLock { errand -> (Bool, (@Sendable () -> Void)?) in
            guard errand.isOut, let thread = errand.thread, let startSuccessor = errand.startSuccessor else {
                errand.seen = nil
                return (false, nil)
            }
            // The thread lives, since it can't come back from its errand meanwhile.
            let (mark, time) = (errand.mark, hermes_processor_time(thread))
            guard let seen = errand.seen, seen.mark == mark else {
                errand.seen = (mark, time)
                return (true, nil)
            }
            guard time > seen.time + Self.longest || hermes_is_waiting(thread) else { return (true, nil) }
            return (true, { startSuccessor(mark) })
        }
        // Where the system has no thread left, the next look tries again.
        stuck?()
        return isOut
    }

    /// Makes the calling thread the loop's in place of the one that is out.
    ///
    /// - Returns: false when that one has come back, or gone on, in the meantime.
    func takePlace(_ mark: Mark) -> Bool {
        let rest = errand.withLock { errand -> [UnownedJob]? in
            guard errand.isOut, errand.mark == mark else { return nil }
            errand.isOut = false
            errand.number += 1
            return errand.rest()
        }
        guard let rest else { return false }
        CodeThreads.shared.countLost(1)
        bindToCurrentThread()
        staysAwayUntil = Loop.monotonicNow() + Self.pause
        if !rest.isEmpty { CodeThreads.shared.run(rest) }
        return true
    }
}
