import Dates

/// When something runs again and again: a cron expression of five fields (minute, hour, day of the month, month, day of
/// the week), read by the clocks of a time zone.
///
/// Fields are as crontab(5) has them: `*`, numbers, ranges, lists, steps (`*/15`, `8-18/2`), names of months and days
/// in English, Sunday as 0 or 7; or `@hourly`, `@daily` (`@midnight`), `@weekly`, `@monthly`, `@yearly` (`@annually`).
/// Where both the day of the month and that of the week are restricted, either is enough.
///
/// When clocks are set forward, a run at a time that they skip happens at the moment of the change; when they are set
/// back, a run at a time that comes twice happens once, the first time. What runs in every hour runs in each of them,
/// the one that comes twice included.
public struct Cron: Sendable, Equatable, CustomStringConvertible {
    public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    public let description: String
    private let minutes: Set<Int>
    private let hours: Set<Int>
    private let days: Set<Int>
    private let months: Set<Int>
    /// 0 is Sunday.
    private let weekdays: Set<Int>
    private let daysAreFree: Bool
    private let weekdaysAreFree: Bool

    private static let macros = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]

    /// - Throws: `Fault`, a sentence that says what cannot be read, or that the expression names no day that exists.
    public init(_ expression: String) throws(Fault) {
        let name = expression.filter { !$0.isWhitespace }.lowercased()
        if name.hasPrefix("@"), Cron.macros[name] == nil {
            throw Fault(
                description:
                    "there is no \(expression): take one of \(Cron.macros.keys.sorted().joined(separator: ", "))")
        }
        let fields = (Cron.macros[name] ?? expression).split(whereSeparator: \.isWhitespace).map(String.init)
        guard fields.count == 5 else {
            throw Fault(
                description:
                    "a schedule has five fields (minute, hour, day, month, day of the week), not \(fields.count)")
        }
        description = fields.joined(separator: " ")
        minutes = try CronField.minute.read(fields[0])
        hours = try CronField.hour.read(fields[1])
        days = try CronField.day.read(fields[2])
        months = try CronField.month.read(fields[3])
        weekdays = Set(try CronField.weekday.read(fields[4]).map { $0 % 7 })
        daysAreFree = fields[2].hasPrefix("*")
        weekdaysAreFree = fields[4].hasPrefix("*")
        let earliest = days.min() ?? 1
        // 2024 has a 29 February.
        guard !weekdaysAreFree || months.contains(where: { CivilDate.days(inMonth: $0, of: 2024) >= earliest }) else {
            throw Fault(description: "\"\(description)\" names a day that no year has")
        }
    }

    private func includes(_ date: CivilDate) -> Bool {
        guard months.contains(date.month) else { return false }
        let day = days.contains(date.day)
        let weekday = weekdays.contains(Cron.weekday(date))
        return daysAreFree || weekdaysAreFree ? day && weekday : day || weekday
    }

    /// 0 is Sunday. (1970-01-01 was a Thursday.)
    private static func weekday(_ date: CivilDate) -> Int { ((date.daysSince1970 + 4) % 7 + 7) % 7 }

    // MARK: the next run

    private static let minute: Int64 = 60_000
    private static let day: Int64 = 86_400_000
    /// No day that can be named is farther away: 29 February, across a year 2100 that has none.
    private static let horizon = 8 * 366 + 1

    /// The first run after a moment; both in milliseconds since 1970.
    ///
    /// - Returns: nil where there is none within eight years.
    public func next(after moment: Int64, in zone: CivilZone) -> Int64? {
        hours.count == 24 ? nextOfEveryHour(after: moment, zone) : nextByClock(after: moment, zone)
    }

    /// Looks for the next time that the clocks may show.
    private func nextByClock(after moment: Int64, _ zone: CivilZone) -> Int64? {
        let clock = zone.clock(at: moment)
        // A time that was skipped comes at the change, when clocks already show a later one; so a little earlier.
        let start = CivilTime(millisecondsSince1970: clock - Cron.day).date.daysSince1970
        for number in start...start + Cron.horizon + 1 where includes(CivilDate(daysSince1970: number)) {
            for hour in hours.sorted() {
                for minute in minutes.sorted() {
                    let shown = Int64(number) * Cron.day + Int64(hour * 60 + minute) * Cron.minute
                    guard shown > clock - Cron.day else { continue }
                    let candidate = zone.moment(clock: shown)
                    if candidate > moment { return candidate }
                }
            }
        }
        return nil
    }

    /// Goes from minute to minute of real time, through days that count.
    private func nextOfEveryHour(after moment: Int64, _ zone: CivilZone) -> Int64? {
        var candidate = (moment >= 0 ? moment / Cron.minute : (moment - Cron.minute + 1) / Cron.minute) * Cron.minute
        candidate += Cron.minute
        let end = moment + Int64(Cron.horizon) * Cron.day
        while candidate <= end {
            let shown = CivilTime(millisecondsSince1970: zone.clock(at: candidate))
            if includes(shown.date) {
                if minutes.contains(shown.minute), shown.second == 0 { return candidate }
                candidate += shown.second == 0 ? Cron.minute : Int64(60 - shown.second) * 1000
                continue
            }
            // To the next day that counts.
            let today = shown.date.daysSince1970
            guard
                let next = (today + 1...today + Cron.horizon).first(where: { includes(CivilDate(daysSince1970: $0)) })
            else { return nil }
            let midnight = zone.moment(clock: Int64(next) * Cron.day)
            candidate = max(midnight, candidate + Cron.minute)
        }
        return nil
    }
}

/// One field of an expression.
private struct CronField {
    let title: String
    let range: ClosedRange<Int>
    var names: [String] = []

    static let minute = CronField(title: "minute", range: 0...59)
    static let hour = CronField(title: "hour", range: 0...23)
    static let day = CronField(title: "day of the month", range: 1...31)
    static let month = CronField(
        title: "month", range: 1...12,
        names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
    static let weekday = CronField(
        title: "day of the week", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])

    func read(_ text: String) throws(Cron.Fault) -> Set<Int> {
        var values: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "/", omittingEmptySubsequences: false)
            var step = 1
            if sides.count == 2, let given = Int(sides[1]), given > 0 {
                step = given
            } else if sides.count != 1 {
                throw fault(part)
            }
            let bounds = try self.range(sides[0], in: part, hasStep: sides.count == 2)
            values.formUnion(stride(from: bounds.lowerBound, through: bounds.upperBound, by: step))
        }
        return values
    }

    private func range(
        _ text: Substring, in part: Substring, hasStep: Bool
    ) throws(Cron.Fault) -> ClosedRange<Int> {
        if text == "*" { return range }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let first = value(ends[0]), ends.count <= 2 else { throw fault(part) }
        guard ends.count == 2 else {
            // A step needs something to go through.
            guard !hasStep else { throw fault(part) }
            return first...first
        }
        guard let last = value(ends[1]), first <= last else { throw fault(part) }
        return first...last
    }

    private func value(_ text: Substring) -> Int? {
        if let index = names.firstIndex(of: text.lowercased()) { return index + range.lowerBound }
        guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let value = Int(text), range.contains(value) else {
            return nil
        }
        return value
    }

    private func fault(_ part: Substring) -> Cron.Fault {
        Cron.Fault(
            description: "\"\(part)\" is no \(title): it goes from \(range.lowerBound) to \(range.upperBound)")
    }
}
