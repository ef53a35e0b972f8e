import Core
import Glibc

/// How much of a result has come that is not whole yet: libpq keeps it until it is, whatever its size, and does not say
/// how much it has read. So what waits in the socket is looked at before and after each reading: what has come between
/// two readings is known, of what comes during one only the growth. It is less than the truth: of 100 MB in rows of up to
/// 10 KB 70 to 95 are seen, in rows of 1 MB 40 to 50, in rows of 10 MB 20 to 35, and
/// a single row may come in one reading.
///
/// Only what takes more than one turn to come is looked at, so that other results cost nothing.
struct IncomingResult {
    private let budget: MemoryBudget
    /// The last turn has brought a part of it, or nothing.
    private(set) var isUnderWay = false
    /// What waited in the socket when it was last looked at.
    private var waiting = 0
    private var size = 0
    private var budgeted = 0
    /// What it takes of the budget at once.
    private static let piece = 1 << 20

    init(_ budget: MemoryBudget) { self.budget = budget }

    /// Before and after each reading: adds what waits in the socket now beyond what waited there before.
    mutating func look(_ socket: Int32) {
        var count: Int32 = 0
        guard ioctl(socket, UInt(FIONREAD), &count) == 0 else { return }
        size += max(0, Int(count) - waiting)
        waiting = Int(count)
    }

    /// A turn has ended, and it is not whole.
    /// - Returns: Why it is to be given up.
    mutating func grow() -> PostgresError? {
        isUnderWay = true
        while size - budgeted >= IncomingResult.piece {
            guard budget.take(IncomingResult.piece, own: budgeted) else { return refusal }
            budgeted += IncomingResult.piece
        }
        return nil
    }

    /// - Returns: Whether it was so large that it took of the budget, which it has given back.
    mutating func end() -> Bool {
        guard isUnderWay else { return false }
        isUnderWay = false
        size = 0
        waiting = 0
        guard budgeted > 0 else { return false }
        budget.giveBack(budgeted)
        budgeted = 0
        return true
    }

    private var refusal: PostgresError {
        // There would be none either if it were alone.
        if 2 * budgeted + IncomingResult.piece > budget.limit {
            return PostgresError(
                .resultTooLarge, "the rows of one read would take more than \(budget.share >> 20) MB of memory")
        }
        return PostgresError(.noRoom, "the rows of all reads together take \(budget.limit >> 20) MB of memory")
    }
}
