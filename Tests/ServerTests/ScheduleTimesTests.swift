import Testing
import Wire

@testable import Server

/// When schedules are due, as dashboards write them.
@Suite struct ScheduleTimesTests {
    private func times(_ schedule: JSON, after moment: String, _ count: Int = 3) throws -> [String] {
        let times = try ScheduleTimes(schedule.object ?? JSONObject())
        var found: [String] = []
        var next = times.first(at: try #require(Timestamp(iso: moment)).milliseconds)
        while let due = next, found.count < count {
            found.append(String("\(Timestamp(milliseconds: due))".prefix(16)))
            next = times.next(after: due)
        }
        return found
    }

    @Test func onceAtItsTimeOrAtOnce() throws {
        #expect(
            try times(["startAfter": "2026-03-01T10:00:00.000Z"], after: "2026-02-01T00:00") == ["2026-03-01T10:00"])
        #expect(try times([:], after: "2026-02-01T00:00") == ["2026-02-01T00:00"])
    }

    @Test func everyDay() throws {
        let daily: JSON = [
            "startAfter": "2026-03-01T10:00:00.000Z", "timeOfDay": "07:30:00.000Z", "repeatMinutes": 1440,
        ]
        #expect(
            try times(daily, after: "2026-02-01T00:00")
                == ["2026-03-02T07:30", "2026-03-03T07:30", "2026-03-04T07:30"])
        // What is long past is not made up for when the schedule is new.
        #expect(try times(daily, after: "2026-06-01T08:00", 1) == ["2026-06-02T07:30"])
    }

    @Test func everyFewMinutesFromATimeOfDayOn() throws {
        let found = try times(["timeOfDay": "23:20", "repeatMinutes": 15], after: "2026-03-01T23:21", 4)
        #expect(found == ["2026-03-01T23:35", "2026-03-01T23:50", "2026-03-02T23:20", "2026-03-02T23:35"])
        let all = try times(
            ["startAfter": "2026-03-01T10:07:00.000Z", "repeatMinutes": 720], after: "2026-03-01T00:00", 3)
        #expect(all == ["2026-03-01T10:07", "2026-03-01T22:07", "2026-03-02T10:07"])
    }

    @Test func everyFewDays() throws {
        let found = try times(
            ["startAfter": "2026-03-01T12:00:00.000Z", "timeOfDay": "10:00", "repeatMinutes": 4320],
            after: "2026-03-01T00:00")
        #expect(found == ["2026-03-02T10:00", "2026-03-05T10:00", "2026-03-08T10:00"])
    }

    @Test func onSomeDaysOfTheWeek() throws {
        // 2 March 2026 is a Monday; the flags begin with it.
        for flags: JSON in [[1, 0, 0, 0, 0, 0, 1], ["1", "0", "0", "0", "0", "0", "1"]] {
            let found = try times(
                ["timeOfDay": "09:00", "repeatMinutes": 1440, "daysOfWeek": flags], after: "2026-03-01T00:00")
            #expect(found == ["2026-03-01T09:00", "2026-03-02T09:00", "2026-03-08T09:00"])
        }
        let tuesdays = try times(
            ["timeOfDay": "09:00", "repeatMinutes": 1440, "daysOfWeek": ["0", "1"]], after: "2026-03-01T00:00", 2)
        #expect(tuesdays == ["2026-03-03T09:00", "2026-03-10T09:00"])
        for wrong: JSON in [[1, 5], ["mon"], [1, 1, 1, 1, 1, 0, 0, 0]] {
            #expect(throws: ParseError.self) {
                try times(["repeatMinutes": 1440, "daysOfWeek": wrong], after: "2026-03-01T00:00")
            }
        }
    }

    @Test func byTheClocksOfAZone() throws {
        let found = try times(
            ["timeOfDay": "02:30", "repeatMinutes": 1440, "timeZone": "Europe/Madrid"], after: "2026-03-28T00:00")
        #expect(found == ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"])
        let cron = try times(
            ["cron": "0 7 * * 1-5", "timeZone": "Europe/Madrid", "startAfter": "2026-03-27T12:00:00.000Z"],
            after: "2026-03-01T00:00", 2)
        #expect(cron == ["2026-03-30T05:00", "2026-03-31T05:00"])
    }
}
