/// What reads cost, by their statement's text: nanoseconds from the moment when a read is the first on its connection
/// to its end.
struct ReadCosts {
    /// One statement's.
    final class Cost {
        /// Follows slow runs by a quarter and others by an eighth: a statement that is slow for some parameters counts
        /// as slow for a while, and a hiccup of a busy machine does not make a fast one slow.
        fileprivate(set) var typical: Double
        /// It has run.
        fileprivate(set) var isKnown = false
        /// When one of its reads was last tried as a fast one though it counts as slow.
        var triedAt: UInt64 = 0
        init(typical: Double) { self.typical = typical }
    }

    private var costs: [Statement: Cost] = [:]
    private let limit: Int
    /// The mean over all reads that were not slow.
    private(set) var mean: Double = 100_000

    /// - Parameter limit: How many statements are remembered; past it all are forgotten.
    init(limit: Int) { self.limit = limit }

    /// What is known of a statement; as much as the mean where it is new.
    mutating func find(_ statement: Statement) -> Cost {
        if let cost = costs[statement] { return cost }
        if costs.count >= limit { costs.removeAll() }
        let cost = Cost(typical: mean)
        costs[statement] = cost
        return cost
    }

    /// A run has taken this long, or has already lasted this long; from `slow` on it is a slow one. `isTrial`: it was run
    /// to see whether a statement that counts as slow is so; when it is not, what was thought of it halves.
    mutating func record(_ cost: Cost, _ nanoseconds: UInt64, slow: UInt64, isTrial: Bool = false) {
        let time = Double(nanoseconds)
        cost.isKnown = true
        if nanoseconds >= slow {
            cost.typical += max(0, time - cost.typical) / 4
        } else {
            cost.typical += (time - cost.typical) / (isTrial ? 2 : 8)
            mean += (time - mean) / 64
        }
    }
}
