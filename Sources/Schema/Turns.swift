import Core

/// One at a time for each name.
final class Turns {
    enum Outcome<Result> {
        case taken(Result)
        /// While waiting for the turn it turned out that it is not needed any more.
        case needless
        /// The turn did not come before the deadline.
        case late
    }

    private let loop: Loop
    /// Who waits, for each name that somebody has.
    private var waiting: [String: [Waiter]] = [:]

    init(loop: Loop) { self.loop = loop }

    /// Runs `body` when nobody else has the name. Whenever somebody gives it back, all who wait ask themselves first
    /// whether they still need it, so that many who want the same thing don't do it one after another.
    ///
    /// - Parameter deadline: in monotonic nanoseconds.
    func take<Result>(
        _ name: String, until deadline: UInt64, unless isDone: () async throws -> Bool,
        _ body: () async throws -> Result
    ) async throws -> Outcome<Result> {
        while waiting[name] != nil {
            let now = Loop.monotonicNow()
            guard now < deadline else { return .late }
            let waiter = Waiter()
            waiting[name]?.append(waiter)
            let timer = loop.schedule(after: deadline - now) { waiter.resume() }
            defer { timer.cancel() }
            try await waiter.wait()
            if try await isDone() { return .needless }
        }
        waiting[name] = []
        defer { waiting.removeValue(forKey: name)?.forEach { $0.resume() } }
        return .taken(try await body())
    }
}
