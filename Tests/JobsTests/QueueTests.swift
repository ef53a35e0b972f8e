import Core
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Jobs

/// What the queue promises to who puts a job into it.
@Suite struct QueueTests {
    private struct Trouble: Error {}

    /// A kind that notes each run.
    private static func counting(_ bench: Bench) -> JobKind {
        let ledger = bench.ledger
        return JobKind("contar") { run in
            ledger.count(run.job)
            return nil
        }
    }

    @Test func eachJobRunsOnceThoughEightNodesTakeThem() async throws {
        try await withBench { bench in
            for _ in 0..<8 { try bench.node([QueueTests.counting(bench)]) { $0.concurrency = 4 } }
            let jobs = 400
            let made = await bench.loop.concurrently(jobs) { n in
                try await JobQueue.enqueue(
                    NewJob("contar", JSONObject([("n", .number(Double(n)))])), in: bench.database)
            }
            for result in made { #expect(try result.get() != nil) }
            let ledger = bench.ledger
            try await ledger.until { ledger.runs.count == jobs }
            let areDone = try await eventually(bench.loop) {
                try await bench.database.read("SELECT count(*) FROM \"_Job\" WHERE \"state\" = 'done'").int(0, 0)
                    == jobs
            }
            #expect(areDone)
            #expect(ledger.runs.values.allSatisfy { $0 == 1 })
            // More than one node had its share.
            let nodes = try await bench.database.read("SELECT count(DISTINCT \"owner\") FROM \"_Job\"").int(0, 0)
            #expect(nodes > 1)
        }
    }

    @Test func aKindThatMayRunTwiceAtOnceLeavesRoomForOthers() async throws {
        try await withBench { bench in
            let (ledger, gate) = (bench.ledger, Waiter())
            var (active, most) = (0, 0)
            var slow = JobKind("esperar") { run in
                active += 1
                most = max(most, active)
                ledger.count(run.job)
                if active == 2 { gate.resume() }
                // Both go on together: one alone would wait for ever.
                if run.job.payload["n"] == 0 { try await gate.wait() }
                try await run.store.database.loop.sleep(nanoseconds: 1_000_000)
                active -= 1
                return nil
            }
            slow.atOnce = 2
            for n in 0..<12 {
                try await JobQueue.enqueue(
                    NewJob("esperar", JSONObject([("n", .number(Double(n)))])), in: bench.database)
            }
            for n in 100..<130 {
                try await JobQueue.enqueue(
                    NewJob("contar", JSONObject([("n", .number(Double(n)))])), in: bench.database)
            }
            try bench.node([slow, QueueTests.counting(bench)]) { $0.concurrency = 3 }
            try await ledger.until { ledger.runs.count == 42 }
            #expect(most == 2)
            #expect(ledger.runs.values.allSatisfy { $0 == 1 })
        }
    }

    @Test func aJobIsUndoneWithItsTransaction() async throws {
        try await withBench { bench in
            let store = try Bench.store(bench.database)
            let error = await failure {
                try await store.operation(as: .master).inTransaction { operation in
                    try await operation.enqueue(NewJob("contar"))
                    throw Trouble()
                }
            }
            #expect(error is Trouble)
            let none = try await JobQueue.list(in: bench.database)
            #expect(none.isEmpty)
            let id = try await store.operation(as: .master).inTransaction { operation in
                try await operation.enqueue(NewJob("contar"))
            }
            let all = try await JobQueue.list(in: bench.database)
            #expect(all.map(\.id) == [id])
            #expect(all.map(\.state) == ["waiting"])
        }
    }

    @Test func nodesAreWokenByWhatIsEnqueued() async throws {
        try await withBench { bench in
            // It looks by itself once an hour.
            try bench.node([QueueTests.counting(bench)]) { $0.poll = .seconds(3600) }
            let ledger = bench.ledger
            for n in 1...3 {
                try await JobQueue.enqueue(
                    NewJob("contar", JSONObject([("n", .number(Double(n)))])), in: bench.database)
                try await ledger.until { ledger.runs[n] == 1 }
            }
        }
    }

    @Test func oneKeyIsThereOnceWhileItsJobIsNotDone() async throws {
        try await withBench { bench in
            let job = NewJob("contar", key: "resumen")
            let first = try await JobQueue.enqueue(job, in: bench.database)
            let second = try await JobQueue.enqueue(job, in: bench.database)
            #expect(first != nil)
            #expect(second == nil)
            try bench.node([QueueTests.counting(bench)])
            _ = try await bench.ended(try #require(first))
            let third = try await JobQueue.enqueue(job, in: bench.database)
            #expect(third != nil)
        }
    }

    @Test func whatIsUrgentComesFirst() async throws {
        try await withBench { bench in
            for (n, priority) in [(1, NewJob.Priority.low), (2, .normal), (3, .high), (4, .normal)] {
                var job = NewJob("contar", JSONObject([("n", .number(Double(n)))]))
                job.priority = priority
                try await JobQueue.enqueue(job, in: bench.database)
            }
            var later = NewJob("contar", JSONObject([("n", 5)]), delay: .seconds(3600))
            later.priority = .high
            try await JobQueue.enqueue(later, in: bench.database)
            let ledger = bench.ledger
            var kind = JobKind("contar") { run in
                ledger.note("\(Int(run.job.payload["n"]?.number ?? 0))")
                return nil
            }
            kind.attempts = 1
            try bench.node([kind]) { $0.concurrency = 1 }
            try await ledger.until { ledger.lines.count == 4 }
            #expect(ledger.lines == ["3", "2", "4", "1"])
        }
    }

    @Test func aFailureIsTriedAgainAfterGrowingPauses() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            var kind = JobKind("correo") { run in
                ledger.note("run \(run.job.run) after \(run.job.failures)")
                guard run.job.failures == 2 else { throw JobFailure("the server is busy") }
                try await run.report("por fin", in: run.store.operation(as: .master))
                return "enviado"
            }
            kind.backoff = JobBackoff(first: .milliseconds(20), longest: .seconds(1))
            try bench.node([kind])
            let id = try #require(try await JobQueue.enqueue(NewJob("correo"), in: bench.database))
            let entry = try await bench.ended(id)
            #expect(entry?.state == "done")
            #expect(entry?.message == "enviado")
            #expect(entry?.failures == 2)
            #expect(ledger.lines == ["run 1 after 0", "run 2 after 1", "run 3 after 2"])
        }
        let backoff = JobBackoff(first: .seconds(10), longest: .seconds(3600))
        for (failures, seconds) in [(1, 10.0), (2, 20), (4, 80), (10, 3600), (500, 3600)] {
            let pause = backoff.pause(after: failures).inSeconds
            #expect(pause >= seconds * 0.75 && pause <= seconds * 1.25)
        }
    }

    @Test func theLastFailureLeavesItsReason() async throws {
        try await withBench { bench in
            let ledger = bench.ledger
            var kind = JobKind("correo") { run in throw JobFailure("no such mailbox, \(run.job.run)") }
            kind.attempts = 3
            kind.backoff = JobBackoff(first: .milliseconds(1))
            kind.ended = { job, ending, _ in ledger.note("\(job.id): \(ending)") }
            var final = JobKind("nunca") { _ in throw JobFailure("refused", retry: .never) }
            final.ended = kind.ended
            try bench.node([kind, final])
            let id = try #require(try await JobQueue.enqueue(NewJob("correo"), in: bench.database))
            let entry = try await bench.ended(id)
            #expect(entry?.state == "dead")
            #expect(entry?.reason == "no such mailbox, 3")
            #expect(entry?.failures == 3)
            let never = try #require(try await JobQueue.enqueue(NewJob("nunca"), in: bench.database))
            let once = try await bench.ended(never)
            #expect(once?.failures == 1)
            #expect(
                ledger.lines == [
                    "\(id): \(JobEnding.dead("no such mailbox, 3"))", "\(never): \(JobEnding.dead("refused"))",
                ])
            // Operators may try once more, with all attempts.
            let again = try await JobQueue.retry(id, in: bench.database)
            #expect(again)
            try await ledger.until { ledger.lines.count == 3 }
            let second = try await bench.ended(id)
            #expect(second?.run == 6)
        }
    }

    @Test func theEndOfAJobAndWhatItsKindAddsAreOne() async throws {
        try await withBench { bench in
            var kind = JobKind("contar") { _ in "hecho" }
            kind.ended = { job, _, operation in
                try await operation.enqueue(NewJob("otro", JSONObject([("de", .number(Double(job.id)))])))
            }
            try bench.node([kind])
            let id = try #require(try await JobQueue.enqueue(NewJob("contar"), in: bench.database))
            _ = try await bench.ended(id)
            let others = try await JobQueue.list(kind: "otro", in: bench.database)
            #expect(others.map { $0.payload["de"] } == [.number(Double(id))])
        }
    }

    @Test func whatIsOldIsForgotten() async throws {
        try await withBench { bench in
            _ = try await bench.database.write(
                """
                INSERT INTO "_Job" ("kind", "payload", "state", "runAt", "finishedAt")
                SELECT 'contar', '{}', state, now(), now() - age
                FROM unnest(ARRAY['done', 'dead', 'cancelled']) AS state, unnest(ARRAY[interval '1 h', '2 d', '40 d']) AS age
                """)
            try bench.node([QueueTests.counting(bench)])
            let isTidy = try await eventually(bench.loop) {
                let left = try await JobQueue.list(in: bench.database)
                return left.map(\.state).sorted() == ["cancelled", "dead", "dead", "done"]
            }
            #expect(isTidy)
        }
    }
}
