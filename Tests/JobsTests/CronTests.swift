import Dates
import Testing
import Wire

@testable import Jobs

@Suite struct CronTests {
    /// The runs after a moment, as UTC shows them.
    private func runs(
        _ expression: String, in zone: String = "Europe/Madrid", after moment: String, _ count: Int = 1
    ) throws -> [String] {
        let cron = try Cron(expression)
        let zone = try #require(CivilZone(zone))
        var last = try #require(Timestamp(iso: moment)).milliseconds
        var runs: [String] = []
        while runs.count < count, let next = cron.next(after: last, in: zone) {
            #expect(next > last)
            runs.append(String("\(Timestamp(milliseconds: next))".prefix(16)))
            last = next
        }
        return runs
    }

    @Test func aTimeOfDayFollowsTheClocksOfItsZone() throws {
        let found = try runs("0 7 * * *", after: "2026-03-27T12:00:00Z", 3)
        // Winter, then summer.
        #expect(found == ["2026-03-28T06:00", "2026-03-29T05:00", "2026-03-30T05:00"])
    }

    @Test func aRunAtItsOwnMinuteIsNotMadeAgain() throws {
        #expect(try runs("0 7 * * *", after: "2026-03-30T05:00:00Z") == ["2026-03-31T05:00"])
        #expect(try runs("0 7 * * *", after: "2026-03-30T04:59:59Z") == ["2026-03-30T05:00"])
    }

    // 29 March 2026: at 01:00 UTC clocks go from 02:00 to 03:00.
    @Test func aTimeThatClocksSkipComesOnceAtTheChange() throws {
        let found = try runs("30 2 * * *", after: "2026-03-28T12:00:00Z", 2)
        #expect(found == ["2026-03-29T01:00", "2026-03-30T00:30"])
        let several = try runs("15,45 2,3 * * *", after: "2026-03-28T12:00:00Z", 4)
        #expect(several == ["2026-03-29T01:00", "2026-03-29T01:15", "2026-03-29T01:45", "2026-03-30T00:15"])
    }

    // 25 October 2026: at 01:00 UTC clocks go from 03:00 back to 02:00.
    @Test func aTimeThatComesTwiceIsKeptOnce() throws {
        let found = try runs("30 2 * * *", after: "2026-10-24T12:00:00Z", 2)
        #expect(found == ["2026-10-25T00:30", "2026-10-26T01:30"])
        // Asked between the two, and within the second.
        #expect(try runs("30 2 * * *", after: "2026-10-25T00:45:00Z") == ["2026-10-26T01:30"])
        #expect(try runs("30 2 * * *", after: "2026-10-25T01:10:00Z") == ["2026-10-26T01:30"])
        #expect(try runs("10 3 * * *", after: "2026-10-25T00:45:00Z") == ["2026-10-25T02:10"])
    }

    @Test func whatRunsInEveryHourRunsInRealTime() throws {
        let spring = try runs("0 * * * *", after: "2026-03-28T23:30:00Z", 4)
        #expect(spring == ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00", "2026-03-29T03:00"])
        let autumn = try runs("*/30 * * * *", after: "2026-10-25T00:00:00Z", 4)
        #expect(autumn == ["2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30", "2026-10-25T02:00"])
    }

    @Test func zonesWithOddChanges() throws {
        // Lord Howe changes by half an hour: at 15:00 UTC from 02:00 (+11) back to 01:30 (+10:30).
        #expect(
            try runs("45 1 * * *", in: "Australia/Lord_Howe", after: "2026-04-04T12:00:00Z", 2)
                == ["2026-04-04T14:45", "2026-04-05T15:15"])
        // Samoa had no 30 December 2011: a run of that day comes when the 31st begins.
        #expect(
            try runs("0 9 30 12 *", in: "Pacific/Apia", after: "2011-12-01T00:00:00Z") == ["2011-12-30T10:00"])
        // Havana's clocks skip midnight.
        #expect(try runs("0 0 * * *", in: "America/Havana", after: "2026-03-07T12:00:00Z") == ["2026-03-08T05:00"])
        #expect(try runs("*/15 * * * *", in: "Asia/Kathmandu", after: "2026-03-07T12:01:00Z") == ["2026-03-07T12:15"])
    }

    @Test func monthsEndWhenTheyEnd() throws {
        let found = try runs("0 0 31 * *", in: "UTC", after: "2026-01-31T00:00:00Z", 4)
        #expect(found == ["2026-03-31T00:00", "2026-05-31T00:00", "2026-07-31T00:00", "2026-08-31T00:00"])
    }

    @Test func aLeapDayComesWithItsYear() throws {
        let found = try runs("0 12 29 2 *", in: "UTC", after: "2026-01-01T00:00:00Z", 2)
        #expect(found == ["2028-02-29T12:00", "2032-02-29T12:00"])
        // 2100 has none.
        #expect(try runs("0 12 29 feb *", in: "UTC", after: "2096-03-01T00:00:00Z") == ["2104-02-29T12:00"])
        #expect(try runs("*/10 * 29 2 *", in: "UTC", after: "2096-03-01T00:00:00Z") == ["2104-02-29T00:00"])
    }

    @Test func eitherDayIsEnoughWhereBothAreRestricted() throws {
        // Fridays and the 13th: January 2026 has Fridays on 2, 9, 16, 23, 30.
        let either = try runs("0 0 13 * 5", in: "UTC", after: "2026-01-03T00:00:00Z", 3)
        #expect(either == ["2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"])
        // A day that begins with a star does not restrict: odd days that are Fridays.
        let both = try runs("0 0 */2 * fri", in: "UTC", after: "2026-01-01T00:00:00Z", 3)
        #expect(both == ["2026-01-09T00:00", "2026-01-23T00:00", "2026-02-13T00:00"])
        // A date that no year has, but Mondays too.
        #expect(try runs("0 0 31 2 mon", in: "UTC", after: "2026-01-20T00:00:00Z") == ["2026-02-02T00:00"])
    }

    @Test func sundayHasTwoNumbers() throws {
        for sunday in ["0", "7", "SUN"] {
            #expect(try runs("0 0 * * \(sunday)", in: "UTC", after: "2026-01-01T00:00:00Z") == ["2026-01-04T00:00"])
        }
        let week = try runs("0 0 * * 5-7", in: "UTC", after: "2026-01-01T00:00:00Z", 4)
        #expect(week == ["2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"])
    }

    @Test func listsRangesStepsAndNames() throws {
        #expect(try Cron("@daily") == Cron("0 0 * * *"))
        #expect(try Cron(" @Hourly ").description == "0 * * * *")
        let found = try runs("5-20/10,50 8-10/2 1 JAN,mar *", in: "UTC", after: "2026-01-01T08:04:00Z", 7)
        #expect(
            found == [
                "2026-01-01T08:05", "2026-01-01T08:15", "2026-01-01T08:50", "2026-01-01T10:05", "2026-01-01T10:15",
                "2026-01-01T10:50", "2026-03-01T08:05",
            ])
    }

    @Test(arguments: [
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * 0 *",
        "* * * * 8", "5-1 * * * *", "*/0 * * * *", "5/10 * * * *", "1,,2 * * * *", "-1 * * * *", "1-2-3 * * * *",
        "a * * * *", "* * * foo *", "+5 * * * *", "*/ * * * *", "1//2 * * * *", "@often", "0 0 30 2 *", "0 0 31 4,6 *",
        "99999999999999999999 * * * *",
    ])
    func whatCannotBeIsRefused(expression: String) {
        #expect(throws: Cron.Fault.self) { try Cron(expression) }
    }

    @Test func aZoneThatIsNotThereIsNone() {
        #expect(CivilZone("Europe/Atlantis") == nil)
        #expect(CivilZone("Europe/Madrid")?.name == "Europe/Madrid")
    }

    /// Every minute of two weeks around each change is tried by hand.
    @Test(arguments: ["Europe/Madrid", "America/Santiago", "Australia/Lord_Howe", "UTC", "Africa/Casablanca"])
    func equalsALookAtEveryMinute(name: String) throws {
        let zone = try #require(CivilZone(name))
        for expression in ["*/20 * * * *", "0 * * * 1-5", "30 5 * * *", "10 12 1,15 * *"] {
            let cron = try Cron(expression)
            let start = try #require(Timestamp(iso: "2026-03-20T00:00:00Z")).milliseconds
            let end = start + 17 * 86_400_000
            var byHand: [Int64] = []
            for moment in stride(from: start + 60_000, through: end, by: 60_000) {
                let shown = CivilTime(millisecondsSince1970: zone.clock(at: moment))
                let isWeekday = (1...5).contains((shown.date.daysSince1970 + 4) % 7)
                let matches =
                    switch expression {
                    case "*/20 * * * *": shown.minute % 20 == 0
                    case "0 * * * 1-5": shown.minute == 0 && isWeekday
                    case "30 5 * * *": shown.hour == 5 && shown.minute == 30
                    default: shown.hour == 12 && shown.minute == 10 && [1, 15].contains(shown.date.day)
                    }
                if matches { byHand.append(moment) }
            }
            var found: [Int64] = []
            var last = start
            while let next = cron.next(after: last, in: zone), next <= end {
                found.append(next)
                last = next
            }
            #expect(found.count == byHand.count && zip(found, byHand).allSatisfy { $0 == $1 }, "\(expression)")
        }
    }
}
