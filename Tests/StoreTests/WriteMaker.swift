import Wire

/// Makes scripts that suit a world: writes of every kind and questions between them, alone, as a batch, or as a
/// transaction.
struct WriteMaker {
    private var questions: QuestionMaker
    private let world: World
    private let names: [String]

    init(chance: Chance, world: World) {
        questions = QuestionMaker(chance: chance, world: world)
        self.world = world
        names = world.plain.map(\.name)
    }

    private var chance: Chance {
        get { questions.maker.chance }
        set { questions.maker.chance = newValue }
    }

    mutating func script() -> Script {
        var script = Script(asker: questions.asker(), parts: [])
        switch chance.below(6) {
        case 0: script.isTransaction = true
        case 1: break
        default: return Script(asker: script.asker, parts: [chance.oneIn(3) ? .ask(questions.question()) : write()])
        }
        for index in 0..<(1 + chance.below(4)) {
            let part = chance.oneIn(4) ? Script.Part.ask(questions.question()) : write()
            script.parts.append(part)
            // Parts may speak of what those before them have made.
            if case .write(let change) = part, change.kind == .create {
                for _ in 0..<4 { questions.maker.known[change.className, default: []].append(Script.made(by: index)) }
            }
        }
        return script
    }

    private mutating func write() -> Script.Part {
        var table = chance.pick(world.plain)
        switch chance.below(50) {
        case 0...4: table = World.userClass
        case 5...7: table = World.roleClass
        // Only the master key makes classes.
        case 8: table = World.Class(name: "Nueva", fields: [], permissions: nil)
        default: break
        }
        let id = chance.oneIn(12) ? "noestaaaaa" : questions.maker.id(of: table.name)
        switch chance.below(10) {
        case 0...2: return .write(Change(kind: .create, className: table.name, body: body(table, isNew: true)))
        case 3, 4: return .write(Change(kind: .delete(id), className: table.name))
        default: return .write(Change(kind: .update(id), className: table.name, body: body(table, isNew: false)))
        }
    }

    // MARK: bodies

    private mutating func body(_ table: World.Class, isNew: Bool) -> JSONObject {
        var body = JSONObject()
        switch table.name {
        case "_User": user(&body, isNew: isNew)
        case "_Role": role(&body, isNew: isNew)
        default:
            for _ in 0..<(1 + chance.below(3)) { member(&body, table) }
            if isNew, table.options["s"]?["required"] == true, body["s"] == nil, !chance.oneIn(5) { body["s"] = "a" }
        }
        if chance.oneIn(6) { body["ACL"] = acl() }
        if chance.oneIn(40) { body["objectId"] = .string(questions.maker.id(of: table.name)) }
        if chance.oneIn(40) { body["createdAt"] = chance.oneIn(2) ? "ayer" : questions.maker.date() }
        return body
    }

    private mutating func acl() -> JSON {
        switch chance.below(12) {
        case 0: .null
        case 1: ["__op": "Delete"]
        case 2: ["*": ["read": "yes"]]
        case 3: "todos"
        case 4: ["*": ["read": true, "write": false], "role:socios": ["read": false]]
        default: .object(questions.maker.acl() ?? JSONObject([("*", ["read": true, "write": true])]))
        }
    }

    private mutating func user(_ body: inout JSONObject, isNew: Bool) {
        let names = [World.users[0], World.users[1].uppercased(), "nueva", "NUEVA", "otra", "otra2"]
        if isNew ? !chance.oneIn(8) : chance.oneIn(3) {
            body["username"] = chance.oneIn(6) ? chance.pick([.null, "", 5]) : .string(chance.pick(names))
        }
        if isNew ? !chance.oneIn(8) : chance.oneIn(4) {
            body["password"] = chance.oneIn(6) ? chance.pick([.null, "", 5]) : "secreto"
        }
        if chance.oneIn(3) {
            body["email"] = chance.pick([
                "nueva@example.com", "Nueva@Example.com", "otra@example.com", .null, "sin arroba", "", 5,
                .string(World.users[2] + "@example.com"),
            ])
        }
        if chance.oneIn(8) { body["emailVerified"] = .bool(chance.oneIn(2)) }
    }

    private mutating func role(_ body: inout JSONObject, isNew: Bool) {
        if isNew ? !chance.oneIn(8) : chance.oneIn(4) {
            body["name"] =
                chance.oneIn(6)
                ? chance.pick([.null, "", 5, "a+b", ["__op": "Delete"]])
                : .string(chance.pick(World.roleNames + ["nuevos", "nuevos 2"]))
        }
        if isNew, !chance.oneIn(8) { body["ACL"] = .object(questions.maker.acl() ?? JSONObject()) }
        if chance.oneIn(2) { body["users"] = relation("_User") }
        if chance.oneIn(3) { body["roles"] = relation("_Role") }
    }

    /// One member of a body: most suit the class.
    private mutating func member(_ body: inout JSONObject, _ table: World.Class) {
        switch chance.below(30) {
        case 0: body["9x"] = 1
        case 1...3: unknown(&body)
        default:
            guard let field = table.fields.isEmpty ? nil : chance.pick(table.fields) else { return unknown(&body) }
            if field.type == .object, chance.oneIn(2) {
                for _ in 0..<(1 + chance.below(2)) {
                    body[field.name + "." + chance.pick(["k", "j", "j.k", "v", "v.k", "k.x", "nada.x"])] = nested()
                }
            } else {
                body[field.name] = change(field.name, field.type)
            }
        }
    }

    /// A field that the class lacks, or got from such a write.
    private mutating func unknown(_ body: inout JSONObject) {
        let name = "x\(chance.below(4))"
        switch chance.below(8) {
        case 0: body[name + ".k"] = nested()
        case 1: body[name] = relation(chance.pick(names + ["_User"]))
        case 2: body[name] = .object(operation("Add", [questions.maker.element()]))
        case 3: body[name] = ["__op": "Increment", "amount": 1]
        case 4: body[name] = chance.oneIn(2) ? .null : ["__op": "Delete"]
        default: body[name] = any()
        }
    }

    // MARK: changes of one field

    private mutating func change(_ name: String, _ type: FieldType) -> JSON {
        switch chance.below(40) {
        case 0, 1: return any()
        case 2, 3, 4: return .null
        case 5, 6, 7: return ["__op": "Delete"]
        case 8, 9: return ["__op": "SetOnInsert", "amount": set(name, type)]
        case 10: return broken()
        default: break
        }
        switch type {
        case .relation(let target): return relation(target)
        case .number where chance.oneIn(2): return ["__op": "Increment", "amount": chance.pick([1, -1, 0, 2.5])]
        case .array where !chance.oneIn(3):
            return .object(
                operation(
                    chance.pick(["Add", "AddUnique", "Remove"]), questions.maker.value(name, type, names).array ?? []))
        default: return set(name, type)
        }
    }

    private mutating func set(_ name: String, _ type: FieldType) -> JSON {
        switch type {
        case .geoPoint: ["__type": "GeoPoint", "latitude": 1.5, "longitude": .number(Double(chance.below(3)))]
        case .polygon:
            ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, .number(Double(1 + chance.below(2)))]]]
        case .bytes: ["__type": "Bytes", "base64": .string(chance.pick(["", "aGVybWVz", "AAA="]))]
        case .relation(let target): ["__type": "Relation", "className": .string(target)]
        default: questions.maker.value(name, type, names)
        }
    }

    /// Within an Object field.
    private mutating func nested() -> JSON {
        switch chance.below(10) {
        case 0, 1, 2: questions.maker.element()
        case 3: .null
        case 4, 5: ["__op": "Delete"]
        case 6, 7: ["__op": "Increment", "amount": chance.pick([1, 2.5])]
        case 8:
            .object(
                operation(
                    chance.pick(["Add", "AddUnique", "Remove"]), [questions.maker.element(), questions.maker.string()]))
        default: chance.oneIn(3) ? relation("_User") : ["__op": "SetOnInsert", "amount": 1]
        }
    }

    /// A value of any type.
    private mutating func any() -> JSON {
        switch chance.below(12) {
        case 0: questions.maker.string()
        case 1: questions.maker.number()
        case 2: true
        case 3: questions.maker.date()
        case 4: World.pointer(chance.pick(names), "noestaaaaa")
        case 5: .object(questions.maker.object().object ?? JSONObject())
        case 6: .array([questions.maker.element()])
        case 7: set("", .geoPoint)
        case 8: set("", .polygon)
        case 9: set("", .bytes)
        case 10: set("", .relation(chance.pick(names)))
        default: broken()
        }
    }

    private mutating func broken() -> JSON {
        chance.pick([
            ["k": ["$x": 1]], ["__type": "Date", "iso": "ayer"], ["__op": "Fold"], ["__op": "Increment"],
            ["__op": "Increment", "amount": "1"], ["__op": "Add", "objects": "a"],
            ["__op": "AddRelation", "objects": []],
            ["__type": "GeoPoint", "latitude": 91, "longitude": 0],
            ["__op": "AddRelation", "objects": [World.pointer("_User", "a"), World.pointer("_Role", "a")]],
            ["__op": "AddRelation", "objects": ["a"]],
        ])
    }

    private mutating func relation(_ target: String) -> JSON {
        var pointers: [JSON] = []
        for _ in 0..<3 { pointers.append(World.pointer(target, questions.maker.id(of: target))) }
        let (some, others) = (Array(pointers[..<(1 + chance.below(2))]), [pointers[2]])
        switch chance.below(5) {
        case 0, 1: return .object(operation("AddRelation", some))
        case 2, 3: return .object(operation("RemoveRelation", some))
        default:
            return [
                "__op": "Batch",
                "ops": [.object(operation("AddRelation", some)), .object(operation("RemoveRelation", others))],
            ]
        }
    }

    private func operation(_ name: String, _ objects: [JSON]) -> JSONObject {
        JSONObject([("__op", .string(name)), ("objects", .array(objects))])
    }
}
