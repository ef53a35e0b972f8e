extension PredicateParser {
    /// What a field's value in a `where` says of the field: equality, or one constraint for each operator.
    mutating func constraints(_ json: JSON, on path: FieldPath) throws(ParseError) -> [Constraint] {
        let isOperator = { (member: (key: String, value: JSON)) in member.key.utf8.first == UInt8(ascii: "$") }
        guard case .object(let members) = json, members.members.contains(where: isOperator) else {
            return [.equal(try Value.parse(json, for: .compared))]
        }
        var constraints: [Constraint] = []
        var operators = members.members
        if members["__type"]?.isTruthy == true {
            // Client libraries write further constraints into the value that a field is to be equal to.
            let value = JSONObject(operators.filter { !isOperator($0) })
            constraints.append(.equal(try Value.parse(.object(value), for: .compared)))
            operators.removeAll { !isOperator($0) }
        }
        for (name, value) in operators {
            switch name {
            case "$options":
                guard members["$regex"] != nil else { throw .query("$options needs $regex") }
            case "$maxDistance", "$maxDistanceInMiles", "$maxDistanceInKilometers", "$maxDistanceInRadians":
                guard members["$nearSphere"] != nil else { throw .query("\(name) needs $nearSphere") }
            case "$regex": constraints.append(try regex(value, options: members["$options"]))
            case "$nearSphere": constraints.append(try Geo.nearSphere(value, members))
            default: constraints.append(try constraint(name, value, on: path))
            }
        }
        return constraints
    }

    private mutating func constraint(
        _ name: String, _ value: JSON, on path: FieldPath
    ) throws(ParseError) -> Constraint {
        switch name {
        case "$eq": return .equal(try compared(value))
        case "$ne": return .notEqual(try compared(value))
        case "$lt": return .less(try bound(value, path))
        case "$lte": return .lessOrEqual(try bound(value, path))
        case "$gt": return .greater(try bound(value, path))
        case "$gte": return .greaterOrEqual(try bound(value, path))
        case "$exists":
            if case .object(let members) = value, members["$relativeTime"] != nil { throw Self.misplacedRelativeTime }
            return .exists(value.isTruthy)
        case "$in": return .isIn(try alternatives(value, "bad $in value"))
        case "$nin": return .notIn(try alternatives(value, "bad $nin value"))
        case "$containedBy": return .containedBy(try values(value, "bad $containedBy: should be an array"))
        case "$all": return try all(value)
        case "$text": return .text(try text(value))
        case "$within": return try Geo.within(value)
        case "$geoWithin": return try Geo.geoWithin(value)
        case "$geoIntersects": return try Geo.geoIntersects(value)
        case "$inQuery": return .inQuery(try inQuery(value, name))
        case "$notInQuery": return .notInQuery(try inQuery(value, name))
        case "$select":
            let (subquery, key) = try select(value, name)
            return .select(subquery, key: key)
        case "$dontSelect":
            let (subquery, key) = try select(value, name)
            return .notSelect(subquery, key: key)
        default: throw .query("bad constraint: \(ParseError.clipped(name))")
        }
    }

    private static let misplacedRelativeTime = ParseError.json(
        "$relativeTime can only be used with the $lt, $lte, $gt, and $gte operators")

    private func compared(_ json: JSON) throws(ParseError) -> Value {
        if case .object(let members) = json, members["$relativeTime"] != nil { throw Self.misplacedRelativeTime }
        return try Value.parse(json, for: .compared)
    }

    private mutating func bound(_ json: JSON, _ path: FieldPath) throws(ParseError) -> Value {
        guard case .object(let members) = json, let relative = members["$relativeTime"] else {
            return try Value.parse(json, for: .compared)
        }
        guard let text = relative.string else { throw .json("bad $relativeTime value: it must be a string") }
        let now = now ?? .now
        self.now = now
        relativeTimeFields.insert(path.description)
        return .date(try Timestamp.relative(text, to: now))
    }

    private func values(_ json: JSON, _ message: String) throws(ParseError) -> [Value] {
        guard case .array(let elements) = json else { throw .json(message) }
        var values: [Value] = []
        values.reserveCapacity(elements.count)
        for element in elements { values.append(try Value.parse(element, for: .compared)) }
        return values
    }

    /// Of a list in the list each element counts for itself, as in Parse: Parse-Swift's `fetchAll` asks for ids so.
    private func alternatives(_ json: JSON, _ message: String) throws(ParseError) -> [Value] {
        guard case .array(let elements) = json else { throw .json(message) }
        return try values(.array(elements.flatMap { $0.array ?? [$0] }), message)
    }

    /// A list of values, or of regular expressions that stand for beginnings: not both.
    private func all(_ json: JSON) throws(ParseError) -> Constraint {
        let values = try values(json, "bad $all value")
        var prefixes: [String] = []
        var isAnyRegex = false
        for value in values {
            guard case .object(let members) = value, let pattern = members["$regex"] else { continue }
            isAnyRegex = true
            if let text = pattern.string, let prefix = RegexPattern.literalPrefix(text) { prefixes.append(prefix) }
        }
        guard isAnyRegex else { return .all(values) }
        guard prefixes.count == values.count else {
            throw .json("All $all values must be of regex type or none")
        }
        return .allPrefixes(prefixes)
    }

    private func regex(_ json: JSON, options: JSON?) throws(ParseError) -> Constraint {
        guard let pattern = json.string else { throw .query("$regex value must be a string") }
        try Storable.check(pattern)
        guard let options else { return .regex(pattern: pattern, options: []) }
        guard let letters = options.string else { throw .query("$options value must be a string") }
        guard !letters.isEmpty, let options = RegexOptions(letters: letters) else {
            throw .query("Bad $options value for query: \(ParseError.clipped(letters))")
        }
        return .regex(pattern: pattern, options: options)
    }

    private func text(_ json: JSON) throws(ParseError) -> TextSearch {
        guard let members = json.object, let search = members["$search"]?.object else {
            throw .json("bad $text: $search, should be object")
        }
        guard let term = search["$term"]?.string, !term.isEmpty else {
            throw .json("bad $text: $term, should be string")
        }
        try Storable.check(term)
        var result = TextSearch(term: term)
        if let language = search["$language"] {
            guard let name = language.string else { throw .json("bad $text: $language, should be string") }
            try Storable.check(name)
            result.language = name
        }
        if let flag = search["$caseSensitive"] {
            guard let flag = flag.bool else { throw .json("bad $text: $caseSensitive, should be boolean") }
            guard !flag else { throw .json("bad $text: $caseSensitive not supported, please use $regex.") }
        }
        if let flag = search["$diacriticSensitive"] {
            guard let flag = flag.bool else { throw .json("bad $text: $diacriticSensitive, should be boolean") }
            guard flag else { throw .json("bad $text: $diacriticSensitive - false not supported") }
            result.diacriticSensitive = true
        }
        return result
    }

    private mutating func inQuery(_ json: JSON, _ name: String) throws(ParseError) -> Subquery {
        guard let members = json.object, members["where"]?.objectOrEmptyList != nil,
            let className = members["className"]?.string,
            !className.isEmpty
        else { throw .query("improper usage of \(name)") }
        return try subquery(members, className)
    }

    private mutating func select(_ json: JSON, _ name: String) throws(ParseError) -> (Subquery, FieldPath) {
        guard let members = json.object, members.count == 2, let query = members["query"]?.object,
            let className = query["className"]?.string, !className.isEmpty, let key = members["key"]?.string,
            !key.isEmpty
        else { throw .query("improper usage of \(name)") }
        return (try subquery(query, className), try path(key))
    }
}

extension JSON {
    /// What `$in` and `$nin` take for these values: one that is a list lies in another list, or its elements would count.
    public static func alternatives(_ values: [JSON]) -> JSON { .array(values.map { $0.array == nil ? $0 : [$0] }) }
}

extension RegexOptions {
    /// nil for any letter but i, m, s, u and x. `u` says what holds anyhow.
    init?(letters: String) {
        self = []
        for letter in letters.unicodeScalars {
            switch letter {
            case "i": insert(.ignoreCase)
            case "m": insert(.multiline)
            case "x": insert(.extended)
            case "s": insert(.dotMatchesNewline)
            case "u": break
            default: return nil
            }
        }
    }

    public var letters: String {
        (contains(.ignoreCase) ? "i" : "") + (contains(.multiline) ? "m" : "") + (contains(.extended) ? "x" : "")
            + (contains(.dotMatchesNewline) ? "s" : "")
    }
}
