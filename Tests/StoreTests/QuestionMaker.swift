import Wire

/// Makes questions that suit a world.
struct QuestionMaker {
    var maker: WorldMaker
    let world: World
    private let names: [String]

    init(chance: Chance, world: World) {
        maker = WorldMaker(chance: chance)
        self.world = world
        names = world.plain.map(\.name)
        for row in world.rows { maker.known[row.className, default: []].append(row.id) }
    }

    /// The fields of which conditions are made: the model knows how values of these types compare.
    private static func askable(_ table: World.Class) -> [(name: String, type: FieldType)] {
        table.fields.filter { _, type in
            switch type {
            case .string, .number, .boolean, .date, .pointer, .relation, .object, .array: true
            default: false
            }
        }
    }

    mutating func asker() -> Asker {
        switch maker.chance.below(6) {
        case 0: .anonymous
        case 1: .master
        default: .user(maker.id(of: "_User"))
        }
    }

    mutating func question() -> Question {
        let table =
            maker.chance.oneIn(10)
            ? maker.chance.pick([World.userClass, World.roleClass]) : maker.chance.pick(world.plain)
        switch maker.chance.below(10) {
        case 0, 1:
            let id = maker.chance.oneIn(8) ? "noestaaaaa" : maker.id(of: table.name)
            return Question(kind: .get(id), className: table.name, parameters: shape(table))
        case 2:
            let field = maker.chance.pick(
                QuestionMaker.askable(table).filter { $0.type != .object && !QuestionMaker.isRelation($0.type) }.map(
                    \.name)
                    + ["objectId"])
            return Question(
                kind: .distinct(field), className: table.name,
                parameters: JSONObject([("where", .object(condition(table, 1)))]))
        default:
            var parameters = shape(table)
            if maker.chance.oneIn(12) {
                parameters["where"] = ["objectId": .string(maker.id(of: table.name))]
            } else if !maker.chance.oneIn(6) {
                parameters["where"] = .object(condition(table, 2))
            }
            if maker.chance.oneIn(3) { page(&parameters, table) }
            if maker.chance.oneIn(8) { parameters["includeAll"] = true }
            if maker.chance.oneIn(4) {
                parameters["count"] = 1
                if maker.chance.oneIn(2) { parameters["limit"] = 0 }
            }
            return Question(kind: .find, className: table.name, parameters: parameters)
        }
    }

    /// keys, excludeKeys, include.
    private mutating func shape(_ table: World.Class) -> JSONObject {
        var parameters = JSONObject()
        let fields = table.fields.map(\.name)
        if maker.chance.oneIn(4) {
            parameters["keys"] = .string(maker.chance.some(fields + ["inventada"], oneIn: 2).joined(separator: ","))
        }
        if maker.chance.oneIn(6) {
            parameters["excludeKeys"] = .string(maker.chance.some(fields, oneIn: 3).joined(separator: ","))
        }
        switch maker.chance.below(6) {
        case 0: parameters["include"] = "*"
        case 1, 2:
            let paths = ["p", "w", "e", "l", "p.p", "p.w", "p.e", "e.p", "p.p.w", "a", "s", "r", "inventada"]
            parameters["include"] = .string(maker.chance.some(paths, oneIn: 4).joined(separator: ","))
        default: break
        }
        return parameters
    }

    private mutating func page(_ parameters: inout JSONObject, _ table: World.Class) {
        var keys: [String] = []
        for name in ["s", "n", "b", "d", "t", "p", "objectId", "inventada"] where maker.chance.oneIn(4) {
            keys.append((maker.chance.oneIn(2) ? "-" : "") + name)
        }
        if !keys.contains(where: { $0.hasSuffix("objectId") }) { keys.append("objectId") }
        parameters["order"] = .string(keys.joined(separator: ","))
        if maker.chance.oneIn(2) { parameters["limit"] = .number(Double(1 + maker.chance.below(4))) }
        if maker.chance.oneIn(3) { parameters["skip"] = .number(Double(maker.chance.below(4))) }
    }

    // MARK: conditions

    mutating func condition(_ table: World.Class, _ depth: Int) -> JSONObject {
        var condition = JSONObject()
        for _ in 0..<(1 + maker.chance.below(2)) {
            switch maker.chance.below(depth > 0 ? 12 : 9) {
            case 9, 10:
                var parts: [JSON] = []
                for _ in 0..<(1 + maker.chance.below(2)) { parts.append(.object(self.condition(table, depth - 1))) }
                condition[maker.chance.pick(["$or", "$and", "$nor"])] = .array(parts)
            case 11:
                // Most such conditions lead to the class; some do not.
                let owner = maker.chance.pick(
                    world.classes.filter { $0.type("r") == .relation(table.name) } + [table])
                condition["$relatedTo"] = [
                    "object": World.pointer(owner.name, maker.id(of: owner.name)),
                    "key": .string(maker.chance.oneIn(8) ? "s" : "r"),
                ]
            default: field(&condition, table, depth)
            }
        }
        return condition
    }

    private mutating func field(_ condition: inout JSONObject, _ table: World.Class, _ depth: Int) {
        if maker.chance.oneIn(20) {
            condition["inventada"] = operation("s", .string)
            return
        }
        if maker.chance.oneIn(12) {
            let list = maker.chance.list(3) { _ in 0 }.map { _ in JSON.string(maker.id(of: table.name)) }
            condition["objectId"] = maker.chance.pick([["$in": .array(list)], ["$nin": .array(list)]])
            return
        }
        let fields = QuestionMaker.askable(table)
        guard !fields.isEmpty else { return }
        let (name, type) = maker.chance.pick(fields)
        if depth > 0, maker.chance.oneIn(4), let subquery = subquery(name, type, depth) {
            condition[name] = subquery
        } else if case .relation(let target) = type {
            let pointer = { (self: inout QuestionMaker) in World.pointer(target, self.maker.id(of: target)) }
            switch maker.chance.below(4) {
            case 0: condition[name] = pointer(&self)
            case 1: condition[name] = ["$ne": pointer(&self)]
            case 2: condition[name] = ["$in": [pointer(&self), pointer(&self)]]
            default: condition[name] = ["$nin": [pointer(&self)]]
            }
        } else if type == .object, !maker.chance.oneIn(3) {
            let path = maker.chance.pick(["k", "j.k", "v", "k.x", "nada"])
            condition[name + "." + path] = operation(name + "." + path, .object)
        } else {
            condition[name] = operation(name, type)
        }
    }

    /// A value that the field could meet, or one of another type.
    private mutating func value(_ name: String, _ type: FieldType) -> JSON {
        if name.contains(".") { return maker.element() }
        if type == .array {
            if maker.chance.oneIn(6) { return maker.value(name, type, names) }
            switch name {
            case "l": return World.pointer("_User", maker.id(of: "_User"))
            case "e":
                let target = maker.chance.pick(names)
                return World.pointer(target, maker.id(of: target))
            default: return maker.element()
            }
        }
        if maker.chance.oneIn(12), type == .string || type == .number || type == .boolean {
            return maker.chance.pick([maker.string(), maker.number(), .bool(true)])
        }
        return maker.value(name, type, names)
    }

    private mutating func operation(_ name: String, _ type: FieldType) -> JSON {
        var values: [JSON] = []
        for _ in 0..<maker.chance.below(4) { values.append(value(name, type)) }
        let isArray = type == .array || name.contains(".")
        switch maker.chance.below(isArray ? 13 : 11) {
        case 0: return value(name, type)
        case 1: return ["$ne": value(name, type)]
        case 2: return ["$eq": value(name, type)]
        case 3: return maker.chance.oneIn(2) ? .null : ["$ne": nil]
        case 4: return ["$exists": .bool(maker.chance.oneIn(2))]
        case 5: return ["$in": .array(values + (maker.chance.oneIn(5) ? [.null] : []))]
        case 6: return ["$nin": .array(values)]
        case 7, 8:
            let bound: JSON
            switch type {
            case .string, .number, .date: bound = maker.value(name, type, names)
            default: bound = maker.chance.oneIn(2) ? maker.number() : maker.string()
            }
            guard type != .boolean, !isPointer(type) else { return value(name, type) }
            if maker.chance.oneIn(3) { return ["$gte": bound, "$lt": maker.chance.oneIn(2) ? bound : maker.number()] }
            return .object(JSONObject([(maker.chance.pick(["$lt", "$lte", "$gt", "$gte"]), bound)]))
        case 9:
            guard type == .string || isArray else { return value(name, type) }
            return ["$regex": .string(maker.chance.pick(["^a", "b$", "B", "ñ"]))]
        case 10: return value(name, type)
        case 11: return ["$all": .array(values)]
        default: return ["$containedBy": .array(values)]
        }
    }

    static func isRelation(_ type: FieldType) -> Bool { if case .relation = type { true } else { false } }

    private func isPointer(_ type: FieldType) -> Bool { if case .pointer = type { true } else { false } }

    private mutating func subquery(_ name: String, _ type: FieldType, _ depth: Int) -> JSON? {
        let target: World.Class
        switch type {
        case .array where name == "a", .pointer where maker.chance.oneIn(5): return select(type, depth)
        case .pointer(let className), .relation(let className):
            guard let table = world[className] else { return nil }
            target = table
        case .array where name == "e": target = world[maker.chance.pick(names)] ?? World.userClass
        case .array where name == "l": target = World.userClass
        case .string: return select(type, depth)
        default: return nil
        }
        var query = query(target, depth)
        query["className"] = .string(maker.chance.oneIn(15) ? "Ninguna" : target.name)
        return .object(JSONObject([(maker.chance.pick(["$inQuery", "$notInQuery"]), .object(query))]))
    }

    /// What other objects hold in a field: of lists, each element.
    private mutating func select(_ type: FieldType, _ depth: Int) -> JSON {
        let table = maker.chance.pick(world.plain.filter { $0.type("s") == .string })
        let keys = isPointer(type) ? ["p", "w", "e", "l", "s"] : ["s", "t", "a"]
        var query = query(table, depth)
        query["className"] = .string(table.name)
        let key = JSON.string(maker.chance.pick(keys.filter { table.type($0) != nil }))
        return .object(
            JSONObject([(maker.chance.pick(["$select", "$dontSelect"]), ["query": .object(query), "key": key])]))
    }

    private mutating func query(_ table: World.Class, _ depth: Int) -> JSONObject {
        var query = JSONObject([("where", .object(maker.chance.oneIn(4) ? JSONObject() : condition(table, depth - 1)))])
        if maker.chance.oneIn(5) {
            page(&query, table)
        }
        return query
    }
}
