import Accounts
import Core
import Postgres
import Store
import Synchronization
import Wire

/// Which sessions requests came with lately: noted in the database for all nodes, each session at most once in some
/// seconds. Off unless an application asks for it.
final class Presence: Sendable {
    /// Nanoseconds within which a session that was noted is not noted again.
    private static let step: UInt64 = 10_000_000_000

    private let noted = Mutex<[String: UInt64]>([:])

    /// Whether the session is to be noted now; then it counts as noted.
    private func isDue(_ sessionId: String, at now: UInt64) -> Bool {
        noted.withLock { noted in
            if let last = noted[sessionId], now - last < Presence.step { return false }
            if noted.count >= 100_000 { noted = noted.filter { now - $0.value < Presence.step } }
            noted[sessionId] = now
            return true
        }
    }

    func note(_ viewer: Viewer, _ database: Database) async {
        guard let session = viewer.session?.objectId, isDue(session, at: Loop.monotonicNow()) else { return }
        do { _ = try await database.write(Presence.write, [.text(session)]) } catch {
            Log.shared.warning("it could not be noted that a session is in use", ["error": "\(error)"])
        }
    }

    private static let write = Statement("UPDATE \"_Session\" SET \"_seen_at\" = now() WHERE \"objectId\" = $1::text")

    private static let read = Statement(
        """
        SELECT DISTINCT "user" FROM "_Session"
        WHERE "user" = ANY ($1::text[]) AND "_seen_at" > now() - $2::double precision * interval '1 second'
            AND ("expiresAt" IS NULL OR "expiresAt" > now())
        """)

    /// Which of these users have a session that is open still, with which a request came within so many seconds.
    static func present(_ users: [String], within seconds: Double, _ operation: Operation) async throws -> [String] {
        let rows = try await operation.read(read, [.textArray(users), .double(seconds)])
        return (0..<rows.count).map { rows.string($0, 0) }
    }
}
