internal import Cloud
internal import Core
internal import Synchronization
internal import Wire

/// How often something may be called: so many times in each window of time, by one user or, without a session, from one
/// address. Each node counts for itself.
public struct RateLimit: Sendable {
    let count: Int
    let window: Duration

    /// So many calls in each window.
    public init(_ count: Int, every window: Duration) {
        self.count = count
        self.window = window
    }

    /// So many calls a minute.
    public static func perMinute(_ count: Int) -> RateLimit { RateLimit(count, every: .seconds(60)) }
    /// So many calls an hour.
    public static func perHour(_ count: Int) -> RateLimit { RateLimit(count, every: .seconds(3600)) }
    /// So many calls in 24 hours.
    public static func perDay(_ count: Int) -> RateLimit { RateLimit(count, every: .seconds(86_400)) }

    var description: JSON { ["count": .number(Double(count)), "seconds": .number(window.seconds)] }
}

/// Counts the calls of one function.
final class RateCounter: Sendable {
    private struct Count {
        var calls = 0
        /// When its window ends, on the monotonic clock.
        var end: UInt64
    }

    /// More callers than these in one window are let pass uncounted rather than kept in memory.
    private static let maximum = 100_000

    private let limit: RateLimit
    private let counts = Mutex<[String: Count]>([:])

    init(_ limit: RateLimit) { self.limit = limit }

    /// - Throws: 155 past the limit.
    func count(_ call: CloudCall) throws(ParseError) {
        guard let key = call.userId ?? call.payload["ip"]?.string else { return }
        try count(key, at: Loop.monotonicNow())
    }

    func count(_ key: String, at now: UInt64) throws(ParseError) {
        let window = UInt64(limit.window.seconds * 1e9)
        let isPast: Bool = counts.withLock { counts in
            if let count = counts[key], count.end > now {
                guard count.calls < limit.count else { return true }
                counts[key]?.calls += 1
                return false
            }
            if counts.count >= RateCounter.maximum { counts = counts.filter { $0.value.end > now } }
            if counts.count < RateCounter.maximum { counts[key] = Count(calls: 1, end: now + window) }
            return limit.count < 1
        }
        if isPast { throw ParseError(155, "Too many requests.") }
    }
}
