import Core

/// How long to leave a server alone that could not be reached: 50 ms, doubling up to 2 s, each with jitter, so that
/// many clients do not come back at the same moment.
struct Backoff {
    private var failures = 0
    private var notBefore: UInt64 = 0
    /// Why the last attempt failed; nil after one that succeeded.
    private(set) var lastError: PostgresError?

    func allows(_ loop: Loop) -> Bool { loop.now >= notBefore }

    mutating func succeeded() {
        failures = 0
        notBefore = 0
        lastError = nil
    }

    mutating func failed(_ error: PostgresError, _ loop: Loop) {
        lastError = error
        notBefore = loop.now + delay()
        failures += 1
    }

    /// Nanoseconds to wait after the failures so far.
    func delay() -> UInt64 {
        let full = min(UInt64(50_000_000) << UInt64(min(failures, 10)), 2_000_000_000)
        return UInt64.random(in: full / 2...full)
    }
}
