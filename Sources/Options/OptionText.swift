import Wire

/// Options as texts: for messages, flags and the documentation.
enum OptionText {
    /// A value quoted in a message, cut where it is long.
    static func short(_ json: JSON) -> String {
        let text = json.description
        return text.count <= 60 ? text : text.prefix(57) + "..."
    }

    /// Reads a flag whose option takes a list of objects or an object.
    static func json(_ text: String) throws(OptionFault) -> JSON {
        do { return try JSONParser.parse(text) } catch { throw OptionFault("must be JSON: \(error.message)") }
    }

    /// `requestComplexity.queryDepth` as a flag's name: `request-complexity-query-depth`.
    static func flag(_ name: String) -> String { words(name).joined(separator: "-") }

    /// `requestComplexity.queryDepth` as an environment variable: `HERMES_REQUEST_COMPLEXITY_QUERY_DEPTH`.
    static func variable(_ name: String) -> String { "HERMES_" + words(name).joined(separator: "_").uppercased() }

    /// The words of a name in camel case, in small letters; a row of capitals is one word (`databaseURI`).
    private static func words(_ name: String) -> [String] {
        var words = [""]
        var previous: Character = "."
        for (index, letter) in zip(name.indices, name) {
            let next = name.index(after: index)
            let startsWord =
                letter.isUppercase && previous != "."
                && (!previous.isUppercase || (next < name.endIndex && name[next].isLowercase))
            if letter == "." || startsWord, words.last != "" { words.append("") }
            if letter != "." { words[words.count - 1] += letter.lowercased() }
            previous = letter
        }
        return words
    }

    /// The candidate nearest to `name` in edit distance, where one is near enough to have been meant: at most one
    /// edit for every three letters, letters' case not counted.
    static func nearest(to name: String, among candidates: [String]) -> String? {
        let wanted = Array(name.lowercased())
        let best = candidates.map { (name: $0, distance: distance(wanted, Array($0.lowercased()))) }
            .min { $0.distance < $1.distance }
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
