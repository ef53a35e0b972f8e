import Core
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CodeThreadsTests {
    @Test func codeThatBlocksItsThreadKeepsNoOtherFromRunning() async {
        let gate = Gate()
        // More than the machine has processors, and so than Swift's own pool has threads.
        let count = 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let blocked = (0..<count).map { _ in
            Task.detached(executorPreference: CodeThreads.shared) { gate.pass() }
        }
        let other = Task.detached(executorPreference: CodeThreads.shared) { 7 }
        #expect(await other.value == 7)
        gate.open()
        for task in blocked { await task.value }
    }

    @Test func allOfWhatAWorkerHandsOverInOneTurnRuns() async throws {
        let ran = Numbers()
        let worker = Worker()
        let tasks = await worker.run { _, _ in
            (0..<100).map { number in
                Task.detached(executorPreference: CodeThreads.shared) { ran.add(number) }
            }
        }
        for task in tasks { await task.value }
        #expect(ran.count == 100)
        await worker.stop()
    }

    private final class Numbers: Sendable {
        private let numbers = Mutex(Set<Int>())
        func add(_ number: Int) { numbers.withLock { _ = $0.insert(number) } }
        var count: Int { numbers.withLock(\.count) }
    }

    @Test func whatIsHandedOverInTheLastTurnRunsToo() async throws {
        let worker = Worker()
        let task = await worker.run { worker, _ in
            worker.stop()
            return Task.detached(executorPreference: CodeThreads.shared) { 7 }
        }
        #expect(await task.value == 7)
    }

    @Test func itNeverRunsInsideAWorker() async throws {
        let worker = Worker()
        let outside = await worker.run { worker, _ in
            let executor = worker.executor
            return await Task.detached(executorPreference: CodeThreads.shared) { !executor.isCurrent }.value
        }
        #expect(outside)
        await worker.stop()
    }

    // MARK: on the thread of a worker that runs code

    @Sendable private static func thread() -> UInt { UInt(pthread_self()) }

    /// Hands `codes` over in one turn.
    private func handOver<Result: Sendable>(
        _ codes: [@Sendable () -> Result], by worker: Worker
    ) async -> [Task<Result, Never>] {
        await worker.run { _, _ in
            codes.map { code in Task.detached(executorPreference: CodeThreads.shared) { code() } }
        }
    }

    @Test func whatIsQuicklyDoneRunsOnTheWorkersThreadOutsideOfIt() async throws {
        let worker = Worker(runsCode: true)
        let executor = worker.executor
        let own = await worker.run { _, _ in Self.thread() }
        // Where the thread was away for long, others do it; seldom twice.
        var there = false
        for _ in 0..<20 where !there {
            let tasks = await handOver([{ @Sendable in (Self.thread(), executor.isCurrent) }], by: worker)
            let (thread, isCurrent) = await tasks[0].value
            #expect(!isCurrent)
            there = thread == own
        }
        #expect(there)
        await worker.stop()
    }

    @Test func whatHasNotBegunAfterAMillisecondRunsOnOtherThreads() async throws {
        let worker = Worker(runsCode: true)
        let slow: @Sendable () -> UInt = {
            // Longer than others wait for the worker's thread; blocking it is what is tried here.
            usleep(1500)
            return Self.thread()
        }
        let tasks = await handOver([slow, Self.thread, Self.thread], by: worker)
        let first = await tasks[0].value
        for task in tasks.dropFirst() { #expect(await task.value != first) }
        await worker.stop()
    }

    @Test func codeThatBlocksTheWorkersThreadLeavesTheWorkerRunning() async throws {
        let worker = Worker(runsCode: true)
        let own = await worker.run { _, _ in Self.thread() }
        let gate = Gate()
        let count = 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let blocked = await handOver(
            (0..<count).map { number in
                { @Sendable in
                    gate.pass()
                    return number
                }
            }, by: worker)
        // The worker answers, and its timers fire, on another thread.
        let later = try await worker.run { _, loop in
            try await loop.sleep(nanoseconds: 1_000_000)
            return Self.thread()
        }
        #expect(later != own)
        // For a while what it hands over runs elsewhere.
        let next = await handOver([{ @Sendable in Self.thread() }], by: worker)
        let elsewhere = await next[0].value
        #expect(elsewhere != later)
        #expect(elsewhere != own)
        gate.open()
        for (number, task) in blocked.enumerated() { #expect(await task.value == number) }
        let last = await worker.run { _, _ in Self.thread() }
        #expect(last == later)
        await worker.stop()
    }

    @Test func codeThatComputesWithoutEndLeavesTheWorkerRunning() async throws {
        let worker = Worker(runsCode: true)
        let answered = Flag()
        let tasks = await handOver([{ @Sendable in while !answered.isSet {} }], by: worker)
        await worker.run { _, _ in answered.set() }
        await tasks[0].value
        await worker.stop()
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    @Test func aWorkerEndsWhileItsThreadIsBlockedByCode() async throws {
        weak var ended: Worker?
        let gate = Gate()
        do {
            let worker = Worker(runsCode: true)
            ended = worker
            let blocked = await handOver([{ @Sendable in gate.pass() }], by: worker)
            await worker.stop()
            gate.open()
            await blocked[0].value
        }
        while ended != nil { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test func codeAndItsWorkerTakeTurnsAndLoseNothing() async throws {
        let workers = (0..<2).map { Worker(index: $0, runsCode: true) }
        let sums = await withTaskGroup(of: Int.self) { group in
            for number in 0..<64 {
                let worker = workers[number % 2]
                group.addTask {
                    await worker.run { worker, _ in
                        var sum = 0
                        for round in 0..<200 {
                            let task = Task.detached(executorPreference: CodeThreads.shared) {
                                // Now and then it blocks its thread for so long that the worker gets another.
                                if (round + number) % 97 == 0 { usleep(8000) }
                                return await worker.run { _, _ in round }
                            }
                            sum += await task.value
                        }
                        return sum
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums == Array(repeating: 199 * 100, count: 64))
        for worker in workers { await worker.stop() }
    }
}
