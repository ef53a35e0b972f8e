extension Predicate: CustomStringConvertible {
    /// A `where` that says the same; parsing it gives this predicate again.
    public var json: JSONObject {
        switch self {
        case .and(let parts) where parts.isEmpty: JSONObject()
        case .and(let parts): JSONObject([("$and", Self.list(parts))])
        case .or(let parts): JSONObject([("$or", Self.list(parts))])
        case .nor(let parts): JSONObject([("$nor", Self.list(parts))])
        case .field(let path, let constraint): JSONObject([(path.description, constraint.json)])
        case .relatedTo(let object, let key):
            JSONObject([("$relatedTo", ["object": object.json, "key": .string(key)])])
        }
    }

    private static func list(_ parts: [Predicate]) -> JSON { .array(parts.map { .object($0.json) }) }

    public var description: String { json.description }
}

extension Constraint {
    public var json: JSON {
        switch self {
        case .equal(let value): ["$eq": value.json]
        case .notEqual(let value): ["$ne": value.json]
        case .less(let value): ["$lt": value.json]
        case .lessOrEqual(let value): ["$lte": value.json]
        case .greater(let value): ["$gt": value.json]
        case .greaterOrEqual(let value): ["$gte": value.json]
        case .exists(let exists): ["$exists": .bool(exists)]
        case .isIn(let values): ["$in": .alternatives(values.map(\.json))]
        case .notIn(let values): ["$nin": .alternatives(values.map(\.json))]
        case .all(let values): ["$all": Self.list(values)]
        case .allPrefixes(let prefixes):
            ["$all": .array(prefixes.map { ["$regex": .string("^" + RegexPattern.quoted($0))] })]
        case .containedBy(let values): ["$containedBy": Self.list(values)]
        case .regex(let pattern, let options):
            if options.isEmpty {
                ["$regex": .string(pattern)]
            } else {
                ["$regex": .string(pattern), "$options": .string(options.letters)]
            }
        case .text(let search): ["$text": ["$search": .object(search.json)]]
        case .nearSphere(let point, let maxDistance):
            if let maxDistance {
                ["$nearSphere": Value.geoPoint(point).json, "$maxDistance": .number(maxDistance)]
            } else {
                ["$nearSphere": Value.geoPoint(point).json]
            }
        case .withinBox(let southWest, let northEast):
            ["$within": ["$box": [Value.geoPoint(southWest).json, Value.geoPoint(northEast).json]]]
        case .withinPolygon(let points):
            ["$geoWithin": ["$polygon": .array(points.map { Value.geoPoint($0).json })]]
        case .withinSphere(let center, let radius):
            ["$geoWithin": ["$centerSphere": [Value.geoPoint(center).json, .number(radius)]]]
        case .geoIntersects(let point): ["$geoIntersects": ["$point": Value.geoPoint(point).json]]
        case .inQuery(let subquery): ["$inQuery": .object(subquery.json)]
        case .notInQuery(let subquery): ["$notInQuery": .object(subquery.json)]
        case .select(let subquery, let key):
            ["$select": ["query": .object(subquery.json), "key": .string(key.description)]]
        case .notSelect(let subquery, let key):
            ["$dontSelect": ["query": .object(subquery.json), "key": .string(key.description)]]
        }
    }

    private static func list(_ values: [Value]) -> JSON { .array(values.map(\.json)) }
}

extension TextSearch {
    var json: JSONObject {
        var members: [(key: String, value: JSON)] = [("$term", .string(term))]
        if let language { members.append(("$language", .string(language))) }
        if caseSensitive { members.append(("$caseSensitive", true)) }
        if diacriticSensitive { members.append(("$diacriticSensitive", true)) }
        return JSONObject(members)
    }
}

extension Subquery {
    public var json: JSONObject {
        var members: [(key: String, value: JSON)] = [
            ("className", .string(className)), ("where", .object(predicate.json)),
        ]
        if !order.isEmpty { members.append(("order", .string(Order.text(order)))) }
        if skip > 0 { members.append(("skip", .number(Double(skip)))) }
        if let limit { members.append(("limit", .number(Double(limit)))) }
        if let redirectClassNameForKey {
            members.append(("redirectClassNameForKey", .string(redirectClassNameForKey)))
        }
        return JSONObject(members)
    }
}

extension Order {
    /// `-puntos,nombre`
    static func text(_ order: [Order]) -> String {
        order.map { ($0.descending ? "-" : "") + $0.path.description }.joined(separator: ",")
    }
}

extension Query: CustomStringConvertible {
    /// The parameters of a find that asks the same; parsing them gives this query again.
    public var parameters: JSONObject {
        var members: [(key: String, value: JSON)] = [("where", .object(predicate.json))]
        if !order.isEmpty { members.append(("order", .string(Order.text(order)))) }
        if skip > 0 { members.append(("skip", .number(Double(skip)))) }
        if let limit { members.append(("limit", .number(Double(limit)))) }
        if count { members.append(("count", 1)) }
        if let keys { members.append(("keys", Self.list(keys.map(\.description)))) }
        if !excludeKeys.isEmpty { members.append(("excludeKeys", Self.list(excludeKeys.map(\.description)))) }
        if !include.isEmpty { members.append(("include", Self.list(include.map { $0.joined(separator: ".") }))) }
        if includeAll { members.append(("includeAll", true)) }
        if let redirectClassNameForKey {
            members.append(("redirectClassNameForKey", .string(redirectClassNameForKey)))
        }
        if explain { members.append(("explain", true)) }
        if let hint { members.append(("hint", .string(hint))) }
        return JSONObject(members)
    }

    private static func list(_ names: [String]) -> JSON { .string(names.joined(separator: ",")) }

    /// For logs: the class and the parameters.
    public var description: String { "\(className) \(parameters)" }
}
