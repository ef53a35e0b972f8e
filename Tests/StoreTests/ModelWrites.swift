import Wire

/// What a write makes of a world, what it answers, and why it may be refused.
extension Model {
    struct Effect {
        var answer: Answer
        /// A refused write leaves the world as it was.
        var world: World
        /// But for the fields that it brought, outside of a transaction, where only the values that are stored already
        /// stand against it: then the class may have grown.
        var grown: World?
    }

    /// - Parameter newId: what a new object is to be called.
    func write(_ change: Change, newId: String) -> Effect {
        var effect = Effect(answer: .value(.null), world: world)
        let value = write(change, newId, &effect)
        if refusals.codes.isEmpty {
            effect.answer = .value(.object(value))
        } else {
            effect.answer = .refused(refusals.codes)
            effect.world = world
        }
        return effect
    }

    private func write(_ change: Change, _ newId: String, _ effect: inout Effect) -> JSONObject {
        let (isNew, isDelete) = (change.kind == .create, change.isDelete)
        let id = change.objectId ?? newId
        var deeds = isDelete ? [] : deeds(of: change)
        if !isDelete { checkServerFields(change) }
        // What is said before the class is looked at.
        let isKnown = world[change.className] != nil
        if !isKnown, !isMaster || !isNew { refusals.codes.insert(isMaster ? 101 : 119) }
        let before = world[change.className] ?? World.Class(name: change.className, fields: [], permissions: nil)
        let entry = enter(before, isNew ? "create" : isDelete ? "delete" : "update")
        if case .refused(let code) = entry { refusals.codes.insert(code) }
        guard refusals.codes.isEmpty else { return JSONObject() }

        if !isNew, let given = change.body["objectId"], given != .string(id) { refusals.codes.insert(136) }
        if change.body["createdAt"]?.string != nil { refusals.codes.insert(111) }
        // A new object has nothing that could be deleted.
        if isNew { deeds.removeAll { $0.kind == .delete } }
        var table = before
        var entries = [entry]
        if grow(&table, deeds), isKnown { entries.append(mayGrow(before, isNew: isNew)) }
        let old = isNew ? nil : world.rows(of: before.name).first { $0.id == id }
        checkUser(change, deeds)
        if !isNew {
            checkRequired(table, deeds, isNew: false)
            guard let old, entries.allSatisfy({ isWritable(old, $0) }) else {
                let isOthersUser = before.name == "_User" && !isMaster && userId != id
                refusals.codes.insert(isOthersUser ? 206 : 101)
                return JSONObject()
            }
        }
        checkRole(change, old)
        if isDelete {
            guard refusals.codes.isEmpty else { return JSONObject() }
            effect.world.rows.removeAll { $0.className == before.name && $0.id == id }
            if before.name == "_User" { effect.world.removeFromRoles(id) }
            return JSONObject()
        }

        var row = old ?? World.Row(className: before.name, id: id, fields: [])
        var answer = JSONObject()
        if isNew {
            applyDefaults(table, &deeds, &answer)
            checkRequired(table, deeds, isNew: true)
        }
        setACL(change, table, &row, &answer)
        guard refusals.codes.isEmpty else { return JSONObject() }

        apply(deeds, &row, isNew: isNew)
        checkUnique(row)
        effect.world.replace(row)
        effect.world.replace(table)
        if !refusals.codes.isEmpty {
            effect.grown = world
            effect.grown?.replace(table)
            return JSONObject()
        }
        // Who may write an object but not read it learns nothing of what it holds.
        if isNew || isVisible(row, enter(table, "get")) { tell(deeds, row, &answer) }
        for (name, _) in answer.members where mayBeHidden(name, table) { answer[name] = nil }
        answer[isNew ? "objectId" : "updatedAt"] = isNew ? .string(id) : true
        if isNew { answer["createdAt"] = true }
        if opensSession(change) { answer["sessionToken"] = true }
        return answer
    }

    // MARK: the class

    /// Gives the class the fields that it lacks; a type that does not suit is noted.
    private func grow(_ table: inout World.Class, _ deeds: [Deed]) -> Bool {
        let before = table.fields.count
        for deed in deeds {
            guard let type = deed.type, !(table.name == "_User" && deed.field == "password") else { continue }
            if let known = table.type(deed.field) {
                if known != type { refusals.codes.insert(111) }
                continue
            }
            if type == .geoPoint, table.fields.contains(where: { $0.type == .geoPoint }) { refusals.codes.insert(111) }
            table.fields.append((deed.field, type))
        }
        return table.fields.count > before
    }

    /// On a create nobody is named in the object; who is named in it may add fields when it is there.
    private func mayGrow(_ table: World.Class, isNew: Bool) -> Entry {
        let entry = enter(table, "addField", creating: isNew)
        switch entry {
        case .refused(let code): refusals.codes.insert(code)
        case .nobody where isNew: refusals.codes.insert(119)
        default: break
        }
        return entry
    }

    // MARK: the object

    private func apply(_ deeds: [Deed], _ row: inout World.Row, isNew: Bool) {
        for deed in deeds {
            if case .relate(let add, let remove, _) = deed.kind {
                row.relate(deed.field, Set(row.members(deed.field)).union(add).subtracting(remove))
                continue
            }
            if case .relation? = deed.type { continue }
            if row.className == "_User", deed.field == "password" { continue }
            let value = value(of: deed, on: row.value(deed.field), isNew: isNew)
            row.fields.removeAll { $0.name == deed.field }
            if let value { row.fields.append((deed.field, value)) }
        }
    }

    private func applyDefaults(_ table: World.Class, _ deeds: inout [Deed], _ answer: inout JSONObject) {
        for (name, options) in table.options {
            guard let value = options["defaultValue"], !deeds.contains(where: { $0.field == name && !$0.empties })
            else { continue }
            deeds.removeAll { $0.field == name }
            deeds.append(Deed(field: name, path: [], kind: .set(value)))
            answer[name] = value
        }
    }

    private func checkRequired(_ table: World.Class, _ deeds: [Deed], isNew: Bool) {
        for (name, options) in table.options where options["required"] == true {
            let given = deeds.filter { $0.field == name }
            let isMissing = isNew && given.isEmpty
            if isMissing || given.contains(where: { $0.empties || $0.kind == .set("") }) { refusals.codes.insert(142) }
        }
    }

    /// Results of operators: of a dotted one the touched key alone.
    private func tell(_ deeds: [Deed], _ row: World.Row, _ answer: inout JSONObject) {
        for deed in deeds where deed.isTold {
            var value = row.value(deed.field) ?? .null
            for name in deed.path { value = value.object?[name] ?? .null }
            answer[deed.field] = Model.nest(value, deed.path[...], in: answer[deed.field])
        }
    }

    private static func nest(_ value: JSON, _ path: ArraySlice<String>, in outer: JSON?) -> JSON {
        guard let name = path.first else { return value }
        var object = outer?.object ?? JSONObject()
        object[name] = nest(value, path.dropFirst(), in: object[name])
        return .object(object)
    }

    // MARK: ACL and the server's fields

    private func setACL(_ change: Change, _ table: World.Class, _ row: inout World.Row, _ answer: inout JSONObject) {
        let isNew = change.kind == .create
        let given = change.body["ACL"] ?? .null
        if given.object?["__op"] != nil {
            row.acl = nil
        } else if let acl = given.object {
            row.acl = Model.granted(acl)
        }
        if table.name == "_User" {
            // Clients cannot lock themselves out; sign-up gives each user itself, and nobody else unasked.
            if isNew, row.acl == nil { row.acl = JSONObject() }
            let isSet = given.object != nil && given.object?["__op"] == nil
            if isNew || isSet && !isMaster { row.acl?[row.id] = ["read": true, "write": true] }
        } else if isNew, row.acl == nil, let standing = table.permissions?["ACL"]?.object {
            guard standing != JSONObject([("*", ["read": true, "write": true])]) else { return }
            var acl = standing
            // The caller's own entry, whatever else the class says of that user.
            acl["currentUser"] = Optional.none
            if let userId, let rights = standing["currentUser"] { acl[userId] = rights }
            row.acl = Model.granted(acl)
            answer["ACL"] = row.acl.map { .object($0) }
        }
    }

    /// Rights that are not granted say nothing.
    private static func granted(_ acl: JSONObject) -> JSONObject {
        JSONObject(
            acl.members.compactMap { principal, rights in
                let granted = (rights.object ?? JSONObject()).members.filter { $0.value == true }
                return granted.isEmpty ? nil : (principal, .object(JSONObject(granted.map { ($0.key, $0.value) })))
            })
    }

    private func checkServerFields(_ change: Change) {
        if change.kind == .create, change.body["objectId"] != nil { refusals.codes.insert(105) }
        guard let acl = change.body["ACL"], acl != .null, acl.object?["__op"] == nil else { return }
        let isSound = acl.object?.members.allSatisfy {
            $0.value.object?.members.allSatisfy { $0.value.bool != nil } ?? false
        }
        if isSound != true { refusals.codes.insert(123) }
    }

    // MARK: users and roles

    private func checkUser(_ change: Change, _ deeds: [Deed]) {
        guard change.className == "_User" else { return }
        let deed = { (field: String) in deeds.last { $0.field == field } }
        if !isMaster, change.isDelete || change.kind != .create, userId == nil { refusals.codes.insert(206) }
        guard !change.isDelete else { return }
        if !isMaster, deed("emailVerified") != nil { refusals.codes.insert(119) }
        for (field, code) in [("username", 200), ("password", 201)] {
            let given = deed(field)
            let isLost = given.map { $0.empties || $0.kind == .set("") } ?? (change.kind == .create)
            if isLost { refusals.codes.insert(code) }
            if given?.type != nil, given?.type != .string {
                refusals.codes.formUnion(change.kind == .create ? [code, 111] : [111])
            }
        }
        if case .set(.string(let address))? = deed("email")?.kind {
            let parts = address.split(separator: "@", maxSplits: 1)
            if parts.count < 2 { refusals.codes.insert(125) }
        }
    }

    private func checkRole(_ change: Change, _ old: World.Row?) {
        guard change.className == "_Role", !change.isDelete else { return }
        let name = change.body["name"]
        if change.kind == .create {
            if name == nil || name == .null || name == "" || name?.object?["__op"] == "Delete" {
                refusals.codes.insert(111)
            }
            if let text = name?.string, !text.allSatisfy({ $0.isLetter || $0.isNumber || " -_".contains($0) }) {
                refusals.codes.insert(139)
            }
            if change.body["ACL"] ?? .null == .null { refusals.codes.insert(111) }
        } else if let name, name != old?.value("name") {
            refusals.codes.insert(name.number != nil ? 111 : 139)
        }
    }

    /// Names and addresses of users are theirs alone, whatever the case; so are names of roles.
    private func checkUnique(_ row: World.Row) {
        for (className, field, code) in [
            ("_User", "username", 202), ("_User", "email", 203), ("_Role", "name", 137),
        ] where row.className == className {
            let key = { (row: World.Row) -> String? in
                let text = row.value(field)?.string
                return className == "_User" ? text?.lowercased() : text
            }
            guard let own = key(row) else { continue }
            if world.rows(of: className).contains(where: { $0.id != row.id && key($0) == own }) {
                refusals.codes.insert(code)
            }
        }
    }

    /// Sign-up brings a session; who changes its own password gets a new one.
    private func opensSession(_ change: Change) -> Bool {
        guard change.className == "_User", !isMaster else { return false }
        if change.kind == .create { return true }
        return change.body["password"] != nil && change.objectId == userId
    }
}

extension Change {
    var objectId: String? {
        switch kind {
        case .create: nil
        case .update(let id), .delete(let id): id
        }
    }

    var isDelete: Bool { if case .delete = kind { true } else { false } }
}

extension World {
    fileprivate mutating func replace(_ row: Row) {
        if let index = rows.firstIndex(where: { $0.className == row.className && $0.id == row.id }) {
            rows[index] = row
        } else {
            rows.append(row)
        }
    }

    fileprivate mutating func replace(_ table: Class) {
        if let index = classes.firstIndex(where: { $0.name == table.name }) {
            classes[index] = table
        } else {
            classes.append(table)
        }
    }

    /// A user who is gone has no roles; what else pointed to it still does.
    fileprivate mutating func removeFromRoles(_ user: String) {
        for index in rows.indices where rows[index].className == "_Role" {
            rows[index].relate("users", Set(rows[index].members("users")).subtracting([user]))
        }
    }
}

extension World.Row {
    fileprivate mutating func relate(_ field: String, _ ids: Set<String>) {
        related.removeAll { $0.field == field }
        if !ids.isEmpty { related.append((field, ids.sorted())) }
    }
}
