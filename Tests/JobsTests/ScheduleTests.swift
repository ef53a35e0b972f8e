import Core
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Jobs

/// Jobs that are made again and again.
@Suite struct ScheduleTests {
    /// Due at each of these moments, in milliseconds from now.
    private static func schedule(_ name: String, every milliseconds: Int64, _ kind: String = "resumen") -> JobSchedule {
        var job = NewJob(kind)
        job.key = JobSchedule.key(name)
        let made = job
        return JobSchedule(
            name: name, definition: "every \(milliseconds)",
            next: { ($0 / milliseconds + 1) * milliseconds }
        ) { try await $0.enqueue(made) }
    }

    @Test func aScheduleOfManyNodesMakesEachRunOnce() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            let kind = JobKind("resumen") { run in
                ledger.note("run")
                return nil
            }
            for _ in 0..<4 {
                try bench.node(
                    [kind], { $0.poll = .milliseconds(10) }, schedules: [ScheduleTests.schedule("a", every: 200)])
            }
            try await ledger.until { ledger.lines.count >= 6 }
            await bench.end()
            let rows = try await bench.database.read(
                """
                SELECT count(*), (extract(epoch FROM max("last") - min("createdAt")) * 1000)::bigint
                FROM "_Job", "_JobClock"
                """)
            // In that many milliseconds there was one moment for each 200, and perhaps one more.
            #expect(rows.int(0, 0) <= rows.int(0, 1) / 200 + 2)
        }
    }

    @Test func aRunIsLeftOutWhileTheOneBeforeGoesOn() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            let release = Waiter()
            let kind = JobKind("resumen") { run in
                ledger.note("begins")
                if ledger.lines.count == 1 { try await release.wait() }
                return nil
            }
            try bench.node([kind], schedules: [ScheduleTests.schedule("a", every: 100)])
            try await ledger.until { ledger.lines == ["begins"] }
            let clock: Statement = "SELECT \"last\" FROM \"_JobClock\""
            let before = try await bench.database.read(clock).timestampMilliseconds(0, 0)
            let hasGoneOn = try await eventually(bench.loop) {
                try await bench.database.read(clock).timestampMilliseconds(0, 0) >= before + 300
            }
            #expect(hasGoneOn)
            #expect(ledger.lines == ["begins"])
            release.resume()
            try await ledger.until { ledger.lines.count >= 2 }
        }
    }

    @Test func whatWasMissedIsMadeUpForOnce() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            let kind = JobKind("resumen") { _ in
                ledger.note("run")
                return nil
            }
            let cron = try Cron("0 3 1 1 *")
            let schedule = JobSchedule(name: "anual", cron, in: .utc, NewJob("resumen"))
            // Nobody was there for three years.
            _ = try await bench.database.write(
                "INSERT INTO \"_JobClock\" VALUES ($1, $2, now() - interval '3 years', NULL)",
                [.text(schedule.name), .text(schedule.definition)])
            try bench.node([kind], schedules: [schedule])
            try await ledger.until { ledger.lines.count == 1 }
            let next = try await bench.database.read("SELECT \"next\" > now() FROM \"_JobClock\"").bool(0, 0)
            #expect(next)
            let jobs = try await JobQueue.list(in: bench.database)
            #expect(jobs.count == 1)
        }
    }

    @Test func aChangedScheduleBeginsAnewAndAForgottenOneGoes() async throws {
        try await withBench { bench in
            _ = try await bench.database.write(
                """
                INSERT INTO "_JobClock" VALUES ('a', 'before', now() + interval '9 years', now()),
                    ('gone', 'x', now() - interval '2 days', NULL), ('other', 'x', now() + interval '1 h', NULL)
                """)
            let schedule = JobSchedule(name: "a", try Cron("@hourly"), in: .utc, NewJob("resumen"))
            try bench.node([], schedules: [schedule])
            let isSet = try await eventually(bench.loop) {
                let rows = try await bench.database.read(
                    "SELECT \"name\", \"next\" < now() + interval '1 h 1 s' FROM \"_JobClock\" ORDER BY 1")
                return rows.count == 2 && rows.string(0, 0) == "a" && rows.bool(0, 1)
            }
            #expect(isSet)
        }
    }

    /// A server whose clock was a month ahead until it was set right.
    @Test func aScheduleGoesByAClockThatWasSetBack() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            let kind = JobKind("resumen") { _ in
                ledger.note("run")
                return nil
            }
            let schedule = ScheduleTests.schedule("a", every: 200)
            _ = try await bench.database.write(
                "INSERT INTO \"_JobClock\" VALUES ($1, $2, now() + interval '30 days 1 s', now() + interval '30 days')",
                [.text(schedule.name), .text(schedule.definition)])
            try bench.node([kind], { $0.poll = .milliseconds(10) }, schedules: [schedule])
            try await ledger.until { ledger.lines.count >= 2 }
        }
    }

    /// A time that comes twice within minutes, since a clock was corrected, is no second run.
    @Test func aClockThatIsCorrectedALittleMakesNoRunTwice() async throws {
        try await withBench { bench in
            let schedule = JobSchedule(name: "a", try Cron("* * * * *"), in: .utc, NewJob("resumen"))
            let other = ScheduleTests.schedule("b", every: 200)
            _ = try await bench.database.write(
                "INSERT INTO \"_JobClock\" VALUES ($1, $2, now() + interval '6 min', now() + interval '5 min')",
                [.text(schedule.name), .text(schedule.definition)])
            let ledger = bench.ledger
            let kind = JobKind("resumen") { _ in
                ledger.note("run")
                return nil
            }
            try bench.node([kind], { $0.poll = .milliseconds(10) }, schedules: [schedule, other])
            // The other one shows that the clocks have been looked at.
            try await ledger.until { ledger.lines.count >= 2 }
            let stays = try await bench.database.read(
                "SELECT \"last\" > now() FROM \"_JobClock\" WHERE \"name\" = 'a'")
            #expect(stays.bool(0, 0))
        }
    }
}
