import Core
import Glibc

/// Somebody pressed Ctrl-C, or the system asks the program to end.
public struct Interrupted: Error, Sendable, CustomStringConvertible {
    /// How to go on.
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// What can't be done, as a sentence that says what to do.
public struct ArchiveFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Long work on a worker of its own that Ctrl-C and SIGTERM stop: its task is cancelled, and it cleans up. A second
/// Ctrl-C ends the program.
public enum LongWork {
    /// - Parameter advice: how to go on after an interruption.
    /// - Throws: what `body` throws; `Interrupted` where it was stopped.
    public static func run<Result: Sendable>(
        _ advice: String, _ body: @escaping @Sendable (isolated Worker, Loop) async throws -> Result
    ) async throws -> Result {
        SignalSource.ignoreBrokenPipes()
        let worker = Worker(name: "archive")
        // Signals are heard while the other one is busy.
        let ears = Worker(name: "signals")
        let work = Task { try await worker.run { worker, loop in try await body(worker, loop) } }
        let source = try await Resident(on: ears) { loop in
            SignalSource([SIGINT, SIGTERM], loop: loop) { _ in
                if work.isCancelled { exit(130) }
                work.cancel()
            }
        }
        let result = await work.result
        await source.end()
        await worker.stop()
        await ears.stop()
        if work.isCancelled, case .failure = result { throw Interrupted(advice) }
        return try result.get()
    }
}
