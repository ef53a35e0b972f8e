import Core
import Store

/// How long an answer takes that must not tell whether an address is known.
enum EvenTime {
    /// Nanoseconds: many times what it takes to keep a mail.
    static let step: UInt64 = 100_000_000

    /// How much longer to wait, so that in all it is a whole number of steps, and one at least.
    static func rest(after elapsed: UInt64) -> UInt64 { step - elapsed % step }
}

extension Accounts {
    /// Runs `body`, which does more for an address that is known, and where that is `hidden` ends when that no longer
    /// tells.
    func evenly<Result>(_ hidden: Bool, _ body: () async throws -> Result) async throws -> Result {
        guard hidden else { return try await body() }
        let start = Loop.monotonicNow()
        let result = try await body()
        try await database.loop.sleep(nanoseconds: EvenTime.rest(after: Loop.monotonicNow() &- start))
        return result
    }
}
