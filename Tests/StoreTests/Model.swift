import Wire

/// What a viewer gets, worked out the slow way from the specification of the Parse surface: every row is looked at
/// in memory. It shares nothing with the store but the types of JSON.
///
/// Where a request can be refused for several reasons, any of their codes will do.
struct Model {
    let world: World
    let userId: String?
    let isMaster: Bool
    let principals: Set<String>

    /// The codes of the reasons for which the request is refused.
    final class Refusals { var codes: Set<Int> = [] }
    let refusals = Refusals()

    enum Answer: Equatable {
        case refused(Set<Int>)
        case value(JSON)
    }

    init(_ world: World, _ asker: Asker) {
        self.world = world
        isMaster = asker == .master
        var principals: Set<String> = ["*"]
        if case .user(let id) = asker {
            userId = id
            principals.insert(id)
            var held: Set<String> = []
            var grew = true
            // A role is held by its users and by who holds one of its roles.
            while grew {
                grew = false
                for role in world.rows(of: "_Role") where !held.contains(role.id) {
                    guard role.members("users").contains(id) || role.members("roles").contains(where: held.contains)
                    else { continue }
                    held.insert(role.id)
                    principals.insert("role:" + (role.value("name")?.string ?? ""))
                    grew = true
                }
            }
        } else {
            userId = nil
        }
        self.principals = principals
    }

    /// The same viewer, with the roles that it had then, in another world.
    init(_ world: World, sameViewerAs other: Model) {
        self.world = world
        isMaster = other.isMaster
        userId = other.userId
        principals = other.principals
    }

    // MARK: class-level permissions

    enum Entry {
        case all
        case namedIn([String])
        case nobody
        case refused(Int)
    }

    /// `creating`: an addField that comes with a create, where there is no row yet that could name somebody.
    func enter(_ table: World.Class, _ operation: String, creating: Bool = false) -> Entry {
        guard !isMaster, let permissions = table.permissions else { return .all }
        let grant = permissions[operation]?.object ?? JSONObject()
        if grant.members.contains(where: { principals.contains($0.key) && $0.value == true }) { return .all }
        var fields: [String] = []
        if !creating { fields += (grant["pointerFields"]?.array ?? []).compactMap(\.string) }
        let grouped = ["find", "get", "count"].contains(operation) ? "readUserFields" : "writeUserFields"
        fields += (permissions[grouped]?.array ?? []).compactMap(\.string)
        // Nobody is named in what is not there yet.
        if operation == "create" { fields = [] }
        if grant["requiresAuthentication"] == true {
            guard userId != nil else { return .refused(101) }
            return fields.isEmpty ? .all : .namedIn(fields)
        }
        guard !fields.isEmpty else { return .refused(119) }
        return userId == nil ? .nobody : .namedIn(fields)
    }

    /// Entry, with a refusal noted.
    private func demand(_ table: World.Class, _ operation: String) -> Entry {
        let entry = enter(table, operation)
        if case .refused(let code) = entry { refusals.codes.insert(code) }
        return entry
    }

    // MARK: rows

    func isVisible(_ row: World.Row, _ entry: Entry) -> Bool {
        guard !isMaster else { return true }
        switch entry {
        case .nobody, .refused: return false
        case .all: return aclLetsRead(row)
        case .namedIn(let fields): return aclLetsRead(row) && fields.contains { isNamed(in: $0, of: row) }
        }
    }

    private func aclLetsRead(_ row: World.Row) -> Bool {
        guard let acl = row.acl else { return true }
        return acl.members.contains { principals.contains($0.key) && $0.value.object?["read"] == true }
    }

    private func aclLetsWrite(_ row: World.Row) -> Bool {
        guard let acl = row.acl else { return true }
        return acl.members.contains { principals.contains($0.key) && $0.value.object?["write"] == true }
    }

    func isWritable(_ row: World.Row, _ entry: Entry) -> Bool {
        guard !isMaster else { return true }
        switch entry {
        case .nobody, .refused: return false
        case .all: return aclLetsWrite(row)
        case .namedIn(let fields): return aclLetsWrite(row) && fields.contains { isNamed(in: $0, of: row) }
        }
    }

    /// Whether a field names the viewer: a pointer, or one of several in an array.
    private func isNamed(in field: String, of row: World.Row) -> Bool {
        guard let userId, let value = row.value(field) else { return false }
        let pointer = World.pointer("_User", userId)
        return value == pointer || value.array?.contains(pointer) == true
    }

    // MARK: protected fields

    private func protection(_ table: World.Class) -> [(key: String, fields: Set<String>)] {
        if table.name == "_User" { return [("*", ["email"])] }
        return (table.permissions?["protectedFields"]?.object?.members ?? []).map {
            ($0.key, Set(($0.value.array ?? []).compactMap(\.string)))
        }
    }

    /// Hidden when all sets that apply to the row name it: by viewer, or by a field of the row that names the viewer.
    func isHidden(_ field: String, _ table: World.Class, in row: World.Row) -> Bool {
        if table.name == "_User", row.id == userId { return false }
        return isHidden(field, table) { isNamed(in: $0, of: row) }
    }

    /// Hidden in some row that could be.
    func mayBeHidden(_ field: String, _ table: World.Class) -> Bool {
        let pointers = protection(table).compactMap { entry in
            entry.key.hasPrefix("userField:") ? String(entry.key.dropFirst(10)) : nil
        }
        var subsets: [Set<String>] = [[]]
        for pointer in pointers where userId != nil { subsets += subsets.map { $0.union([pointer]) } }
        return subsets.contains { subset in isHidden(field, table) { subset.contains($0) } }
    }

    private func isHidden(_ field: String, _ table: World.Class, _ isNamed: (String) -> Bool) -> Bool {
        guard !isMaster else { return false }
        let sets = protection(table).filter { entry in
            if entry.key == "*" { return true }
            if entry.key == "authenticated" { return userId != nil }
            if entry.key.hasPrefix("userField:") { return userId != nil && isNamed(String(entry.key.dropFirst(10))) }
            return principals.contains(entry.key)
        }
        return !sets.isEmpty && sets.allSatisfy { $0.fields.contains(field) }
    }

    // MARK: answers

    func answer(_ question: Question) -> Answer {
        guard let table = world[question.className] else { return .value(.object(JSONObject())) }
        let value: JSON
        switch question.kind {
        case .find: value = find(question, table)
        case .get(let id): value = get(question, id, table)
        case .distinct(let field): value = distinct(field, question, table)
        }
        return refusals.codes.isEmpty ? .value(value) : .refused(refusals.codes)
    }

    private func find(_ question: Question, _ table: World.Class) -> JSON {
        let condition = question.condition
        check(condition, on: table, order: question.parameters["order"]?.string)
        var answer = JSONObject([("results", .array([]))])
        let limit = question.parameters["limit"]?.number.map { Int($0) }
        if limit != 0 {
            let isById = condition.count == 1 && condition["objectId"]?.string != nil
            let entry = demand(table, isById ? "get" : "find")
            guard refusals.codes.isEmpty else { return .null }
            let rows = select(
                world.rows(of: table.name).filter { isVisible($0, entry) && matches(condition, $0, table) }, table,
                order: question.parameters["order"]?.string, skip: question.parameters["skip"]?.number, limit: limit)
            answer["results"] = .array(show(rows, table, question))
        }
        if question.parameters["count"] != nil {
            let entry = demand(table, "count")
            guard refusals.codes.isEmpty else { return .null }
            answer["count"] = .number(
                Double(
                    world.rows(of: table.name).filter { isVisible($0, entry) && matches(condition, $0, table) }.count))
        }
        return .object(answer)
    }

    private func get(_ question: Question, _ id: String, _ table: World.Class) -> JSON {
        let entry = demand(table, "get")
        guard refusals.codes.isEmpty else { return .null }
        guard let row = world.rows(of: table.name).first(where: { $0.id == id }), isVisible(row, entry) else {
            refusals.codes.insert(101)
            return .null
        }
        return show([row], table, question).first ?? .null
    }

    private func distinct(_ field: String, _ question: Question, _ table: World.Class) -> JSON {
        let entry = demand(table, "find")
        check(question.condition, on: table, order: nil)
        if mayBeHidden(field, table) { refusals.codes.insert(119) }
        guard refusals.codes.isEmpty else { return .null }
        var values: [JSON] = []
        for row in world.rows(of: table.name) where isVisible(row, entry) && matches(question.condition, row, table) {
            guard let value = row.value(field) else { continue }
            for value in value.array ?? [value] where !values.contains(value) { values.append(value) }
        }
        return .array(values)
    }

    // MARK: objects as they are shown

    private func show(_ rows: [World.Row], _ table: World.Class, _ question: Question) -> [JSON] {
        let tree = Tree()
        let names = { (key: String) in
            (question.parameters[key]?.string ?? "").split(separator: ",").map {
                $0.split(separator: ".").map(String.init)
            }
        }
        for path in names("include") where path != ["*"] { tree.insert(path[...]) }
        tree.all = question.parameters["includeAll"] == true || names("include").contains(["*"])
        var keys = question.parameters["keys"] == nil ? nil : Set(names("keys").map { $0[0] })
        if tree.all {
            for (name, type) in table.fields {
                switch type {
                case .array, .pointer: keys?.insert(name)
                default: break
                }
            }
        }
        return render(rows, table, keys: keys, excluded: Set(names("excludeKeys").map { $0[0] }), tree)
    }

    final class Tree {
        var children: [String: Tree] = [:]
        var all = false
        func insert(_ path: ArraySlice<String>) {
            guard let head = path.first else { return }
            let child = children[head] ?? Tree()
            children[head] = child
            child.insert(path.dropFirst())
        }
    }

    private func render(
        _ rows: [World.Row], _ table: World.Class, keys: Set<String>?, excluded: Set<String>, _ tree: Tree
    ) -> [JSON] {
        var shown = rows.map { row in
            var object = JSONObject([("objectId", .string(row.id))])
            for (name, type) in table.fields {
                if case .relation(let target) = type {
                    // It is the same in every row, whatever is asked for; so it tells nothing of one.
                    guard !mayBeHidden(name, table) else { continue }
                    object[name] = ["__type": "Relation", "className": .string(target)]
                    continue
                }
                guard keys?.contains(name) ?? true, !excluded.contains(name), !isHidden(name, table, in: row) else {
                    continue
                }
                if let value = row.value(name) { object[name] = value }
            }
            if let acl = row.acl { object["ACL"] = .object(acl) }
            return object
        }
        for (name, type) in table.fields.sorted(by: { $0.name < $1.name }) {
            var isArray = false
            switch type {
            case .array: isArray = true
            case .pointer: break
            default: continue
            }
            guard let branch = tree.children[name] ?? (tree.all ? Tree() : nil) else { continue }
            let pointers = shown.compactMap { $0[name] }.flatMap { isArray ? $0.array ?? [] : [$0] }.compactMap(target)
            var found: [String: JSON] = [:]
            for className in Set(pointers.map(\.className)).sorted() {
                guard let target = world[className] else { continue }
                let ids = Set(pointers.filter { $0.className == className }.map(\.objectId))
                let entry = demand(target, "get")
                let rows = world.rows(of: className).filter { ids.contains($0.id) && isVisible($0, entry) }
                for (row, json) in zip(rows, render(rows, target, keys: nil, excluded: [], branch)) {
                    var object = json.object ?? JSONObject()
                    object["__type"] = "Object"
                    object["className"] = .string(className)
                    found[className + " " + row.id] = .object(object)
                }
            }
            for index in shown.indices {
                guard let value = shown[index][name] else { continue }
                if isArray {
                    // What can't be read disappears from the list.
                    shown[index][name] = .array(
                        (value.array ?? []).compactMap { element in
                            guard let pointer = target(element) else { return element }
                            return found[pointer.className + " " + pointer.objectId]
                        })
                } else if let pointer = target(value) {
                    shown[index][name] = found[pointer.className + " " + pointer.objectId]
                }
            }
        }
        return shown.map { .object($0) }
    }

    private func target(_ json: JSON) -> (className: String, objectId: String)? {
        guard let object = json.object, object["__type"] == "Pointer", let className = object["className"]?.string,
            let id = object["objectId"]?.string
        else { return nil }
        return (className, id)
    }
}
