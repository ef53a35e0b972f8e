import Dates
import Glibc

/// The time of day as logs write it.
public enum Timestamp {
    /// Milliseconds since 1970, UTC.
    public static func millisecondsNow() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Appends `2026-11-21T15:04:05.123Z`.
    public static func append(milliseconds: Int64, to bytes: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: CivilTime.maximumISOLength) { text in
            guard let start = text.baseAddress else { return }
            let count = CivilTime(millisecondsSince1970: milliseconds).writeISO(to: start)
            bytes.append(contentsOf: text[..<count])
        }
    }
}
