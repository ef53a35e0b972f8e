import CLinux
import Core
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Something that belongs to the worker of a test.
private final class Notes {
    var entries: [Int] = []
}

@Suite struct LoopTests {
    private func onWorker<Result: Sendable>(
        _ body: @Sendable (Loop) async throws -> Result
    ) async throws -> Result {
        let worker = Worker()
        do {
            let result = try await worker.run { _, loop in try await body(loop) }
            await worker.stop()
            return result
        } catch {
            await worker.stop()
            throw error
        }
    }

    @Test func tasksBeginInTheOrderTheyWereSpawned() async throws {
        let entries = try await onWorker { loop in
            let notes = Notes()
            let tasks = (0..<1000).map { number in loop.spawn { notes.entries.append(number) } }
            #expect(notes.entries.isEmpty)
            for task in tasks { await task.value }
            return notes.entries
        }
        #expect(entries == Array(0..<1000))
    }

    @Test func anImmediateTaskRunsUntilItWaits() async throws {
        let entries = try await onWorker { loop in
            let notes = Notes()
            let task = loop.spawnImmediately {
                notes.entries.append(1)
                try? await loop.sleep(nanoseconds: 1_000_000)
                #expect(loop.executor.isCurrent)
                notes.entries.append(3)
            }
            notes.entries.append(2)
            await task.value
            return notes.entries
        }
        #expect(entries == [1, 2, 3])
    }

    @Test func aTaskResumedFromAnotherThreadGoesOnOnItsWorker() async throws {
        try await onWorker { loop in
            for _ in 0..<200 {
                let waiter = Waiter()
                Thread.detachNewThread { waiter.resume() }
                try await waiter.wait()
                #expect(loop.executor.isCurrent)
            }
        }
    }

    @Test func callsFromOtherThreadsKeepTheirOrder() async throws {
        let count = 10_000
        try await onWorker { loop in
            let finished = Waiter()
            let executor = loop.executor
            // Reached only from the calls, which all run on the worker's thread.
            let last = Mutex(-1)
            Thread.detachNewThread {
                for number in 0..<count {
                    executor.post {
                        #expect(executor.isCurrent)
                        let before = last.withLock { last in
                            defer { last = number }
                            return last
                        }
                        if before != number - 1 { Issue.record("\(number) came after \(before)") }
                        if number == count - 1 { finished.resume() }
                    }
                }
            }
            try await finished.wait()
        }
    }

    @Test func aMillionTimersFireOnceInOrderUnlessCancelled() async throws {
        let count = 1_000_000
        try await onWorker { loop in
            let notes = Notes()
            var timers: [Loop.Timer] = []
            timers.reserveCapacity(count)
            var number = UInt64(1)
            for _ in 0..<count {
                // Knuth's multiplicative sequence: deadlines in no order, within 200 ms.
                number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let delay = number % 200_000_000
                timers.append(loop.schedule(after: delay) { notes.entries.append(1) })
            }
            for index in stride(from: 0, to: count, by: 2) { timers[index].cancel() }
            let before = notes.entries.count
            try await loop.sleep(nanoseconds: 200_000_000)
            try await until(loop) { notes.entries.count >= count / 2 }
            #expect(notes.entries.count == count / 2)
            #expect(before == 0)
        }
    }

    @Test func timersFireByTheirDeadlineAndNeverEarly() async throws {
        let entries = try await onWorker { loop in
            let notes = Notes()
            let start = Loop.monotonicNow()
            for delay in [30, 10, 20, 0, 40] {
                loop.schedule(after: UInt64(delay) * 1_000_000) {
                    #expect(Loop.monotonicNow() - start >= UInt64(delay) * 1_000_000)
                    notes.entries.append(delay)
                }
            }
            try await until(loop) { notes.entries.count >= 5 }
            return notes.entries
        }
        #expect(entries == [0, 10, 20, 30, 40])
    }

    @Test func aDescriptorClosedAndOpenedAgainWhileItIsWatched() async throws {
        try await onWorker { loop in
            let wake = Waiter()
            let first = Pipe()
            let second = Pipe()
            let notes = Notes()
            // Both are readable in one turn; the first handler to run replaces the other's descriptor.
            var watches: [Loop.Watch] = []
            func react(_ mine: Int, _ other: Int) {
                notes.entries.append(mine)
                watches[other].cancel()
                watches[mine].cancel()
                let number = watches[other].descriptor
                dup2(mine == 0 ? first.read : second.read, number)
                watches.append(
                    loop.watch(number, .read) { readiness in
                        #expect(readiness.contains(.read))
                        notes.entries.append(10)
                        watches[2].cancel()
                        wake.resume()
                    })
            }
            watches.append(loop.watch(first.read, .read) { _ in react(0, 1) })
            watches.append(loop.watch(second.read, .read) { _ in react(1, 0) })
            first.fill()
            second.fill()
            try await wake.wait()
            // One of the two, then the new watch: never the cancelled one.
            #expect(notes.entries.count == 2 && notes.entries[1] == 10)
            first.close()
            second.close()
        }
    }

    @Test func aDescriptorThatCannotBeWatchedIsReported() async throws {
        try await onWorker { loop in
            let failed = Waiter()
            // epoll takes no plain files.
            let file = open("/proc/self/exe", O_RDONLY)
            defer { close(file) }
            let watch = loop.watch(file, .read) { readiness in
                #expect(!readiness.isDisjoint(with: .failed))
                failed.resume()
            }
            try await failed.wait()
            watch.cancel()
        }
    }

    @Test func anInterestChangedAndAPeerThatCloses() async throws {
        try await onWorker { loop in
            var ends: [Int32] = [0, 0]
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
            let writable = Waiter()
            let closed = Waiter()
            let watch = loop.watch(ends[0], .read) { readiness in
                if readiness.contains(.write) { writable.resume() }
                if readiness.contains(.peerClosed) { closed.resume() }
            }
            watch.update(.write)
            try await writable.wait()
            watch.update(.peerClosed)
            shutdown(ends[1], Int32(SHUT_WR))
            try await closed.wait()
            watch.cancel()
            close(ends[0])
            close(ends[1])
        }
    }

    @Test func cancellationEndsAWaitAtOnce() async throws {
        try await onWorker { loop in
            let task = loop.spawn {
                do {
                    try await loop.sleep(nanoseconds: 60_000_000_000)
                    Issue.record("it slept")
                } catch {
                    #expect(error is CancellationError)
                    #expect(loop.executor.isCurrent)
                }
            }
            try await loop.sleep(nanoseconds: 1_000_000)
            task.cancel()
            await task.value
            // Before the wait begins, too.
            let late = loop.spawn {
                while !Task.isCancelled { await Task.yield() }
                do {
                    try await loop.sleep(nanoseconds: 60_000_000_000)
                    Issue.record("it slept")
                } catch { #expect(error is CancellationError) }
            }
            late.cancel()
            await late.value
        }
    }

    @Test func onlyTheFirstResumptionCounts() async throws {
        struct First: Error {}
        try await onWorker { _ in
            let waiter = Waiter()
            waiter.resume(throwing: First())
            waiter.resume()
            do {
                try await waiter.wait()
                Issue.record("it did not throw")
            } catch { #expect(error is First) }
        }
    }

    @Test func whatIsGatheredInATurnIsFlushedOnceAtItsEnd() async throws {
        try await onWorker { loop in
            let gathered = Notes()
            let flushed = Notes()
            let turnEnd = loop.atTurnEnd {
                guard !gathered.entries.isEmpty else { return }
                flushed.entries.append(gathered.entries.count)
                gathered.entries = []
            }
            let tasks = (0..<100).map { number in loop.spawn { gathered.entries.append(number) } }
            for task in tasks { await task.value }
            try await loop.sleep(nanoseconds: 1_000_000)
            #expect(flushed.entries == [100])
            turnEnd.cancel()
            gathered.entries = [1]
            try await loop.sleep(nanoseconds: 1_000_000)
            #expect(flushed.entries == [100])
        }
    }

    @Test func tasksThatFeedEachOtherDoNotStarveTimers() async throws {
        try await onWorker { loop in
            let spinner = loop.spawn { while !Task.isCancelled { await Task.yield() } }
            try await loop.sleep(nanoseconds: 2_000_000)
            spinner.cancel()
            await spinner.value
        }
    }

    @Test func aStoppedLoopLetsGoOfWhatItKept() async throws {
        final class Kept: Sendable {
            let onEnd: @Sendable () -> Void
            init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
            deinit { onEnd() }
        }
        let ended = Waiter()
        let worker = Worker()
        await worker.run { _, loop in
            let kept = Kept { ended.resume() }
            loop.keep(kept)
            loop.schedule(after: 60_000_000_000) { _ = kept }
        }
        await worker.stop()
        try await ended.wait()
    }

    private struct Pipe {
        let read: Int32
        let write: Int32
        init() {
            var ends: [Int32] = [0, 0]
            _ = pipe(&ends)
            read = ends[0]
            write = ends[1]
        }
        func fill() { _ = Glibc.write(write, "x", 1) }
        func close() {
            Glibc.close(read)
            Glibc.close(write)
        }
    }

    @Test(.timeLimit(.minutes(1))) func whatATurnTakesInLeavesAtItsEnd() async throws {
        try await onWorker { loop in
            // As a server does that finds a request when it is called, and a pool that sends what has gathered. There is
            // nothing else here that could wake the loop up.
            let flushed = Waiter()
            let notes = Notes()
            var arrivals = 0
            let flush = loop.atTurnEnd {
                if notes.entries.count == 3 { flushed.resume() }
            }
            let intake = loop.beforeTurnEnd {
                guard arrivals < 3 else { return }
                arrivals += 1
                loop.spawnImmediately { notes.entries.append(1) }
                loop.takeInSoon()
            }
            try await flushed.wait()
            flush.cancel()
            intake.cancel()
        }
    }

    @Test func theLimitOfOpenFilesIsRaisedAndNeverLowered() {
        let before = OpenFiles.allow(0)
        #expect(before > 0)
        #expect(OpenFiles.allow(before + 1) >= before)
        #expect(OpenFiles.allow(10) >= before)
    }
}
