import Core
import Postgres
import Store
import Wire

/// A job that is made again and again. A run that is due while the one before waits or runs still is left out; one that
/// was missed, because no node was there, is made up for once.
public struct JobSchedule {
    /// One of a name, on all nodes.
    public let name: String
    /// What the times follow from: when it changes, the schedule begins anew.
    public let definition: String
    /// The first time after a moment, in milliseconds since 1970; nil: never again.
    let next: (Int64) -> Int64?
    /// The first time of all, told the present one; nil: as `next` says.
    let first: ((Int64) -> Int64?)?
    /// Puts the run into the queue, in the transaction that moves the clock.
    let enqueue: (Operation) async throws -> Void

    public init(
        name: String, definition: String, next: @escaping (Int64) -> Int64?, first: ((Int64) -> Int64?)? = nil,
        enqueue: @escaping (Operation) async throws -> Void
    ) {
        self.name = name
        self.definition = definition
        self.next = next
        self.first = first
        self.enqueue = enqueue
    }

    /// `job` at the times of a cron expression. Its key becomes the schedule's, so that one at a time runs.
    public init(name: String, _ cron: Cron, in zone: CivilZone, _ job: NewJob) {
        var job = job
        job.key = JobSchedule.key(name)
        let made = job
        self.init(name: name, definition: "\(cron) \(zone.name)", next: { cron.next(after: $0, in: zone) }) {
            try await $0.enqueue(made)
        }
    }

    /// The key of the jobs that a schedule makes.
    public static func key(_ name: String) -> String { "schedule:\(name)" }
}

/// Makes the runs of schedules when they are due. All nodes look; the one that moves a schedule's clock makes its run,
/// in the same transaction.
final class JobScheduler {
    var sources: [() async throws -> [JobSchedule]] = []
    private let store: Store
    /// Where two versions of a program run side by side and define a schedule in two ways, each sets the clock anew as
    /// it looks: this many milliseconds back, so that no run falls between.
    private static let overlap: Int64 = 60_000
    /// A run that lies further ahead than this, in milliseconds, was made by a clock that was wrong and has been set
    /// back since: else its schedule would rest until then. Less is what a clock's correction may take by the way; no
    /// run is made twice for that.
    private static let setBack: Int64 = 600_000

    init(store: Store) { self.store = store }

    private struct Clock {
        let definition: String
        let next: Int64?
        let last: Int64?
    }

    private static let read = Statement(
        """
        SELECT (extract(epoch FROM present) * 1000)::bigint, "name", "definition", "next", "last"
        FROM clock_timestamp() AS present LEFT JOIN "_JobClock" ON true
        """)
    private static let set = Statement(
        """
        INSERT INTO "_JobClock" AS clock ("name", "definition", "next") VALUES ($1, $2, $3)
        ON CONFLICT ("name") DO UPDATE SET "definition" = excluded."definition", "next" = excluded."next"
            WHERE clock."definition" = $4
        """)
    private static let move = Statement(
        """
        UPDATE "_JobClock" SET "next" = $4, "last" = $3 WHERE "name" = $1 AND "definition" = $2 AND "next" = $3
        RETURNING 1
        """)
    private static let reset = Statement(
        """
        UPDATE "_JobClock" SET "next" = $4, "last" = NULL WHERE "name" = $1 AND "definition" = $2 AND "last" = $3
        RETURNING 1
        """)
    /// A clock that nobody has moved for a day has no schedule any more.
    private static let forget = Statement(
        """
        DELETE FROM "_JobClock"
        WHERE "name" = $1 AND coalesce("next", "last", '-infinity') < now() - interval '1 day'
        """)

    func tick() async throws {
        guard !sources.isEmpty else { return }
        var schedules: [JobSchedule] = []
        for source in sources { schedules += try await source() }
        let rows = try await store.database.read(JobScheduler.read)
        let present = rows.int(0, 0)
        var clocks: [String: Clock] = [:]
        for row in 0..<rows.count where !rows.isNull(row, 1) {
            let date = { rows.isNull(row, $0) ? nil : rows.timestampMilliseconds(row, $0) }
            clocks[rows.string(row, 1)] = Clock(definition: rows.string(row, 2), next: date(3), last: date(4))
        }
        for schedule in schedules {
            let clock = clocks.removeValue(forKey: schedule.name)
            do {
                var due = clock?.next
                if clock?.definition != schedule.definition {
                    due = try await begin(schedule, clock, present)
                } else if let last = clock?.last, last > present + JobScheduler.setBack {
                    due = try await beginAgain(schedule, last, present)
                }
                if let due, due <= present { try await make(schedule, due, present) }
            } catch let error as ParseError {
                // One that cannot be made keeps none of the others from it.
                Log.shared.error(
                    "a scheduled job could not be made",
                    ["schedule": .text(schedule.name), "error": .text(error.message)])
            }
        }
        for name in clocks.keys { _ = try await store.database.write(JobScheduler.forget, [.text(name)]) }
    }

    /// Sets a clock anew; answers what it shows.
    private func begin(_ schedule: JobSchedule, _ clock: Clock?, _ present: Int64) async throws -> Int64? {
        var from = present
        if let clock { from = max(clock.last ?? 0, present - JobScheduler.overlap) }
        let next = schedule.first.map { $0(present) } ?? schedule.next(from)
        _ = try await store.database.write(
            JobScheduler.set,
            [
                .text(schedule.name), .text(schedule.definition), JobScheduler.date(next),
                clock.map { .text($0.definition) } ?? .null,
            ])
        return next
    }

    /// Sets a clock by the present time that shows a later one; answers what it shows.
    private func beginAgain(_ schedule: JobSchedule, _ last: Int64, _ present: Int64) async throws -> Int64? {
        let next = schedule.next(present)
        let reset = try await store.database.write(
            JobScheduler.reset,
            [
                .text(schedule.name), .text(schedule.definition), JobScheduler.date(last), JobScheduler.date(next),
            ])
        if reset.count > 0 {
            Log.shared.warning(
                "PostgreSQL's time was set back; a schedule goes by the new one",
                ["schedule": .text(schedule.name), "seconds": .number(Double(last - present) / 1000)])
        }
        return next
    }

    private func make(_ schedule: JobSchedule, _ due: Int64, _ present: Int64) async throws {
        let next = schedule.next(max(due, present))
        try await store.operation(as: .master).inTransaction { operation in
            let moved = try await operation.write(
                JobScheduler.move,
                [.text(schedule.name), .text(schedule.definition), JobScheduler.date(due), JobScheduler.date(next)])
            // Else another node was first.
            guard moved.count > 0 else { return }
            try await schedule.enqueue(operation)
        }
    }

    private static func date(_ moment: Int64?) -> Parameter {
        moment.map { .timestamp(milliseconds: $0) } ?? .null
    }
}
