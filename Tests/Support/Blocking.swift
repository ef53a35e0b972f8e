import Glibc
import Synchronization

/// Runs what blocks on a thread of its own: Swift's pool has only as many threads as the machine has cores, and tests
/// run in parallel.
public func blocking<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Starts a thread that nobody waits for.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(Start(body)).toOpaque()
    let result = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }, argument)
    precondition(result == 0, "no thread left for a test")
    pthread_detach(thread)
}
