/// How much a `where` asks for, so that `requestComplexity` can bound it. Depths are taken from the JSON, since breadth
/// is free there: `{"a": 1, "b": 2}` nests nothing. Counts are of what it was read as.
public struct Complexity: Sendable, Equatable {
    /// Levels of `$or`, `$and`, `$nor`; each subquery counts for itself.
    public var queryDepth = 0
    /// Levels of `$inQuery`, `$notInQuery`, `$select`, `$dontSelect`.
    public var subqueryDepth = 0
    public var usesRegex = false
    /// Constraints, those within subqueries too: a list of `$in` is one, each prefix of `$all` one.
    public private(set) var conditionCount = 0
    public private(set) var subqueryCount = 0

    public init() {}

    /// Takes time linear in the size of the `where`. Looks into what is no known operator, too.
    public init(where condition: JSONObject) {
        measure(condition, queryDepth: 0, subqueryDepth: 0)
    }

    private mutating func measure(_ object: JSONObject, queryDepth: Int, subqueryDepth: Int) {
        for (key, value) in object.members {
            switch key {
            case "$or", "$and", "$nor":
                self.queryDepth = max(self.queryDepth, queryDepth + 1)
                measure(value, queryDepth: queryDepth + 1, subqueryDepth: subqueryDepth)
            case "$inQuery", "$notInQuery", "$select", "$dontSelect":
                self.subqueryDepth = max(self.subqueryDepth, subqueryDepth + 1)
                measure(value, queryDepth: 0, subqueryDepth: subqueryDepth + 1)
            case "$regex":
                usesRegex = true
            default:
                measure(value, queryDepth: queryDepth, subqueryDepth: subqueryDepth)
            }
        }
    }

    private mutating func measure(_ json: JSON, queryDepth: Int, subqueryDepth: Int) {
        switch json {
        case .object(let object): measure(object, queryDepth: queryDepth, subqueryDepth: subqueryDepth)
        case .array(let elements):
            for element in elements { measure(element, queryDepth: queryDepth, subqueryDepth: subqueryDepth) }
        default: break
        }
    }

    /// Adds what is in `predicate` to the counts.
    mutating func count(_ predicate: Predicate) {
        switch predicate {
        case .and(let parts), .or(let parts), .nor(let parts):
            for part in parts { count(part) }
        case .relatedTo: conditionCount += 1
        case .field(_, let constraint):
            switch constraint {
            case .allPrefixes(let prefixes): conditionCount += prefixes.count
            case .inQuery(let query), .notInQuery(let query), .select(let query, _), .notSelect(let query, _):
                conditionCount += 1
                subqueryCount += 1
                count(query.predicate)
            default: conditionCount += 1
            }
        }
    }
}

extension Query {
    /// The length of the longest include path.
    public var includeDepth: Int { include.map(\.count).max() ?? 0 }
    /// How many paths are included, those that lead to others counted too.
    public var includeCount: Int { include.count }
}
