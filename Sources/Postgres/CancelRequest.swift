import CLibPQ
import Core
import Glibc
import Synchronization

/// Asks the server to end what a connection runs. libpq 15 can do that only by blocking (a second connection, plain
/// TCP even where the first uses TLS), so it happens on threads of its own, a few at a time.
enum CancelRequest {
    /// A request: owns its PGcancel, which libpq makes for use from other threads.
    /// - Safety: `cancel` is used by one thread only, the one that takes the request from the queue, and freed there.
    private struct Request: @unchecked Sendable {
        let cancel: OpaquePointer
        let done: Waiter
    }
    private struct State {
        var queue: [Request] = []
        var threads = 0
    }
    private static let state = Mutex(State())
    private static let threadLimit = 8

    /// Sends a request; `completion` runs on the loop when the server has taken it, or could not be reached.
    static func send(_ handle: OpaquePointer, _ loop: Loop, _ completion: @escaping () -> Void) {
        guard let cancel = PQgetCancel(handle) else { return completion() }
        let done = Waiter()
        loop.spawn {
            try? await done.wait()
            completion()
        }
        let needsThread = state.withLock { state in
            state.queue.append(Request(cancel: cancel, done: done))
            guard state.threads < threadLimit else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { _ in
                CancelRequest.work()
                return nil
            }, nil)
        if result == 0 { pthread_detach(thread) } else { work() }
    }

    private static func work() {
        while true {
            let next: Request? = state.withLock { state in
                if state.queue.isEmpty {
                    state.threads -= 1
                    return nil
                }
                return state.queue.removeFirst()
            }
            guard let next else { return }
            var message = [CChar](repeating: 0, count: 256)
            _ = PQcancel(next.cancel, &message, 256)
            PQfreeCancel(next.cancel)
            next.done.resume()
        }
    }
}

/// Which cancel requests of a connection are under way. One may arrive late and hit the statement after.
struct CancelState {
    var underWay = 0
    /// Until then, a cancelled statement may be a victim of a request that was meant for another.
    var strayUntil: UInt64 = 0
}

extension Connection {
    /// Cancels what runs now; `completion` runs when the request was taken.
    func cancelCurrent(_ completion: @escaping () -> Void = {}) {
        guard let handle, phase == .ready else { return completion() }
        cancels.underWay += 1
        CancelRequest.send(handle, loop) { [weak self] in
            if let self {
                cancels.underWay -= 1
                cancels.strayUntil = loop.now + 1_000_000_000
            }
            completion()
        }
    }

    /// Whether this error may come from a cancel request that was meant for another statement.
    func mayBeStray(_ error: PostgresError) -> Bool {
        error.sqlState == "57014" && (cancels.underWay > 0 || loop.now < cancels.strayUntil)
    }
}
