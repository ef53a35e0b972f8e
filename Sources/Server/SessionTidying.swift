import Jobs
import Postgres
import Store
import Wire

/// Sessions that have ended open nothing any more; once an hour their rows are deleted, by whichever node takes the job.
enum SessionTidying {
    static let name = "tidy sessions"
    private static let hour: Int64 = 3_600_000

    static var schedule: JobSchedule {
        JobSchedule(name: name, definition: "hourly", next: { ($0 / hour + 1) * hour }) { operation in
            try await operation.enqueue(NewJob(name, key: name))
        }
    }

    static func kind(_ store: Store) -> JobKind {
        JobKind(name) { _ in
            let count = try await store.deleteByRule("_Session", where: "expiresAt", before: .now)
            return "\(count) sessions had ended"
        }
    }
}
