extension Predicate {
    /// Reads a `where`. A comparison with null reads as `.equal(.null)`; several conditions as one `.and`.
    ///
    /// - Parameters:
    ///   - now: what `$relativeTime` counts from; nil is this machine's clock.
    ///   - internalKeys: whether the few internal fields that the master key may query by (`_perishable_token`,
    ///     `_failed_login_count`, …) are taken.
    /// - Throws: 105 for a name that cannot be, 102 for unknown operators and most that are wrong, 107 and 111 as the
    ///   reference gives them.
    public static func parse(
        _ condition: JSONObject, now: Timestamp? = nil, internalKeys: Bool = false
    ) throws(ParseError) -> Predicate {
        var parser = PredicateParser(now: now, internalKeys: internalKeys)
        return try parser.predicate(condition)
    }
}

struct PredicateParser {
    var now: Timestamp?
    var internalKeys: Bool
    var relativeTimeFields: Set<String> = []

    init(now: Timestamp?, internalKeys: Bool) {
        self.now = now
        self.internalKeys = internalKeys
    }

    mutating func predicate(_ condition: JSONObject) throws(ParseError) -> Predicate {
        var parts: [Predicate] = []
        for (key, value) in condition.members {
            switch key {
            case "$and": parts.append(.and(try list(value, key)))
            case "$or": parts.append(.or(try list(value, key)))
            case "$nor": parts.append(.nor(try list(value, key)))
            case "$relatedTo": parts.append(try relatedTo(value))
            default:
                let path = try path(key)
                for constraint in try constraints(value, on: path) { parts.append(.field(path, constraint)) }
            }
        }
        if parts.count == 1, let only = parts.first { return only }
        return .and(parts)
    }

    private mutating func list(_ json: JSON, _ key: String) throws(ParseError) -> [Predicate] {
        guard case .array(let elements) = json, !elements.isEmpty else {
            throw .query("Bad \(key) format - use an array of at least 1 value.")
        }
        var predicates: [Predicate] = []
        for element in elements {
            guard let condition = element.objectOrEmptyList else {
                throw .query("Bad \(key) format - its values must be objects.")
            }
            predicates.append(try predicate(condition))
        }
        return predicates
    }

    private func relatedTo(_ json: JSON) throws(ParseError) -> Predicate {
        guard case .object(let members) = json, let owner = members["object"]?.object,
            let className = owner["className"]?.string, let key = members["key"]?.string
        else { throw .query("improper usage of $relatedTo") }
        guard Names.isField(key) else { throw .invalidKey(key) }
        guard Names.isClass(className) else { throw Names.invalidClass(className) }
        // A clone of an object that has a relation has no id yet, and so nothing in it.
        guard let objectId = owner["objectId"], objectId != .null else { return .or([]) }
        guard let id = objectId.string else { throw .query("improper usage of $relatedTo") }
        try Storable.check(id)
        return .relatedTo(object: Pointer(className: className, objectId: id), key: key)
    }

    /// - Throws: 105 for a name that no field can have, 102 for ACL.
    func path(_ key: String) throws(ParseError) -> FieldPath {
        if internalKeys, Self.internalNames.contains(key) { return FieldPath(field: key) }
        let path = FieldPath(text: key)
        if path.field == "ACL" { throw .query("Cannot query on ACL.") }
        guard Names.isIdentifier(path.field), path.rest.count < Update.maxPathLength,
            path.rest.allSatisfy(Self.isWithin)
        else { throw .invalidKey(key) }
        return path
    }

    private static func isWithin(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                let lower = byte | 0x20
                return (lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z"))
                    || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) || byte == UInt8(ascii: "_")
            }
    }

    /// What the reference lets the master key query by.
    private static let internalNames: Set<String> = [
        "_email_verify_token", "_perishable_token", "_perishable_token_expires_at", "_tombstone",
        "_email_verify_token_expires_at", "_failed_login_count", "_account_lockout_expires_at",
        "_password_changed_at", "_password_history",
    ]

    mutating func subquery(_ members: JSONObject, _ className: String) throws(ParseError) -> Subquery {
        guard Names.isClass(className) else { throw Names.invalidClass(className) }
        var inner = PredicateParser(now: now, internalKeys: internalKeys)
        var subquery = Subquery(className: className, predicate: .always)
        switch members["where"] {
        case nil, .null?: break
        case let json?:
            guard let condition = json.objectOrEmptyList else {
                throw .query("where of a subquery must be an object")
            }
            subquery.predicate = try inner.predicate(condition)
        }
        if let order = members["order"], order.isTruthy { subquery.order = try QueryParser.order(order) }
        if let skip = members["skip"] { subquery.skip = try QueryParser.count(skip, "skip") ?? 0 }
        if let limit = members["limit"] { subquery.limit = try QueryParser.count(limit, "limit") }
        if let key = members["redirectClassNameForKey"], key.isTruthy {
            subquery.redirectClassNameForKey = QueryParser.text(key)
        }
        subquery.relativeTimeFields = inner.relativeTimeFields
        return subquery
    }
}

extension FieldPath {
    /// A path as queries name fields.
    /// - Throws: 105 for a name that no field can have, 102 for ACL.
    public init(queried text: String) throws(ParseError) {
        self = try PredicateParser(now: nil, internalKeys: false).path(text)
    }
}
