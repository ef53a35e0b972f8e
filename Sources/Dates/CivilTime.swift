/// A moment in UTC, as calendars and clocks show it.
public struct CivilTime: Sendable, Hashable {
    public let date: CivilDate
    public let hour: Int
    public let minute: Int
    public let second: Int
    public let millisecond: Int

    public init(millisecondsSince1970 milliseconds: Int64) {
        let day: Int64 = 86_400_000
        var (days, rest) = milliseconds.quotientAndRemainder(dividingBy: day)
        if rest < 0 {
            days -= 1
            rest += day
        }
        date = CivilDate(daysSince1970: Int(days))
        let time = Int(rest)
        hour = time / 3_600_000
        minute = time / 60_000 % 60
        second = time / 1000 % 60
        millisecond = time % 1000
    }

    /// How many bytes `writeISO` writes at most: with a sign and six digits of the year.
    public static let maximumISOLength = 27

    /// Writes what JavaScript's `toISOString` answers: `2024-01-01T00:00:00.000Z`; years before 0 or after 9999 as
    /// `±012345`. Returns how many bytes those are.
    public func writeISO(to start: UnsafeMutablePointer<UInt8>) -> Int {
        var end = start
        func put(_ byte: Unicode.Scalar) {
            end.pointee = UInt8(ascii: byte)
            end += 1
        }
        func two(_ value: Int) {
            end[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10)
            end[1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
            end += 2
        }
        let year = date.year.magnitude
        if date.year < 0 || date.year > 9999 {
            put(date.year < 0 ? "-" : "+")
            two(Int(truncatingIfNeeded: year / 10_000))
        }
        two(Int(truncatingIfNeeded: year / 100 % 100))
        two(Int(truncatingIfNeeded: year % 100))
        put("-")
        two(date.month)
        put("-")
        two(date.day)
        put("T")
        two(hour)
        put(":")
        two(minute)
        put(":")
        two(second)
        put(".")
        put(Unicode.Scalar(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: millisecond / 100)))
        two(millisecond % 100)
        put("Z")
        return end - start
    }
}
