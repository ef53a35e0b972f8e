internal import Options
internal import Wire

/// How often something may be called: so many times in each window of time, by one user or, without a session, from one
/// address. It is counted in the database, for all nodes together; calls of cloud code's own do not count, those of a page for its
/// visitor do.
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

    func option(function: String) -> ServerOptions.RateLimit {
        var option = ServerOptions.RateLimit()
        option.requestPath = "/functions/\(function)"
        option.requestTimeWindow = window.seconds * 1000
        option.requestCount = count
        option.zone = .user
        option.includeInternalRequests = true
        return option
    }

    var description: JSON { ["count": .number(Double(count)), "seconds": .number(window.seconds)] }
}
