import Dates
import Jobs
import Wire

/// When a schedule of `_JobSchedule` is due, as dashboards write it:
/// - `startAfter`: not sooner; without `repeatMinutes` the one time that it is due.
/// - `repeatMinutes`: on each day again and again after so many minutes, from `timeOfDay` on to the day's end; one day
///   (1440) or less. More is counted through the days, from the first `timeOfDay` after `startAfter`.
/// - `daysOfWeek`: seven flags from Monday on (`1`, `"1"`, true); none: every day.
///
/// Beyond what dashboards know: `timeZone`, whose clocks count (UTC without it), and `cron`, an expression in place of
/// all but `startAfter`.
struct ScheduleTimes {
    private static let minute: Int64 = 60_000
    private static let day: Int64 = 86_400_000

    /// Milliseconds since 1970.
    private let start: Int64?
    private let zone: CivilZone
    private let cron: Cron?
    /// 0: only once.
    private let interval: Int
    /// Minutes after midnight.
    private let timeOfDay: Int
    /// From Monday on.
    private let weekdays: [Bool]
    /// Changes with whatever the times follow from.
    let definition: String

    /// - Throws: 142 for what makes no sense.
    init(_ schedule: JSONObject) throws(ParseError) {
        let names = ["startAfter", "repeatMinutes", "timeOfDay", "daysOfWeek", "timeZone", "cron"]
        definition = JSON.array(names.map { schedule[$0] ?? .null }).description
        let zoneName = schedule["timeZone"]?.string ?? "UTC"
        guard let zone = CivilZone(zoneName) else { throw ParseError(142, "There is no time zone \(zoneName).") }
        self.zone = zone
        switch schedule["startAfter"] {
        case nil, .null?: start = nil
        case .string(let text)?:
            guard let moment = Timestamp(iso: text) else { throw ParseError(142, "startAfter is no date.") }
            start = moment.milliseconds
        case let other?:
            guard case .date(let moment)? = try? Value.parse(other) else {
                throw ParseError(142, "startAfter is no date.")
            }
            start = moment.milliseconds
        }
        do throws(Cron.Fault) {
            if let text = schedule["cron"]?.string { cron = try Cron(text) } else { cron = nil }
        } catch { throw ParseError(142, "cron: \(error.description).") }
        let minutes = schedule["repeatMinutes"]?.number ?? 0
        guard minutes >= 0, minutes <= 5_256_000, minutes == minutes.rounded() else {
            throw ParseError(142, "repeatMinutes is a whole number, ten years at most.")
        }
        interval = Int(minutes)
        if let text = schedule["timeOfDay"]?.string, !text.isEmpty {
            let parts = text.split(separator: ":")
            guard parts.count >= 2, let hour = Int(parts[0]), let minute = Int(parts[1]), (0...23).contains(hour),
                (0...59).contains(minute)
            else { throw ParseError(142, "timeOfDay is a time such as 07:30.") }
            timeOfDay = hour * 60 + minute
        } else {
            let clock = zone.clock(at: start ?? 0)
            let minutes = Int(
                (clock % ScheduleTimes.day + ScheduleTimes.day) % ScheduleTimes.day / ScheduleTimes.minute)
            // An interval without a time of day goes through the whole of it.
            timeOfDay = (1..<1440).contains(interval) ? minutes % interval : minutes
        }
        let days = schedule["daysOfWeek"]?.array ?? []
        let flags = days.map { [1, "1", true, "true"].contains($0) }
        // Who writes numbers of days is told.
        guard days.count <= 7, zip(days, flags).allSatisfy({ $1 || [0, "0", false, "false", .null].contains($0) })
        else { throw ParseError(142, "daysOfWeek is seven flags from Monday on, such as [1, 1, 1, 1, 1, 0, 0].") }
        weekdays = flags.contains(true) ? flags : Array(repeating: true, count: 7)
    }

    /// The first time of all.
    func first(at present: Int64) -> Int64? {
        cron == nil && interval == 0 ? start ?? present : next(after: present)
    }

    /// The first time after a moment; nil: never again.
    func next(after moment: Int64) -> Int64? {
        let from = max(moment, (start ?? .min + 1) - 1)
        if let cron { return cron.next(after: from, in: zone) }
        guard interval > 0 else { return nil }
        return interval <= 1440 ? nextOfDay(after: from) : nextThroughDays(after: from)
    }

    private func nextOfDay(after from: Int64) -> Int64? {
        let today = floorDays(zone.clock(at: from))
        // The day before, since what clocks skip comes late.
        for day in today - 1...today + 8 where includes(day) {
            for minute in stride(from: timeOfDay, to: 1440, by: interval) {
                let candidate = moment(day, minute)
                if candidate > from { return candidate }
            }
        }
        return nil
    }

    private func nextThroughDays(after from: Int64) -> Int64? {
        let begin = start ?? 0
        var anchor = moment(floorDays(zone.clock(at: begin)), timeOfDay)
        if anchor < begin { anchor += ScheduleTimes.day }
        let step = Int64(interval) * ScheduleTimes.minute
        var candidate = from < anchor ? anchor : anchor + ((from - anchor) / step + 1) * step
        // Seven weekdays, whatever the step: one that has not come by then never does.
        for _ in 0..<7 * 1440 {
            if includes(floorDays(zone.clock(at: candidate))) { return candidate }
            candidate += step
        }
        return nil
    }

    private func moment(_ day: Int64, _ minute: Int) -> Int64 {
        zone.moment(clock: day * ScheduleTimes.day + Int64(minute) * ScheduleTimes.minute)
    }

    private func floorDays(_ clock: Int64) -> Int64 {
        clock >= 0 ? clock / ScheduleTimes.day : (clock - ScheduleTimes.day + 1) / ScheduleTimes.day
    }

    /// 1970-01-01 was a Thursday.
    private func includes(_ day: Int64) -> Bool {
        let weekday = Int(((day + 3) % 7 + 7) % 7)
        return weekday < weekdays.count && weekdays[weekday]
    }
}
