import Wire

/// Makes requests that are almost right, from a seed.
final class RequestFuzzer {
    struct Request {
        var method: String
        var path: String
        var body: [UInt8]
        var isMaster: Bool
        var hasSession: Bool
    }

    /// A field of each type.
    static let thing: JSON = [
        "name": "one", "count": 1, "flag": true, "list": [1, "two"], "info": ["x": 1, "deep": ["y": [1]]],
        "when": ["__type": "Date", "iso": "2026-01-02T03:04:05.678Z"],
        "at": ["__type": "GeoPoint", "latitude": 1, "longitude": 2],
        "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1]]],
        "data": ["__type": "Bytes", "base64": "AAEC"],
        "file": ["__type": "File", "name": "a.txt"],
        "to": ["__type": "Pointer", "className": "Thing", "objectId": "nobody"],
        "many": [
            "__op": "AddRelation",
            "objects": [["__type": "Pointer", "className": "Thing", "objectId": "nobody"]],
        ],
    ]

    private static let fields = [
        "name", "count", "flag", "list", "info", "when", "at", "area", "data", "file", "to", "many", "info.x",
        "info.deep.y", "info.deep.y.0", "list.0", "objectId", "createdAt", "updatedAt", "ACL", "username", "password",
        "email", "authData", "sessionToken", "user", "users", "roles", "fresh", "a.b.c", "_rperm", "_hashed_password",
        "$or", "$and", "$nor", "$relatedTo", "$x", "__type", "__op", "className", "where", "0", "", "na\"me", "a'b",
        "é", "a\u{0}b",
    ]

    private static let pointer: JSON = ["__type": "Pointer", "className": "Thing", "objectId": "nobody"]

    private static let values: [JSON] = [
        nil, true, false, 0, -1, 0.5, 1e308, -1e308, 9_007_199_254_740_993, "", "text", "a\u{0}b",
        "'; DROP TABLE x; --",
        "\u{1F600}é\u{301}", .string(String(repeating: "long ", count: 1000)), [], [[]], [1, "a", nil, [:]], [:],
        ["a": ["b": ["c": 1]]], ["$": 1], ["a.b": 1], pointer,
        ["__type": "Pointer", "className": "_User", "objectId": 3],
        ["__type": "Date", "iso": "2026-01-02T03:04:05.678Z"],
        ["__type": "Date", "iso": "+275760-09-13T00:00:00.000Z"],
        ["__type": "Date", "iso": "0000-01-01T00:00:00.000Z"], ["__type": "Date", "iso": 1],
        ["__type": "GeoPoint", "latitude": 90, "longitude": -180],
        ["__type": "GeoPoint", "latitude": 1e300, "longitude": 0],
        ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1], [0, 0]]],
        ["__type": "Polygon", "coordinates": [[0, 0]]], ["__type": "Bytes", "base64": "%%%"],
        ["__type": "File", "name": "a\u{0}"], ["__type": "Relation", "className": "Thing"], ["__type": "Object"],
        ["__type": "Nothing"],
        ["__op": "Increment", "amount": 1], ["__op": "Increment", "amount": 1.7e308], ["__op": "Add", "objects": [1]],
        ["__op": "AddUnique", "objects": [["a": 1], nil, "x"]], ["__op": "Remove", "objects": [1, nil]],
        ["__op": "Delete"], ["__op": "SetOnInsert", "amount": 3], ["__op": "Batch", "ops": []],
        ["__op": "AddRelation", "objects": [pointer]], ["__op": "RemoveRelation", "objects": [pointer, 1]],
        ["$gt": 1], ["$lt": "x", "$gte": ["__type": "Date", "iso": "2026-01-02T03:04:05.678Z"]], ["$ne": nil],
        ["$eq": [1]], ["$in": [1, "a", nil, pointer, [:]]], ["$nin": [[]]], ["$in": []],
        ["$all": [1, ["$regex": "^a"]]],
        ["$all": []], ["$exists": 1], ["$exists": false], ["$regex": "^one", "$options": "imxs"], ["$regex": "(a+)+$"],
        ["$regex": "[[:alpha:]"], ["$regex": "\\Qa.b\\E"], ["$regex": "(?<name>a)\\k<name>"], ["$regex": "a{1,300}"],
        ["$not": ["$gt": 1]], ["$containedBy": [1, 2]], ["$type": "string"],
        ["$text": ["$search": ["$term": "one -two \"three"]]],
        ["$text": ["$search": ["$term": "one", "$language": "xx", "$caseSensitive": true]]],
        ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 2], "$maxDistance": 1e300],
        ["$within": ["$box": [["__type": "GeoPoint", "latitude": 1, "longitude": 2], [0, 0]]]],
        ["$geoWithin": ["$polygon": [[0, 0], [0, 1], [1, 1]]]], ["$geoWithin": ["$centerSphere": [[1, 2], 0.5]]],
        ["$geoIntersects": ["$point": ["__type": "GeoPoint", "latitude": 1, "longitude": 2]]],
        ["$inQuery": ["where": ["count": 1], "className": "Thing", "limit": 1]],
        ["$notInQuery": ["where": [:], "className": "_User"]],
        ["$select": ["query": ["where": [:], "className": "Thing"], "key": "name"]],
        ["$dontSelect": ["query": ["className": "Thing", "where": ["a": 1]], "key": "a.b"]],
        ["$relativeTime": "in 3 days"], ["$gt": ["$relativeTime": "12 hours ago"]], ["object": pointer, "key": "many"],
        [["count": 1], ["name": ["$ne": "x"]]], ["*": ["read": true]], ["role:x": ["write": true, "read": 1]],
    ]

    private static let classes = [
        "Thing", "Thing", "Thing", "Other", "_User", "_Role", "_Session", "_Installation", "_Join:many:Thing",
        "Th%22ing", "_SCHEMA", "é",
    ]

    private static let parameters: [(String, [String])] = [
        ("order", ["name", "-count,name", "to.name", "-info.x", "createdAt", "$score", ",", "a'b", "many"]),
        ("limit", ["0", "1", "-1", "1e9", "x", ""]), ("skip", ["0", "3", "-1", "99999999999999999999"]),
        ("keys", ["name", "to.name,count", "info.x", "nothing", "$", "*", ","]),
        ("excludeKeys", ["name", "to", "info"]), ("include", ["to", "to.to.to", "many", "name", "*", "..", "to..to"]),
        ("count", ["1", "true", "x"]), ("explain", ["true", "1"]),
        ("distinct", ["name", "info.x", "list", "many", ""]),
        ("includeAll", ["true"]), ("hint", ["x"]), ("readPreference", ["SECONDARY", "x"]),
        ("redirectClassNameForKey", ["to"]),
        ("username", ["someone", "a%00"]), ("password", ["secret", ""]), ("%zz", ["1"]),
        ("pipeline", ["[]", "[{\"$match\":{}}]"]),
    ]

    private let thing: String
    private let user: String
    private var random: SplitMix

    init(thing: String, user: String, seed: UInt64) {
        self.thing = thing
        self.user = user
        random = SplitMix(seed: seed)
    }

    func next() -> Request {
        var request = seed()
        if var path = request.path.isEmpty ? nil : request.path, chance(15) {
            var bytes = Array(path.utf8)
            let index = Int.random(in: 1..<max(2, bytes.count), using: &random)
            if index < bytes.count {
                bytes[index] = pick(Array("%/?&=\"'$.:_aZ09".utf8))
                path = String(decoding: bytes, as: UTF8.self)
                if path.hasPrefix("/") { request.path = path }
            }
        }
        if !request.body.isEmpty, chance(10) {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<request.body.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: request.body[index] = UInt8.random(in: 0...255, using: &random)
                case 1: request.body.insert(pick(Array("{}[]\",:\\0".utf8)), at: index)
                default: if request.body.count > 1 { request.body.remove(at: index) }
                }
            }
        }
        if chance(3) { request.method = pick(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]) }
        if request.method == "HEAD" { request.body = [] }
        return request
    }

    private func seed() -> Request {
        let isMaster = chance(60)
        func request(_ method: String, _ path: String, _ body: JSON? = nil) -> Request {
            Request(method: method, path: path, body: body?.bytes ?? [], isMaster: isMaster, hasSession: chance(40))
        }
        let className = pick(RequestFuzzer.classes)
        let id = pick([thing, thing, user, "nobody", "a%00b", "%F0%9F%98%80", String(repeating: "i", count: 300)])
        switch Int.random(in: 0..<20, using: &random) {
        case 0...5: return request("GET", "/classes/\(className)?\(query())")
        case 6: return request("GET", "/classes/\(className)/\(id)?\(query())")
        case 7...8: return request("POST", "/classes/\(className)", object())
        case 9...11:
            return request("PUT", "/classes/\(chance(70) ? "Thing" : className)/\(chance(70) ? thing : id)", object())
        case 12:
            return request("DELETE", "/classes/\(className)/\(pick(["nobody", user, id == thing ? "nobody" : id]))")
        case 13:
            return request("POST", "/users", merged(["username": .string("u\(random.next() % 50)"), "password": "x"]))
        case 14:
            let route = pick([
                "/login", "/loginAs", "/verifyPassword", "/challenge", "/upgradeToRevocableSession",
                "/requestPasswordReset",
            ])
            return request(
                "POST", route, merged(["username": "someone", "password": "wrong", "userId": .string(user)]))
        case 15:
            let route = pick([
                "/sessions/me", "/users/me", "/serverInfo", "/config", "/schemas", "/health",
                "/aggregate/Thing?\(query())", "/hooks/functions", "/scriptlog",
            ])
            return request("GET", route)
        case 16: return request("POST", "/roles", merged(["name": .string("r\(random.next() % 20)"), "ACL": [:]]))
        case 17:
            let parts = (0..<Int.random(in: 0...4, using: &random)).map { _ -> JSON in
                let inner = seed()
                let body = (try? JSONParser.parse(inner.body)) ?? nil
                return ["method": .string(inner.method), "path": .string("/parse" + inner.path), "body": body]
            }
            return request("POST", "/batch", ["requests": .array(parts), "transaction": .bool(chance(50))])
        case 18:
            let type: JSON = pick(["String", "Number", "Pointer", "Relation", "Array", "Polygon", "Wish"])
            let field: JSON =
                chance(20) ? ["__op": "Delete"] : ["type": type, "targetClass": "Thing", "required": .bool(chance(10))]
            let body: JSON = [
                "fields": [pick(["f1", "f2", "f3", "a b", "name"]): field],
                "classLevelPermissions": chance(20) ? value() : ["find": ["*": true], "get": ["*": true]],
                "indexes": chance(20) ? ["i1": [pick(["f1", "name"]): 1]] : [:],
            ]
            return request(
                pick(["POST", "PUT", "GET", "DELETE"]), "/schemas/\(pick(["Other", "Third", "Thing", "é"]))", body)
        default:
            return request(
                pick(["POST", "PUT", "GET"]),
                pick([
                    "/sessions", "/installations", "/functions/x", "/jobs/x", "/push", "/files/a.txt", "/purge/Third",
                    "/logout2", "/classes/Thing/x/y",
                ]), object())
        }
    }

    // MARK: pieces

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private func pick<Element>(_ list: [Element]) -> Element { list[Int.random(in: 0..<list.count, using: &random)] }

    private func value() -> JSON {
        let value = pick(RequestFuzzer.values)
        // Now and then one within another.
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return .array([value, pick(RequestFuzzer.values)])
        case 1: return .object(JSONObject([(pick(RequestFuzzer.fields), value)]))
        case 2:
            if case .object(var object) = value, let member = object.members.randomElement(using: &random) {
                object[member.key] = pick(RequestFuzzer.values)
                return .object(object)
            }
            return value
        default: return value
        }
    }

    private func object() -> JSON {
        if chance(3) { return value() }
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0...3, using: &random) { object[pick(RequestFuzzer.fields)] = value() }
        return .object(object)
    }

    private func merged(_ base: JSONObject) -> JSON {
        var base = base
        if chance(60) { base[pick(RequestFuzzer.fields)] = value() }
        if chance(20), let member = base.members.randomElement(using: &random) { base[member.key] = value() }
        return .object(base)
    }

    private func query() -> String {
        var parts: [String] = []
        if chance(80) { parts.append("where=" + encoded(String(decoding: object().bytes, as: UTF8.self))) }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let (name, values) = pick(RequestFuzzer.parameters)
            let value = pick(values)
            parts.append(name + "=" + (value.contains("%") ? value : encoded(value)))
        }
        return parts.joined(separator: "&")
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements.map { (key: $0.0, value: $0.1) }) }
}
