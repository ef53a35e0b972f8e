/// What reads cost, by their statement's text: nanoseconds from the moment when a read is the first on its connection
/// to its end.
struct ReadCosts {
    /// One statement's.
    final class Cost {
        /// Rises at once to what a slow run took, and comes down by an eighth with each faster one: a statement that
        /// is slow for some parameters counts as slow for a while, and one that met a hiccup is soon fast again.
        fileprivate(set) var typical: Double
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

    /// A run has taken this long, or has already lasted this long; from `slow` on it is a slow one.
    mutating func record(_ cost: Cost, _ nanoseconds: UInt64, slow: UInt64) {
        let time = Double(nanoseconds)
        if nanoseconds >= slow {
            cost.typical = max(cost.typical, time)
        } else {
            cost.typical += (time - cost.typical) / 8
            mean += (time - mean) / 64
        }
    }
}
