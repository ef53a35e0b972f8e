import Dates

/// Moments as PostgreSQL reads them.
public enum TimestampText {
    /// `2026-01-31 23:59:59.123+00`, with `BC` for years before 1.
    public static func make(milliseconds: Int64) -> String {
        let moment = CivilTime(millisecondsSince1970: milliseconds)
        let (year, date) = (moment.date.year, moment.date)
        let day = "\(padded(year > 0 ? year : 1 - year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
        let time = "\(padded(moment.hour, 2)):\(padded(moment.minute, 2)):\(padded(moment.second, 2))"
        return "\(day) \(time).\(padded(moment.millisecond, 3))+00\(year > 0 ? "" : " BC")"
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return text.count >= width ? text : String(repeating: "0", count: width - text.count) + text
    }
}
