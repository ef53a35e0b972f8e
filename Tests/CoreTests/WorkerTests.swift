import Core
import Testing

final class NotSendable { var count = 0 }

@Suite struct WorkerTests {
    @Test func aTaskMayKeepWhatIsNotSendable() async throws {
        let worker = Worker()
        let n = await worker.run { _, loop in
            let thing = NotSendable()
            let task = loop.spawn {
                try? await loop.sleep(nanoseconds: 1_000_000)
                thing.count += 1
            }
            await task.value
            #expect(loop.executor.isCurrent)
            return thing.count
        }
        #expect(n == 1)
        await worker.stop()
    }
}
