import Glibc

extension Timestamp {
    /// This machine's clock. Stored times come from the database instead.
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Reads what `$relativeTime` takes: `now`, `in 1 day 2 hours`, `3 wks ago`.
    /// - Throws: 107 for anything else.
    static func relative(_ text: String, to now: Timestamp) throws(ParseError) -> Timestamp {
        func refuse(_ reason: String) -> ParseError {
            .json("bad $relativeTime (\(ParseError.clipped(text))) value. \(ParseError.clipped(reason))")
        }
        let lower = text.lowercased()
        if lower == "now" { return now }
        var parts = lower.split(separator: " ")[...]
        let isFuture = parts.first == "in"
        let isPast = parts.last == "ago"
        guard isFuture || isPast else { throw refuse("Time should either start with 'in' or end with 'ago'") }
        guard !(isFuture && isPast) else { throw refuse("Time cannot have both 'in' and 'ago'") }
        if isFuture { parts = parts.dropFirst() } else { parts = parts.dropLast() }
        guard parts.count % 2 == 0 else { throw refuse("Invalid time string. Dangling unit or number.") }
        var seconds: Int64 = 0
        while let number = parts.popFirst(), let unit = parts.popFirst() {
            guard let length = length(of: unit) else { throw refuse("Invalid interval: '\(unit)'") }
            guard let count = Int64(number) else { throw refuse("'\(number)' is not an integer.") }
            let (product, overflow) = count.multipliedReportingOverflow(by: length)
            let (sum, overflowToo) = seconds.addingReportingOverflow(product)
            guard !overflow, !overflowToo else { throw refuse("Time too far away.") }
            seconds = sum
        }
        guard seconds.magnitude < UInt64(limit / 1000) else { throw refuse("Time too far away.") }
        let milliseconds = now.milliseconds + (isFuture ? seconds : -seconds) * 1000
        guard milliseconds.magnitude <= UInt64(limit) else { throw refuse("Time too far away.") }
        return Timestamp(milliseconds: milliseconds)
    }

    private static func length(of unit: Substring) -> Int64? {
        switch unit {
        case "yr", "yrs", "year", "years": 31_536_000
        case "wk", "wks", "week", "weeks": 604_800
        case "d", "day", "days": 86_400
        case "hr", "hrs", "hour", "hours": 3600
        case "min", "mins", "minute", "minutes": 60
        case "sec", "secs", "second", "seconds": 1
        default: nil
        }
    }
}
