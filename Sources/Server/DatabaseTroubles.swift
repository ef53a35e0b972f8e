import Core
import Postgres
import Synchronization

/// Tells the log why requests are refused for want of the database: clients are told only to come again. Of each kind
/// of trouble the first is told at once, what follows every ten seconds in one line, however many requests suffer.
final class DatabaseTroubles: Sendable {
    static let shared = DatabaseTroubles(log: .shared)

    private struct Trouble {
        var quietUntil: UInt64
        var untold = 0
    }

    private let log: Log
    /// By kind and SQLSTATE: of words there are as many as there are tables and files.
    private let troubles = Mutex<[String: Trouble]>([:])

    init(log: Log) { self.log = log }

    /// - Parameter now: a reading of `Loop.monotonicNow()`.
    func note(_ error: PostgresError, now: UInt64 = Loop.monotonicNow()) {
        let kind = "\(error.kind) \(error.sqlState)"
        let refused: Int? = troubles.withLock { troubles in
            var trouble = troubles[kind] ?? Trouble(quietUntil: 0)
            defer { troubles[kind] = trouble }
            trouble.untold += 1
            guard now >= trouble.quietUntil else { return nil }
            defer { trouble = Trouble(quietUntil: now + 10_000_000_000) }
            return trouble.untold
        }
        guard let refused else { return }
        log.error(
            "requests are refused: the database does not serve them",
            ["refused": .int(refused), "error": .text("\(error)")])
    }
}
