/// Keeps a host that is out of order from being called, and those who would call it from waiting for nothing.
///
/// Closed, it lets all calls through. After so many failures in a row it opens and lets none through; when its pause is
/// over it lets one through, whose outcome closes it, or opens it for another pause. No clock and no I/O: times are the
/// caller's, in nanoseconds.
struct CircuitBreaker {
    enum State: Equatable {
        case closed
        case open(until: UInt64)
        /// One call is on its way to see whether the host is back.
        case halfOpen
    }

    private(set) var state = State.closed
    private var failuresInARow = 0
    private let threshold: Int
    private let pause: UInt64

    /// - Parameters:
    ///   - threshold: failures in a row that open it.
    ///   - pause: nanoseconds that it stays open.
    init(threshold: Int, pause: UInt64) {
        self.threshold = max(1, threshold)
        self.pause = pause
    }

    /// Whether a call that asked now would be refused.
    func refuses(at now: UInt64) -> Bool {
        switch state {
        case .closed: false
        case .open(let until): now < until
        case .halfOpen: true
        }
    }

    /// Whether a call may go now. True binds the caller to tell how it ended.
    mutating func admit(at now: UInt64) -> Bool {
        guard !refuses(at: now) else { return false }
        if state != .closed { state = .halfOpen }
        return true
    }

    mutating func succeeded() {
        failuresInARow = 0
        // A call that began before the breaker opened may end after it: the host is back all the same.
        state = .closed
    }

    mutating func failed(at now: UInt64) {
        failuresInARow += 1
        switch state {
        case .closed where failuresInARow < threshold: break
        case .closed, .halfOpen: state = .open(until: now &+ pause)
        // Those that began before it opened say nothing new.
        case .open: break
        }
    }

    /// The call was given up before anything was known.
    mutating func abandoned(at now: UInt64) {
        if state == .halfOpen { state = .open(until: now) }
    }
}
