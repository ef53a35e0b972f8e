import Wire

/// Makes worlds: few values, so that conditions meet them.
struct WorldMaker {
    var chance: Chance
    /// The ids of the objects that are there, or may be, by class.
    var known: [String: [String]] = [:]

    static let names = ["Alfa", "Beta", "Gama", "Delta"]

    mutating func world() -> World {
        let names = Array(WorldMaker.names[..<(2 + chance.below(3))])
        var world = World(classes: [World.userClass, World.roleClass], rows: [])
        for name in names { world.classes.append(table(name, names)) }
        for user in World.users {
            // As sign-up gives it: a user always has itself, and without an ACL nobody else.
            var acl = acl() ?? JSONObject()
            acl[user] = ["read": true, "write": true]
            world.rows.append(
                World.Row(
                    className: "_User", id: user,
                    fields: [("username", .string(user)), ("email", .string(user + "@example.com"))], acl: acl))
        }
        world.rows += World.roleNames.map { role($0) }
        for table in world.plain {
            for number in 0..<(3 + chance.below(8)) { world.rows.append(row(table, number, names)) }
        }
        return world
    }

    // MARK: schemas

    private mutating func table(_ name: String, _ names: [String]) -> World.Class {
        // `e` and `element` are names that the statements use too.
        let all: [(name: String, type: FieldType)] = [
            ("a", .array), ("b", .boolean), ("d", .date), ("l", .array), ("e", .array), ("n", .number),
            ("element", .object),
            ("p", .pointer(chance.pick(names))), ("r", .relation(chance.pick(names + ["_User"]))), ("t", .string),
            ("w", .pointer("_User")),
        ]
        var table = World.Class(name: name, fields: all.filter { _ in !chance.oneIn(5) })
        table.fields.append(("s", .string))
        if chance.oneIn(3) { table.options["s"] = JSONObject([("required", true)]) }
        if chance.oneIn(4) { table.options["s", default: JSONObject()]["defaultValue"] = "dado" }
        for (name, value) in [("n", JSON.number(7)), ("b", false), ("a", ["d"])] where chance.oneIn(5) {
            if table.type(name) != nil { table.options[name] = JSONObject([("defaultValue", value)]) }
        }
        table.permissions = chance.oneIn(4) ? nil : permissions(table)
        return table
    }

    /// New permissions for a class.
    mutating func permissions(_ table: World.Class) -> JSONObject {
        var permissions = JSONObject()
        let pointers = table.fields.map(\.name).filter { $0 == "w" || $0 == "l" }
        let operations = ["find", "get", "count", "create", "update", "delete", "addField"]
        for operation in operations where !chance.oneIn(8) {
            permissions[operation] = .object(grant(pointers))
        }
        for key in ["readUserFields", "writeUserFields"] where chance.oneIn(5) {
            permissions[key] = .array(chance.some(pointers, oneIn: 2).map { .string($0) })
        }
        if chance.oneIn(4) {
            var acl = JSONObject()
            for principal in chance.some(["*", "currentUser", "role:mods", World.users[0]], oneIn: 2) {
                acl[principal] = right()
            }
            permissions["ACL"] = .object(acl)
        }
        if chance.oneIn(2) {
            let fields = table.fields.map(\.name)
            var protected = JSONObject()
            let keys =
                ["*", "authenticated", "role:mods", "role:socios", World.users[0], World.users[1]]
                + pointers.map { "userField:" + $0 }
            for key in chance.some(keys, oneIn: 3) {
                protected[key] = .array(chance.some(fields, oneIn: 3).map { .string($0) })
            }
            permissions["protectedFields"] = .object(protected)
        }
        return permissions
    }

    private mutating func grant(_ pointers: [String]) -> JSONObject {
        var grant = JSONObject()
        if !chance.oneIn(3) {
            grant["*"] = true
            return grant
        }
        for _ in 0..<chance.below(3) {
            switch chance.below(4) {
            case 0: grant["requiresAuthentication"] = true
            case 1: grant["role:" + chance.pick(World.roleNames)] = true
            case 2: grant[chance.pick(World.users)] = true
            default: grant["pointerFields"] = .array(chance.some(pointers, oneIn: 2).map { .string($0) })
            }
        }
        return grant
    }

    /// Roles hold one another, in circles too.
    private mutating func role(_ name: String) -> World.Row {
        var row = World.Row(className: "_Role", id: name, fields: [("name", .string(name))])
        row.acl = chance.oneIn(2) ? JSONObject() : acl()
        row.related = [
            ("users", chance.some(World.users, oneIn: 4).sorted()),
            ("roles", chance.some(World.roleNames, oneIn: 4).sorted()),
        ].filter { !$0.1.isEmpty }
        return row
    }

    private mutating func right() -> JSON {
        switch chance.below(3) {
        case 0: ["write": true]
        case 1: ["read": true, "write": true]
        default: ["read": true]
        }
    }

    /// nil: public.
    mutating func acl() -> JSONObject? {
        switch chance.below(6) {
        case 0: return JSONObject()
        case 1: return JSONObject([("*", ["read": true])])
        case 2, 3:
            var acl = JSONObject()
            for principal in chance.some(World.users + World.roleNames.map { "role:" + $0 }, oneIn: 3) {
                acl[principal] = right()
            }
            return acl
        default: return nil
        }
    }

    // MARK: rows

    static func id(_ className: String, _ number: Int) -> String {
        className + String(repeating: "0", count: 9 - className.utf8.count) + "\(number)"
    }

    private mutating func row(_ table: World.Class, _ number: Int, _ names: [String]) -> World.Row {
        var row = World.Row(className: table.name, id: WorldMaker.id(table.name, number), fields: [], acl: acl())
        for (name, type) in table.fields {
            if case .relation(let target) = type {
                let ids = (0..<chance.below(4)).map { _ in id(of: target) }
                if !ids.isEmpty { row.related.append((name, Array(Set(ids)).sorted())) }
                continue
            }
            if chance.oneIn(4), table.options[name] == nil { continue }
            var value = value(name, type, names)
            if table.options[name] != nil, value == "" { value = "a" }
            row.fields.append((name, value))
        }
        return row
    }

    mutating func id(of className: String) -> String {
        if let ids = known[className], !ids.isEmpty, !chance.oneIn(4) { return chance.pick(ids) }
        if className == "_Role" { return chance.pick(World.roleNames) }
        return className == "_User" ? chance.pick(World.users) : WorldMaker.id(className, chance.below(10))
    }

    /// A value that a field could have.
    mutating func value(_ name: String, _ type: FieldType, _ names: [String]) -> JSON {
        switch type {
        case .string: return string()
        case .number: return number()
        case .boolean: return .bool(chance.oneIn(2))
        case .date: return date()
        case .pointer(let target): return World.pointer(target, id(of: target))
        case .object: return object()
        default:
            switch name {
            case "l":
                var elements: [JSON] = []
                for _ in 0..<chance.below(3) { elements.append(World.pointer("_User", id(of: "_User"))) }
                return .array(elements)
            case "e":
                var elements: [JSON] = []
                for _ in 0..<chance.below(4) {
                    let target = chance.pick(names)
                    elements.append(chance.oneIn(6) ? string() : World.pointer(target, id(of: target)))
                }
                return .array(elements)
            default:
                var elements: [JSON] = []
                for _ in 0..<chance.below(4) { elements.append(element()) }
                return .array(elements)
            }
        }
    }

    mutating func string() -> JSON { .string(chance.pick(["a", "b", "ab", "B", "ñ", "'", ""])) }
    mutating func number() -> JSON { chance.pick([-1, 0, 1, 2.5, 1e21]) }
    mutating func date() -> JSON {
        [
            "__type": "Date",
            "iso": .string(
                chance.pick(["2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.001Z", "1969-12-31T23:59:59.999Z"])),
        ]
    }

    mutating func object() -> JSON {
        var object = JSONObject()
        if !chance.oneIn(3) { object["k"] = chance.oneIn(2) ? number() : chance.oneIn(3) ? .null : string() }
        if chance.oneIn(3) { object["j"] = .object(JSONObject([("k", chance.oneIn(2) ? number() : string())])) }
        if chance.oneIn(4) { object["v"] = .array([element()]) }
        return .object(object)
    }

    mutating func element() -> JSON {
        switch chance.below(6) {
        case 0, 1: string()
        case 2: number()
        case 3: .bool(chance.oneIn(2))
        case 4: chance.oneIn(2) ? ["k": 1] : ["k": 1, "j": "a"]
        default: chance.oneIn(2) ? [string()] : date()
        }
    }
}
