import Core
import Glibc
import Synchronization

/// The threads on which passwords are hashed: as many as the machine has processors, and of less weight than all
/// others of the process, so that a storm of log-ins takes the time that reads leave.
enum HashingThreads {
    /// As in setpriority(2): a quarter of the time of a thread that has 0, where both want all of it.
    private static let niceness: Int32 = 5

    private struct State {
        var workers: [Worker] = []
        var waiting: [Int] = []
    }
    private static let state = Mutex(State())

    /// Runs `body` on the thread that has the least to do.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        let (worker, index) = state.withLock { state in
            if state.workers.isEmpty {
                let count = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
                state.workers = (0..<count).map { Worker(index: $0, name: "passwords") }
                state.waiting = Array(repeating: 0, count: count)
            }
            let index = state.waiting.indices.min { state.waiting[$0] < state.waiting[$1] } ?? 0
            state.waiting[index] += 1
            return (state.workers[index], index)
        }
        defer { state.withLock { $0.waiting[index] -= 1 } }
        return await worker.run { _, _ in
            // Of the calling thread alone, as Linux has it.
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
            return body()
        }
    }
}
