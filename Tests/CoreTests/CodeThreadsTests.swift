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

    @Test func itNeverRunsOnAWorker() async throws {
        let worker = Worker()
        let outside = await worker.run { worker, _ in
            let executor = worker.executor
            return await Task.detached(executorPreference: CodeThreads.shared) { !executor.isCurrent }.value
        }
        #expect(outside)
        await worker.stop()
    }
}
