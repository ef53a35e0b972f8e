import Core
import Glibc
import Testing

@Suite struct SignalTests {
    @Test func signalsComeAsEventsOfALoop() async throws {
        let worker = Worker()
        try await worker.run { _, loop in
            // Real-time signals, which nothing else in this process uses.
            let numbers = [Int32(40), 41]
            let both = Waiter()
            var seen: [Int32] = []
            let source = SignalSource(numbers, loop: loop) { number in
                seen.append(number)
                if seen.count == 3 { both.resume() }
            }
            for number in [numbers[1], numbers[0], numbers[0]] { kill(getpid(), number) }
            try await both.wait()
            #expect(seen.sorted() == [40, 40, 41])
            source.cancel()
        }
        await worker.stop()
    }
}
