/// A value that lives on a worker, held by code that does not: it is reached by running there.
///
/// - Safety: unchecked, because `value` is read and written on the worker alone: by `run` and `end`, which are there.
public final class Resident<Value>: @unchecked Sendable {
    public let worker: Worker
    private var value: Value?

    /// Makes the value on the worker.
    public init(on worker: Worker, _ make: @Sendable (Loop) async throws -> Value) async throws {
        self.worker = worker
        try await worker.run { _, loop in self.value = try await make(loop) }
    }

    /// Runs `body` on the worker; nil once the value has ended.
    @discardableResult
    public func run<Result: Sendable>(
        _ body: @Sendable (Value) async throws -> Result
    ) async rethrows -> Result? {
        try await worker.run { _, _ in
            guard let value = self.value else { return nil }
            return try await body(value)
        }
    }

    /// Lets go of the value, on the worker: what it owns is closed where it lived.
    public func end() async { await worker.run { _, _ in self.value = nil } }
}
