/// Of several names the one that somebody most likely meant.
public enum Nearest {
    /// The candidate nearest to `name` in edit distance, where one is near enough to have been meant: at most one
    /// edit for every three letters, letters' case not counted. nil where none is.
    ///
    /// - Parameter beginnings: whether a name of which `name` is the beginning, two letters or more, counts as one edit
    ///   away: where somebody still types.
    public static func name(to name: String, among candidates: [String], beginnings: Bool = false) -> String? {
        let wanted = Array(name.lowercased())
        // Nobody means a name by a text many times as long.
        guard wanted.count <= 100 else { return nil }
        let best = candidates.map { candidate in
            let other = Array(candidate.lowercased())
            let isBeginning = beginnings && wanted.count > 1 && other.starts(with: wanted) && other.count > wanted.count
            return (name: candidate, distance: isBeginning ? 1 : distance(wanted, other))
        }.min { $0.distance < $1.distance }
        guard let best, best.distance <= max(2, wanted.count / 3) else { return nil }
        return best.name
    }

    /// Levenshtein's distance; two letters in the wrong order count as one edit (optimal string alignment).
    private static func distance(_ one: [Character], _ other: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...other.count)
        for i in one.indices {
            var row = [i + 1]
            for j in other.indices {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (one[i] == other[j] ? 0 : 1))
                if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[other.count]
    }
}
