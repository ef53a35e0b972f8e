import Core
import Postgres
import Schema
import Store
import TestSupport
import Wire

@testable import Jobs

/// What happened in the runs of jobs, on whichever node.
final class Ledger {
    private let loop: Loop
    var lines: [String] = []
    /// How many runs have begun, by the number that the job carries.
    var runs: [Int: Int] = [:]
    private var waiting: [(condition: () -> Bool, waiter: Waiter)] = []

    init(_ loop: Loop) { self.loop = loop }

    func note(_ line: String) {
        lines.append(line)
        changed()
    }

    func count(_ job: Job) {
        runs[Int(job.payload["n"]?.number ?? 0), default: 0] += 1
        changed()
    }

    private func changed() {
        for entry in waiting where entry.condition() { entry.waiter.resume() }
        waiting.removeAll { $0.condition() }
    }

    struct NeverCame: Error { let lines: [String] }

    /// Waits until the ledger shows it; not for ever.
    func until(_ condition: @escaping () -> Bool) async throws {
        guard !condition() else { return }
        let waiter = Waiter()
        waiting.append((condition, waiter))
        let timer = loop.schedule(after: 120_000_000_000) { [lines] in waiter.resume(throwing: NeverCame(lines: lines))
        }
        defer { timer.cancel() }
        try await waiter.wait()
    }
}

/// Nodes of one database, on one worker: each with connections and a store of its own.
final class Bench {
    let database: Database
    let ledger: Ledger
    var loop: Loop { database.loop }
    private let configuration: DatabaseConfiguration
    private var databases: [Database] = []
    private var runners: [JobRunner] = []

    init(_ database: Database, _ configuration: DatabaseConfiguration) {
        self.database = database
        ledger = Ledger(database.loop)
        self.configuration = configuration
    }

    static func store(_ database: Database) throws -> Store {
        Store(
            catalogue: Catalogue(database: database, cache: SchemaCache()), database: database, options: StoreOptions(),
            denylist: try KeywordDenylist(), hooks: Hooks([])
        ) { _, _ in }
    }

    /// Starts a node.
    @discardableResult
    func node(
        _ kinds: [JobKind], _ configure: (inout JobRunner.Options) -> Void = { _ in },
        schedules: [JobSchedule] = []
    ) throws -> JobRunner {
        let database = Database(loop: loop, configuration: configuration)
        databases.append(database)
        var options = JobRunner.Options()
        options.poll = .milliseconds(50)
        // Where leases are not what a test is about, a busy machine must not end them.
        options.lease = .seconds(120)
        configure(&options)
        let runner = JobRunner(store: try Bench.store(database), options: options)
        kinds.forEach(runner.register)
        schedules.forEach(runner.schedule)
        runner.start()
        runners.append(runner)
        return runner
    }

    /// What becomes of a job once it has ended for good.
    func ended(_ id: Int64) async throws -> JobQueue.Entry? {
        var entry: JobQueue.Entry?
        _ = try await eventually(loop) {
            entry = try await JobQueue.entry(id, in: database)
            return ["done", "dead", "cancelled"].contains(entry?.state)
        }
        return entry
    }

    func end() async {
        for runner in runners { await runner.stop(grace: .zero) }
        for database in databases { await database.close() }
    }
}

func withBench(_ body: @Sendable (Bench) async throws -> Void) async throws {
    let test = try await TestDatabase.make(template: .migrated)
    let configuration = test.configuration
    try await test.withDatabase { _, database in
        let bench = Bench(database, configuration)
        do {
            try await body(bench)
            await bench.end()
        } catch {
            await bench.end()
            throw error
        }
    }
}
