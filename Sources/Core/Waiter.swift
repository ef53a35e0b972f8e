import Synchronization

/// One wait of one task for one event: it ends with `resume`, or with `CancellationError` as soon as the task is
/// cancelled. May be resumed from any thread, before or after the wait begins; only the first resumption counts.
///
/// The continuation need not be a checked one: the state below resumes it exactly once.
///
/// All waiting on a worker goes through here: a plain `withTaskCancellationHandler` in a function that runs where
/// its caller runs would leave the worker's thread, because its operation does not inherit the caller's isolation.
public final class Waiter: Sendable {
    private enum State {
        case new
        case waiting(UnsafeContinuation<Void, any Error>)
        case done((any Error)?)
    }
    private let state = Mutex(State.new)

    public init() {}

    /// Waits until resumed. Call it once.
    public func wait(isolation: isolated (any Actor)? = #isolation) async throws {
        try await withTaskCancellationHandler {
            // The capture is what makes this closure run on the caller's actor.
            _ = isolation
            try await withUnsafeThrowingContinuation { continuation in self.begin(continuation) }
        } onCancel: {
            resume(throwing: CancellationError())
        }
    }

    /// Ends the wait; with an error, by throwing it.
    public func resume(throwing error: (any Error)? = nil) {
        let continuation: UnsafeContinuation<Void, any Error>? = state.withLock { state in
            switch state {
            case .new: state = .done(error)
            case .waiting(let continuation):
                state = .done(error)
                return continuation
            case .done: break
            }
            return nil
        }
        if let continuation { Waiter.resume(continuation, error) }
    }

    private func begin(_ continuation: UnsafeContinuation<Void, any Error>) {
        let ended: (any Error)?? = state.withLock { state in
            if case .done(let error) = state { return .some(error) }
            state = .waiting(continuation)
            return nil
        }
        if let ended { Waiter.resume(continuation, ended) }
    }

    private static func resume(_ continuation: UnsafeContinuation<Void, any Error>, _ error: (any Error)?) {
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }
}
