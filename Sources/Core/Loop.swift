import CLinux
import Glibc

/// What a worker's thread waits for: descriptors, timers, and the work at the end of each turn.
///
/// A turn: run the jobs that are ready; take in what has come, and run the jobs that follow from it; run the end-of-turn
/// handlers; do what was handed over to `CodeThreads`; wait for descriptors, timers and wake-ups.
/// Not `Sendable`: a loop is reached only from its worker's own code. Handlers are called on the worker's thread,
/// outside of any task; they start one with `spawn(_:)`.
public final class Loop {
    public let executor: LoopExecutor
    /// Whose loop it is. Held while the thread runs. (A weak reference would make every retain of the worker slow.)
    public private(set) var worker: Worker?
    private let epoll: Int32
    /// By descriptor: the kernel gives out the lowest number that is free, so this stays dense.
    private var watches: [Watch?] = []
    private var generation: UInt32 = 0
    private var timers = TimerHeap()
    private let intakes = TurnEnds()
    private let turnEnds = TurnEnds()
    private var isPastIntake = false
    private var kept: [AnyObject] = []
    private var running = true
    private var another = false
    /// The time of this turn's start on the monotonic clock, in nanoseconds. Good to about a turn; costs nothing.
    public private(set) var now: UInt64

    init(executor: LoopExecutor) {
        self.executor = executor
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(epoll >= 0, "no descriptor left for a worker's epoll")
        now = Loop.monotonicNow()
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = UInt64.max
        let result = epoll_ctl(epoll, EPOLL_CTL_ADD, executor.descriptor, &event)
        precondition(result == 0, "a worker's wake-up could not be watched")
    }

    deinit { close(epoll) }

    /// Nanoseconds on the monotonic clock.
    public static func monotonicNow() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Keeps `object` alive as long as the loop.
    public func keep(_ object: AnyObject) { kept.append(object) }

    /// The first of the kept objects of a class; those of its subclasses don't count.
    public func first<Object: AnyObject>(_ type: Object.Type) -> Object? {
        // One cast: each takes longer than the whole search.
        kept.first { Swift.type(of: $0) == type } as? Object
    }

    /// Lets go of an object given to `keep(_:)`.
    public func release(_ object: AnyObject) { kept.removeAll { $0 === object } }

    /// Lets go of the objects of one type given to `keep(_:)` that `shouldGo` picks.
    public func releaseAll<Kept: AnyObject>(_ type: Kept.Type, where shouldGo: (Kept) -> Bool) {
        kept.removeAll { object in (object as? Kept).map(shouldGo) ?? false }
    }

    // MARK: tasks

    /// Starts a task on this loop's worker. It begins in this turn or the next one, never within this call.
    ///
    /// - Safety: `operation` is not `Sendable`, and need not be: a loop can be reached only from its worker's code,
    ///   so what `operation` captures belongs to that worker, and the task runs on the same one. The box only
    ///   carries it past the compiler, which can't know that.
    @discardableResult
    public func spawn(_ operation: @escaping () async -> Void) -> Task<Void, Never> {
        guard let worker else { preconditionFailure("the loop has ended") }
        let box = OnSameWorker(operation)
        let executor = executor
        return worker.assumeIsolated { worker in
            Task(executorPreference: executor) {
                _ = worker
                await box.operation()
            }
        }
    }

    /// Starts a task on this loop's worker and runs it within this call until it waits for the first time: for what
    /// mostly needs not to wait at all. Otherwise like `spawn(_:)`.
    @discardableResult
    public func spawnImmediately(_ operation: @escaping () async -> Void) -> Task<Void, Never> {
        guard let worker else { preconditionFailure("the loop has ended") }
        let box = OnSameWorker(operation)
        let executor = executor
        return worker.assumeIsolated { worker in
            Task.immediate(executorPreference: executor) {
                _ = worker
                await box.operation()
            }
        }
    }

    private struct OnSameWorker: @unchecked Sendable {
        let operation: () async -> Void
        init(_ operation: @escaping () async -> Void) { self.operation = operation }
    }

    // MARK: descriptors

    /// What a descriptor is watched for, and what happened to it.
    public struct Readiness: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let read = Readiness(rawValue: EPOLLIN.rawValue)
        public static let write = Readiness(rawValue: EPOLLOUT.rawValue)
        /// The peer has closed, or half closed, the connection.
        public static let peerClosed = Readiness(rawValue: EPOLLRDHUP.rawValue)
        /// An error or a full hang-up; told whether asked for or not.
        public static let failed = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    }

    /// A descriptor under watch, until `cancel()`. Cancel before closing the descriptor.
    public final class Watch {
        public let descriptor: Int32
        fileprivate let generation: UInt32
        fileprivate var handler: ((Readiness) -> Void)?
        /// Until `cancel()`, or the loop's end.
        fileprivate var loop: Loop?
        public private(set) var interest: Readiness

        fileprivate init(
            loop: Loop, descriptor: Int32, generation: UInt32, interest: Readiness,
            handler: @escaping (Readiness) -> Void
        ) {
            self.loop = loop
            self.descriptor = descriptor
            self.generation = generation
            self.interest = interest
            self.handler = handler
        }

        /// Changes what is watched for.
        public func update(_ interest: Readiness) {
            guard handler != nil, interest != self.interest, let loop else { return }
            self.interest = interest
            _ = loop.control(EPOLL_CTL_MOD, self)
        }

        /// Stops watching; the handler is not called again, not even for what this turn has brought already.
        public func cancel() {
            guard handler != nil else { return }
            handler = nil
            loop?.remove(self)
            loop = nil
        }
    }

    /// Watches a descriptor, level-triggered. One watch for each descriptor. One that can't be watched (closed, or a
    /// plain file) is reported as `failed` once, in the next turn.
    public func watch(
        _ descriptor: Int32, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void
    ) -> Watch {
        precondition(descriptor >= 0, "not a descriptor")
        let slot = Int(descriptor)
        if slot >= watches.count { watches.append(contentsOf: repeatElement(nil, count: slot + 64 - watches.count)) }
        precondition(watches[slot] == nil, "descriptor \(descriptor) is watched already")
        generation &+= 1
        let watch = Watch(
            loop: self, descriptor: descriptor, generation: generation, interest: interest, handler: handler)
        watches[slot] = watch
        if !control(EPOLL_CTL_ADD, watch) { schedule(after: 0) { watch.handler?(.failed) } }
        return watch
    }

    private func control(_ operation: Int32, _ watch: Watch) -> Bool {
        var event = epoll_event()
        event.events = watch.interest.rawValue
        event.data.u64 = UInt64(watch.generation) << 32 | UInt64(UInt32(bitPattern: watch.descriptor))
        return epoll_ctl(epoll, operation, watch.descriptor, &event) == 0
    }

    private func remove(_ watch: Watch) {
        let slot = Int(watch.descriptor)
        guard slot < watches.count, watches[slot] === watch else { return }
        watches[slot] = nil
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, watch.descriptor, &event)
    }

    // MARK: timers

    /// A timer that is set, until it fires or is cancelled.
    public final class Timer {
        public let deadline: UInt64
        var position = -1
        var handler: (() -> Void)?
        /// While it is set.
        var loop: Loop?
        init(deadline: UInt64, loop: Loop, handler: @escaping () -> Void) {
            self.deadline = deadline
            self.loop = loop
            self.handler = handler
        }
        /// The handler is not called any more.
        public func cancel() {
            handler = nil
            if position >= 0 { loop?.timers.remove(self) }
            loop = nil
        }
    }

    /// Calls `handler` once, `nanoseconds` from now; timers with the same deadline fire in any order.
    @discardableResult
    public func schedule(after nanoseconds: UInt64, _ handler: @escaping () -> Void) -> Timer {
        let timer = Timer(deadline: Loop.monotonicNow() &+ nanoseconds, loop: self, handler: handler)
        timers.insert(timer)
        return timer
    }

    /// Waits; throws `CancellationError` at once when the task is cancelled.
    public func sleep(nanoseconds: UInt64) async throws {
        let waiter = Waiter()
        let timer = schedule(after: nanoseconds) { waiter.resume() }
        defer { timer.cancel() }
        try await waiter.wait()
    }

    // MARK: end of a turn

    /// Work that runs once at the end of each turn, until `cancel()`.
    public final class TurnEnd {
        fileprivate var handler: (() -> Void)?
        fileprivate init(_ handler: @escaping () -> Void) { self.handler = handler }
        public func cancel() { handler = nil }
    }

    private final class TurnEnds {
        private var entries: [TurnEnd] = []

        func add(_ handler: @escaping () -> Void) -> TurnEnd {
            let entry = TurnEnd(handler)
            entries.append(entry)
            return entry
        }

        /// A handler may add others; these are called too.
        func run() {
            var anyGone = false
            var index = 0
            while index < entries.count {
                if let handler = entries[index].handler { handler() } else { anyGone = true }
                index += 1
            }
            if anyGone { entries.removeAll { $0.handler == nil } }
        }

        func removeAll() { entries.removeAll() }
    }

    /// Calls `handler` at the end of each turn, after all tasks ran and before the loop waits: the place to flush
    /// what was gathered. A handler may make jobs ready; the next turn then follows without waiting.
    public func atTurnEnd(_ handler: @escaping () -> Void) -> TurnEnd {
        turnEnds.add(handler)
    }

    /// Calls `handler` in each turn before the handlers of `atTurnEnd`, and the jobs that it makes ready too: the place
    /// to take in what has come, so that what follows from it leaves at the end of the same turn.
    public func beforeTurnEnd(_ handler: @escaping () -> Void) -> TurnEnd {
        intakes.add(handler)
    }

    /// Has the handlers of `beforeTurnEnd` called before the loop waits: in this turn, or in another one that follows at
    /// once when this one's time for that is over.
    public func takeInSoon() { if isPastIntake { another = true } }

    /// Makes the next turn follow at once, without waiting: for a library that has more to do but nothing to watch.
    public func turnAgain() { another = true }

    // MARK: the thread

    func stop() { running = false }

    /// Runs the loop until it is stopped, or until another thread has taken the calling one's place.
    func run(_ worker: Worker) {
        self.worker = worker
        executor.noteThread()
        isPastIntake = false
        let capacity = 256
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        while running {
            executor.runReadyJobs(rounds: 32)
            isPastIntake = true
            intakes.run()
            executor.runReadyJobs(rounds: 32)
            turnEnds.run()
            guard executor.runHandedOver() else { return }
            let isIdle = !another && !executor.hasReadyJobs && running
            another = false
            let timeout = isIdle && executor.fallAsleep() ? timers.millisecondsToNext() : 0
            let count = epoll_wait(epoll, events, Int32(capacity), timeout)
            now = Loop.monotonicNow()
            isPastIntake = false
            executor.takeIn()
            if count > 0 { dispatch(events, Int(count)) }
            while let timer = timers.popDue(now) {
                let handler = timer.handler
                timer.handler = nil
                timer.loop = nil
                handler?()
            }
        }
        executor.endErrands()
        // Handlers hold what holds the loop: letting go of them here is what frees it.
        for watch in watches {
            watch?.handler = nil
            watch?.loop = nil
        }
        watches.removeAll()
        timers.removeAll()
        intakes.removeAll()
        turnEnds.removeAll()
        kept.removeAll()
        executor.flushHandedOver()
        self.worker = nil
    }

    private func dispatch(_ events: UnsafeMutablePointer<epoll_event>, _ count: Int) {
        for index in 0..<count {
            let data = events[index].data.u64
            if data == UInt64.max {
                executor.clearWakeUp()
                continue
            }
            let descriptor = Int32(bitPattern: UInt32(truncatingIfNeeded: data))
            // A descriptor closed and opened again within this turn has another generation.
            let slot = Int(descriptor)
            guard slot < watches.count, let watch = watches[slot], watch.generation == UInt32(data >> 32) else {
                continue
            }
            watch.handler?(Readiness(rawValue: events[index].events))
        }
    }
}
