extension Query {
    /// Reads what a find asks for.
    ///
    /// - Parameters:
    ///   - parameters: a body's members, or those of a URL as `parameters(fromURL:)` reads them.
    ///   - now, internalKeys: as in `Predicate.parse`.
    /// - Throws: 102 for an unknown parameter, and limit or skip that is no count; 107 for a `where` that is no JSON
    ///   object; 105 for an order by a name that cannot be; what `Predicate.parse` throws.
    public static func parse(
        className: String, parameters: [(key: String, value: JSON)], now: Timestamp? = nil,
        internalKeys: Bool = false
    ) throws(ParseError) -> Query {
        var query = Query(className: className)
        var paths = QueryParser.Paths()
        for (key, value) in parameters {
            switch key {
            case "where":
                let condition = try QueryParser.condition(value)
                query.complexity = Complexity(where: condition)
                var parser = PredicateParser(now: now, internalKeys: internalKeys)
                query.predicate = try parser.predicate(condition)
                query.relativeTimeFields = parser.relativeTimeFields
                query.complexity.count(query.predicate)
            case "order": if value.isTruthy { query.order = try QueryParser.order(value) }
            case "limit": query.limit = try QueryParser.count(value, key)
            case "skip": query.skip = try QueryParser.count(value, key) ?? 0
            case "count": query.count = value.isTruthy
            case "includeAll": query.includeAll = value.isTruthy
            case "redirectClassNameForKey":
                query.redirectClassNameForKey = value.isTruthy ? QueryParser.text(value) : nil
            case "explain": query.explain = value.isTruthy
            case "hint": query.hint = value.isTruthy ? QueryParser.text(value) : nil
            case "cursor":
                guard case .string(let text) = value else { throw .query("cursor must be a text") }
                query.cursor = text
            case "comment": break
            case _ where paths.take(key, value): break
            default:
                throw .query("Invalid parameter for query: \(ParseError.clipped(key))")
            }
        }
        guard query.cursor == nil || query.skip == 0 else { throw .query("cursor and skip exclude each other") }
        try paths.write(to: &query)
        return query
    }

    /// Reads what a get asks for: the query for the one object.
    /// - Throws: 102 for any parameter but keys, include, excludeKeys and the read preferences.
    public static func parseGet(
        className: String, objectId: String, parameters: [(key: String, value: JSON)]
    ) throws(ParseError) -> Query {
        try Storable.check(objectId)
        let path = FieldPath(field: "objectId")
        var query = Query(className: className, predicate: .field(path, .equal(.string(objectId))))
        var paths = QueryParser.Paths()
        for (key, value) in parameters {
            guard paths.take(key, value) else { throw .query("Improper encode of parameter") }
        }
        try paths.write(to: &query)
        return query
    }

    /// Parameters of a URL, percent signs decoded: each is JSON where it can be read as such, else text.
    public static func parameters(fromURL pairs: [(String, String)]) -> [(key: String, value: JSON)] {
        pairs.map { (key: $0.0, value: QueryParser.json(fromURL: $0.1)) }
    }
}

enum QueryParser {
    /// What lists of paths a find and a get have in common.
    struct Paths {
        private var keys: JSON?
        private var excludeKeys: JSON?
        private var include: JSON?

        /// Whether it was one of these, or a read preference, which changes nothing here.
        mutating func take(_ key: String, _ value: JSON) -> Bool {
            switch key {
            case "keys": Paths.add(value, to: &keys)
            case "excludeKeys": Paths.add(value, to: &excludeKeys)
            case "include": Paths.add(value, to: &include)
            case "readPreference", "includeReadPreference", "subqueryReadPreference": break
            default: return false
            }
            return true
        }

        /// `keys=autor.nombre` includes autor by itself, and so does `excludeKeys`.
        private static func parents(of names: [String]) -> [String] {
            names.compactMap { name in
                name.utf8.lastIndex(of: UInt8(ascii: ".")).map { String(name[..<$0]) }
            }
        }

        /// A URL may name a parameter several times, and means a list by it.
        private static func add(_ value: JSON, to list: inout JSON?) {
            guard let before = list else {
                list = value
                return
            }
            list = .array((before.array ?? [before]) + (value.array ?? [value]))
        }

        func write(to query: inout Query) throws(ParseError) {
            var includes = include.map(QueryParser.list) ?? []
            if let keys, keys != .null {
                let names = QueryParser.list(keys)
                query.keys = QueryParser.paths(names)
                includes += Paths.parents(of: names)
            }
            if let excludeKeys {
                let names = QueryParser.list(excludeKeys)
                query.excludeKeys = QueryParser.paths(names)
                includes += Paths.parents(of: names)
            }
            if includes.contains("*") { query.includeAll = true }
            query.include = try QueryParser.withParents(includes.filter { $0 != "*" })
        }
    }

    // Bounds of what is worked out at all; requestComplexity is much below.
    private static let maxIncludes = 1000
    private static let maxOrders = 100

    /// Fields that always come, whatever `keys` and `excludeKeys` say.
    static let always: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

    static func condition(_ json: JSON) throws(ParseError) -> JSONObject {
        switch json {
        case .null: return JSONObject()
        case .string(let text):
            if let object = (try? JSONParser.parse(text))?.objectOrEmptyList { return object }
        default:
            if let object = json.objectOrEmptyList { return object }
        }
        throw .json("where parameter is not valid JSON")
    }

    /// `a,-b`; also a list of such texts, as JavaScript would join it.
    /// - Throws: 105 for a name that cannot be.
    static func order(_ json: JSON) throws(ParseError) -> [Order] {
        var order: [Order] = []
        for part in text(json).split(separator: ",", omittingEmptySubsequences: false) {
            guard order.count < maxOrders else { throw .query("order asks for too many fields") }
            var name = trimmed(part)
            let isDescending = name.utf8.first == UInt8(ascii: "-")
            if isDescending { name.removeFirst() }
            switch name {
            case "$score": order.append(Order(FieldPath(field: name), descending: isDescending))
            case "_created_at": order.append(Order(FieldPath(field: "createdAt"), descending: isDescending))
            case "_updated_at": order.append(Order(FieldPath(field: "updatedAt"), descending: isDescending))
            default:
                let path = FieldPath(text: name)
                guard Names.isField(path.field), path.rest.count < Update.maxPathLength,
                    path.rest.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isPlain) })
                else { throw .invalidField(name) }
                order.append(Order(path, descending: isDescending))
            }
        }
        return order
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        let lower = byte | 0x20
        return (lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z"))
            || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) || byte == UInt8(ascii: "_")
    }

    /// A limit or skip: a whole number from 0 on, also as text; nil for "", null and false.
    /// - Throws: 102 for anything else.
    static func count(_ json: JSON, _ name: String) throws(ParseError) -> Int? {
        let number: Double?
        switch json {
        case .number(let value): number = value
        case .string(let text):
            let text = trimmed(text[...])
            if text.isEmpty { return nil }
            number = Double(text)
        case .null, .bool(false): return nil
        default: number = nil
        }
        guard let number, number >= 0, number == number.rounded() else {
            throw .query("\(name) must be a whole number, zero or more")
        }
        return Int(min(number, 9_007_199_254_740_991))
    }

    /// As JavaScript's String(value) for what clients send: lists joined with commas.
    static func text(_ json: JSON) -> String {
        switch json {
        case .string(let text): text
        case .array(let elements): elements.map { $0 == .null ? "" : text($0) }.joined(separator: ",")
        default: json.description
        }
    }

    /// The names of a list, each once, without blanks around them; empty ones left out.
    static func list(_ json: JSON) -> [String] {
        guard json != .null else { return [] }
        var seen: Set<ExactText> = []
        var names: [String] = []
        for part in text(json).split(separator: ",") {
            let name = trimmed(part)
            if !name.isEmpty, seen.insert(ExactText(name)).inserted { names.append(name) }
        }
        return names
    }

    /// Paths to leave in or out; names that no field can have do no harm.
    static func paths(_ names: [String]) -> [FieldPath] {
        names.compactMap { always.contains($0) ? nil : FieldPath(text: $0) }
    }

    /// Each path once and parents before children, shorter paths first.
    /// - Throws: 102 for more than anybody needs, before it is worked out.
    static func withParents(_ names: [String]) throws(ParseError) -> [[String]] {
        // Most name one field.
        if names.count == 1, !names[0].isEmpty, !names[0].utf8.contains(UInt8(ascii: ".")) { return [names] }
        var seen: Set<[String]> = []
        var paths: [[String]] = []
        for name in names {
            let parts = name.split(separator: ".").map(String.init)
            guard !parts.isEmpty else { continue }
            guard parts.count <= Update.maxPathLength, paths.count <= maxIncludes else {
                throw .query("include asks for too much")
            }
            for length in 1...parts.count where seen.insert(Array(parts[..<length])).inserted {
                paths.append(Array(parts[..<length]))
            }
        }
        return paths.enumerated().sorted { one, other in
            (one.element.count, one.offset) < (other.element.count, other.offset)
        }.map(\.element)
    }

    /// Only what begins like JSON is tried; the rest is text.
    static func json(fromURL text: String) -> JSON {
        guard let first = text.utf8.first(where: { $0 != UInt8(ascii: " ") }) else { return .string(text) }
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""), UInt8(ascii: "-"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            return (try? JSONParser.parse(text)) ?? .string(text)
        default: return .string(text)
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var bytes = text.utf8[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 || first == 0x0A || first == 0x0D {
            bytes.removeFirst()
        }
        while let last = bytes.last, last == 0x20 || last == 0x09 || last == 0x0A || last == 0x0D {
            bytes.removeLast()
        }
        return String(Substring(bytes))
    }
}
