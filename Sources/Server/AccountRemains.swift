import Accounts
import Jobs
import Postgres
import Store
import Wire

/// What an account writes while it is being deleted: a request that began with its session may end after the account
/// has gone. Each deletion leaves jobs behind, kept or undone with it, that look again.
enum AccountRemains {
    static let name = "what deleted accounts left"

    /// At once, and when nothing can be running any more that began before.
    private static let delays: [Duration] = [.zero, .seconds(600)]

    static func enqueue(of userId: String, in operation: Operation) async throws {
        for delay in delays {
            var job = NewJob(name, JSONObject([("user", .string(userId))]), delay: delay)
            job.priority = .low
            try await operation.enqueue(job)
        }
    }

    static func kind(_ accounts: Accounts) -> JobKind {
        JobKind(name) { run in
            guard let userId = run.job.payload["user"]?.string else { return nil }
            let count = try await accounts.deleteRemains(of: userId, in: accounts.store.operation(as: .master))
            return "\(count) objects"
        }
    }
}
