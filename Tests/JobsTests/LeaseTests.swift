import Core
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Jobs

/// Jobs whose run does not simply come to its end.
@Suite struct LeaseTests {
    /// A job that goes on until it is told to end.
    private static func endless(_ bench: Bench, _ name: String = "largo") -> JobKind {
        let (ledger, loop) = (bench.ledger, bench.loop)
        return JobKind(name) { run in
            ledger.note("begins \(run.job.run)")
            do { while true { try await loop.sleep(nanoseconds: 3_600_000_000_000) } } catch {
                ledger.note("ends \(run.job.run)")
                throw error
            }
        }
    }

    @Test func aJobIsCancelledWhileItRuns() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            try bench.node([LeaseTests.endless(bench)])
            let id = try #require(try await JobQueue.enqueue(NewJob("largo"), in: bench.database))
            try await ledger.until { ledger.lines == ["begins 1"] }
            let isAsked = try await JobQueue.cancel(id, in: bench.database)
            #expect(isAsked)
            let entry = try await bench.ended(id)
            #expect(entry?.state == "cancelled")
            #expect(ledger.lines == ["begins 1", "ends 1"])
            let again = try await JobQueue.cancel(id, in: bench.database)
            #expect(!again)
        }
    }

    @Test func aJobThatWaitsIsCancelledWithoutARun() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            var kind = LeaseTests.endless(bench)
            kind.ended = { _, ending, _ in ledger.note("\(ending)") }
            try bench.node([kind])
            let job = NewJob("largo", delay: .seconds(3600))
            let id = try #require(try await JobQueue.enqueue(job, in: bench.database))
            try await JobQueue.cancel(id, in: bench.database)
            let entry = try await bench.ended(id)
            #expect(entry?.state == "cancelled")
            #expect(ledger.lines == ["cancelled"])
        }
    }

    @Test func aRunHasItsTime() async throws {
        try await withBench { bench in
            var kind = LeaseTests.endless(bench)
            kind.timeLimit = .milliseconds(50)
            kind.attempts = 2
            kind.backoff = JobBackoff(first: .milliseconds(1))
            try bench.node([kind])
            let id = try #require(try await JobQueue.enqueue(NewJob("largo"), in: bench.database))
            let entry = try await bench.ended(id)
            #expect(entry?.state == "dead")
            #expect(entry?.reason == "It took longer than 0.05 s.")
            #expect(bench.ledger.lines == ["begins 1", "ends 1", "begins 2", "ends 2"])
        }
    }

    @Test func aNodeThatLostItsLeaseEndsItsRunAndSaysNothing() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            // It renews every 100 ms.
            try bench.node([LeaseTests.endless(bench)]) { $0.lease = .milliseconds(300) }
            let id = try #require(try await JobQueue.enqueue(NewJob("largo"), in: bench.database))
            try await ledger.until { ledger.lines == ["begins 1"] }
            // Another node, which this one does not hear of, has taken the job over.
            _ = try await bench.database.write(
                """
                UPDATE "_Job" SET "run" = "run" + 1, "owner" = 'otra', "leaseUntil" = now() + interval '1 h'
                WHERE "id" = $1
                """, [.int(id)])
            try await ledger.until { ledger.lines == ["begins 1", "ends 1"] }
            let entry = try await JobQueue.entry(id, in: bench.database)
            #expect(entry?.state == "running")
            #expect(entry?.owner == "otra")
        }
    }

    @Test func anotherNodeTakesOverWhatALostOneRan() async throws {
        try await withBench { bench in
            // As a node leaves it that was killed.
            let id = try #require(try await JobQueue.enqueue(NewJob("contar"), in: bench.database))
            _ = try await bench.database.write(
                """
                UPDATE "_Job" SET "state" = 'running', "run" = 1, "owner" = 'muerta',
                    "leaseUntil" = now() - interval '1 s' WHERE "id" = $1
                """, [.int(id)])
            let ledger = bench.ledger
            let kind = JobKind("contar") { run in
                ledger.note("\(run.job.run), \(run.job.failures)")
                return nil
            }
            try bench.node([kind])
            let entry = try await bench.ended(id)
            #expect(entry?.state == "done")
            // Its node's end was no failure of its own.
            #expect(ledger.lines == ["2, 0"])
        }
    }

    @Test func aJobThatEndsItsNodesIsGivenUp() async throws {
        try await withBench { bench in
            let id = try #require(try await JobQueue.enqueue(NewJob("largo"), in: bench.database))
            _ = try await bench.database.write(
                """
                UPDATE "_Job" SET "state" = 'running', "run" = 3, "losses" = 2, "owner" = 'muerta',
                    "leaseUntil" = now() - interval '1 s' WHERE "id" = $1
                """, [.int(id)])
            // Looked at only once the lease has been taken away: its pause is over then.
            try bench.node([])
            let isFree = try await eventually(bench.loop) {
                try await JobQueue.entry(id, in: bench.database)?.state == "waiting"
            }
            #expect(isFree)
            _ = try await bench.database.write("UPDATE \"_Job\" SET \"runAt\" = now() WHERE \"id\" = $1", [.int(id)])
            try bench.node([LeaseTests.endless(bench)]) { $0.maxLosses = 3 }
            let entry = try await bench.ended(id)
            #expect(entry?.state == "dead")
            #expect(entry?.reason == "3 nodes went away while they ran it.")
            #expect(bench.ledger.lines.isEmpty)
        }
    }

    @Test func aNodeThatStopsFinishesWhatItCanAndGivesTheRestBack() async throws {
        try await withBench { bench in
            let (ledger, loop) = (bench.ledger, bench.loop)
            let release = Waiter()
            let short = JobKind("corto") { _ in
                ledger.note("short begins")
                try await release.wait()
                return "hecho"
            }
            let first = try bench.node([short, LeaseTests.endless(bench)]) { $0.poll = .seconds(3600) }
            let done = try #require(try await JobQueue.enqueue(NewJob("corto"), in: bench.database))
            let long = try #require(try await JobQueue.enqueue(NewJob("largo"), in: bench.database))
            try await ledger.until { ledger.lines.count == 2 }
            let stopped = Waiter()
            loop.spawn {
                await first.stop(grace: .seconds(1))
                stopped.resume()
            }
            release.resume()
            try await stopped.wait()
            let finished = try await JobQueue.entry(done, in: bench.database)
            #expect(finished?.state == "done")
            let given = try await JobQueue.entry(long, in: bench.database)
            #expect(given?.state == "waiting")
            #expect(given?.failures == 0)
            // It takes no more.
            let late = try #require(try await JobQueue.enqueue(NewJob("corto"), in: bench.database))
            try bench.node([LeaseTests.endless(bench)])
            try await ledger.until { ledger.lines.last == "begins 2" }
            let waiting = try await JobQueue.entry(late, in: bench.database)
            #expect(waiting?.state == "waiting")
        }
    }
}
