import TestSupport

@testable import Wire

/// Makes trees as clients could send them.
struct Maker {
    var random: SeededGenerator
    init(seed: Int) { random = SeededGenerator(seed: UInt64(seed)) }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    mutating func oneIn(_ bound: Int) -> Bool { below(bound) == 0 }
    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
    mutating func list<Element>(_ most: Int, _ make: (inout Maker) -> Element) -> [Element] {
        (0..<below(most + 1)).map { _ in make(&self) }
    }

    mutating func name() -> String { pick(["titulo", "votos", "autor", "a", "B_2", "tags", "perfil", "x9"]) }
    mutating func className() -> String { pick(["Temas", "_User", "_Role", "A1"]) }
    mutating func path() -> FieldPath { FieldPath(field: name(), rest: oneIn(3) ? list(3) { $0.name() } : []) }

    /// Any text without U+0000: controls, quotes, all planes.
    mutating func text(_ most: Int = 12) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<below(most + 1) {
            let top: UInt32 = pick([0x20, 0x7F, 0x2FFF, 0x10FFFF])
            if let scalar = Unicode.Scalar(UInt32.random(in: 1...top, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }

    /// -0 is left out: JSON.stringify prints it as 0.
    mutating func number() -> Double {
        switch below(4) {
        case 0: Double(below(2000) - 1000)
        case 1: Double(Int64.random(in: .min ... .max, using: &random))
        case 2: Double(below(100_000)) / 1000 + 0.001
        default:
            {
                let number = Double(bitPattern: random.next())
                return number.isFinite && number != 0 ? number : 0.1
            }()
        }
    }

    mutating func json(_ depth: Int = 3) -> JSON {
        switch below(depth > 0 ? 7 : 5) {
        case 0: .null
        case 1: .bool(oneIn(2))
        case 2: .number(number())
        case 3, 4: .string(text())
        case 5: .array(list(4) { $0.json(depth - 1) })
        default: .object(object(depth - 1))
        }
    }

    /// Names that can be stored.
    mutating func object(_ depth: Int) -> JSONObject {
        var object = JSONObject()
        for index in 0..<below(4) { object["k\(index)" + (oneIn(3) ? "ñ" : "")] = json(depth) }
        return object
    }

    mutating func timestamp() -> Timestamp {
        Timestamp(
            milliseconds: Int64.random(in: -Timestamp.limit...Timestamp.limit, using: &random)
                / pick([1, 1000, 1_000_000]))
    }

    mutating func point() -> GeoPoint {
        GeoPoint(
            latitude: Double.random(in: -90...90, using: &random),
            longitude: Double.random(in: -180...180, using: &random))
    }

    mutating func pointer(_ className: String? = nil) -> Pointer {
        Pointer(className: className ?? self.className(), objectId: "id" + text(5))
    }

    mutating func polygon() -> [GeoPoint] {
        let points = [point(), point(), point(), point()]
        return points + [points[0]]
    }

    mutating func value() -> Value {
        switch below(13) {
        case 0: .null
        case 1: .bool(oneIn(2))
        case 2: .number(number())
        case 3: .string(text())
        case 4: .date(timestamp())
        case 5: .bytes(list(9) { UInt8($0.below(256)) })
        case 6: .geoPoint(point())
        case 7: .polygon(polygon())
        case 8: .file(File(name: "f" + text(), url: oneIn(2) ? text() : nil))
        case 9: .pointer(pointer())
        case 10: .relation(className: className())
        case 11: .array(list(4) { $0.json(2) })
        default: .object(object(2))
        }
    }

    mutating func operation(dotted: Bool) -> Update.Operation {
        switch below(dotted ? 7 : 8) {
        case 0, 1: return .set(value())
        case 2: return .delete
        case 3: return .increment(number())
        case 4: return oneIn(2) ? .add(list(4) { $0.json(2) }) : .addUnique(list(4) { $0.json(2) })
        case 5: return .remove(list(4) { $0.json(2) })
        case 6: return .setOnInsert(value())
        default:
            let className = className()
            let added = list(3) { $0.pointer(className) }
            let removed = added.isEmpty ? [pointer(className)] : list(3) { $0.pointer(className) }
            return .relation(add: added, remove: removed)
        }
    }

    mutating func update() -> Update {
        var update = Update()
        for index in 0..<below(6) {
            let isDotted = oneIn(4)
            let path = FieldPath(field: "campo\(index)", rest: isDotted ? ["dos", "3 ñ'"] : [])
            update.changes.append(Update.Change(path, operation(dotted: isDotted)))
        }
        if oneIn(3) {
            let entries = ["*", "role:mods", "aB3dE5gH7j"].map { ACL.Entry($0, read: true, write: oneIn(2)) }
            update.acl = oneIn(3) ? .delete : .set(ACL(oneIn(4) ? [] : entries))
        }
        if oneIn(4) { update.objectId = json(1) }
        if oneIn(6) { update.createdAt = json(1) }
        if oneIn(6) { update.updatedAt = json(1) }
        return update
    }

    mutating func predicate(_ depth: Int = 3) -> Predicate {
        switch below(depth > 0 ? 9 : 6) {
        case 0: .relatedTo(object: pointer(), key: name())
        case 1...5: .field(path(), constraint(depth))
        // An `and` of nothing is `.always`, `$or` and `$nor` of nothing are refused.
        case 6: .and(list(3) { $0.predicate(depth - 1) })
        case 7: .or([predicate(depth - 1)] + list(2) { $0.predicate(depth - 1) })
        default: .nor([predicate(depth - 1)] + list(2) { $0.predicate(depth - 1) })
        }
    }

    mutating func subquery(_ depth: Int) -> Subquery {
        Subquery(
            className: className(), predicate: predicate(depth - 1), order: list(2) { $0.order() },
            skip: below(3), limit: oneIn(2) ? below(9) : nil, redirectClassNameForKey: oneIn(4) ? "r" : nil)
    }

    mutating func order() -> Order { Order(path(), descending: oneIn(2)) }

    mutating func constraint(_ depth: Int) -> Constraint {
        switch below(depth > 0 ? 22 : 18) {
        case 0, 1: .equal(value())
        case 2: .notEqual(value())
        case 3: .less(value())
        case 4: .lessOrEqual(value())
        case 5: .greater(value())
        case 6: .greaterOrEqual(value())
        case 7: .exists(oneIn(2))
        case 8: .isIn(list(3) { $0.value() })
        case 9: .notIn(list(3) { $0.value() })
        case 10: .all(list(3) { $0.value() })
        case 11: .allPrefixes([text()] + list(2) { $0.text() + "\\E\\" })
        case 12: .containedBy(list(3) { $0.value() })
        case 13: .regex(pattern: text(), options: RegexOptions(rawValue: UInt8(below(16))))
        case 14: .text(TextSearch(term: "t" + text(), language: oneIn(2) ? text() : nil, diacriticSensitive: oneIn(2)))
        case 15: .nearSphere(point(), maxDistance: oneIn(2) ? abs(number()) : nil)
        case 16: .withinBox(southWest: point(), northEast: point())
        case 17: oneIn(2) ? .withinPolygon(polygon()) : .withinSphere(center: point(), radius: abs(number()))
        case 18: .inQuery(subquery(depth))
        case 19: .notInQuery(subquery(depth))
        case 20: .select(subquery(depth), key: path())
        default: oneIn(2) ? .notSelect(subquery(depth), key: path()) : .geoIntersects(point())
        }
    }

    mutating func query() -> Query {
        var query = Query(className: className(), predicate: predicate())
        query.order = list(3) { $0.order() }
        query.skip = below(5)
        query.limit = oneIn(2) ? below(200) : nil
        query.count = oneIn(2)
        query.keys = oneIn(2) ? Set(list(3) { FieldPath(field: $0.name()) }).map { $0 } : nil
        query.excludeKeys = Set(list(2) { FieldPath(field: $0.name()) }).map { $0 }
        query.include = [["autor"], ["foro"], ["autor", "ciudad"]].filter { _ in oneIn(2) }
        if query.include.contains(["autor", "ciudad"]), !query.include.contains(["autor"]) {
            query.include.insert(["autor"], at: 0)
        }
        query.include.sort { ($0.count, $0[0]) < ($1.count, $1[0]) }
        query.includeAll = oneIn(4)
        query.redirectClassNameForKey = oneIn(4) ? name() : nil
        query.explain = oneIn(5)
        query.hint = oneIn(5) ? name() : nil
        return query
    }
}
