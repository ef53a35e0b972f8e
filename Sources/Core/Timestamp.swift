import Glibc

/// The time of day as logs and HTTP write it.
public enum Timestamp {
    /// Milliseconds since 1970, UTC.
    public static func millisecondsNow() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Appends `2026-11-21T15:04:05.123Z`.
    public static func append(milliseconds: Int64, to bytes: inout [UInt8]) {
        let seconds = floorDivide(milliseconds, 1000)
        let day = floorDivide(seconds, 86_400)
        let second = Int(seconds - day * 86_400)
        let (year, month, date) = civil(day)
        digits(year, 4, &bytes)
        bytes.append(UInt8(ascii: "-"))
        digits(month, 2, &bytes)
        bytes.append(UInt8(ascii: "-"))
        digits(date, 2, &bytes)
        bytes.append(UInt8(ascii: "T"))
        digits(second / 3600, 2, &bytes)
        bytes.append(UInt8(ascii: ":"))
        digits(second / 60 % 60, 2, &bytes)
        bytes.append(UInt8(ascii: ":"))
        digits(second % 60, 2, &bytes)
        bytes.append(UInt8(ascii: "."))
        digits(Int(milliseconds - seconds * 1000), 3, &bytes)
        bytes.append(UInt8(ascii: "Z"))
    }

    private static func floorDivide(_ value: Int64, _ by: Int64) -> Int64 {
        let quotient = value / by
        return value % by < 0 ? quotient - 1 : quotient
    }

    /// Year, month and day of a day counted from 1970, in the Gregorian calendar: eras of 400 years that begin in
    /// March, so that the leap day is the last of its year (Howard Hinnant, "chrono-compatible low-level date
    /// algorithms").
    private static func civil(_ day: Int64) -> (Int, Int, Int) {
        let shifted = day + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let date = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), Int(month), Int(date))
    }

    private static func digits(_ value: Int, _ count: Int, _ bytes: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<count { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
    }
}
