/// Moments as PostgreSQL reads them.
enum TimestampText {
    /// `2026-01-31 23:59:59.123+00`, with `BC` for years before 1. Days to dates after Howard Hinnant's
    /// "chrono-Compatible Low-Level Date Algorithms".
    static func make(milliseconds: Int64) -> String {
        let days = floorDivide(milliseconds, 86_400_000)
        let rest = Int(milliseconds - days * 86_400_000)
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        let month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        let year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        let shownYear = year > 0 ? year : 1 - year

        let date = "\(padded(shownYear, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let time = "\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1000 % 60, 2))"
        return "\(date) \(time).\(padded(rest % 1000, 3))+00\(year > 0 ? "" : " BC")"
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return text.count >= width ? text : String(repeating: "0", count: width - text.count) + text
    }
}
