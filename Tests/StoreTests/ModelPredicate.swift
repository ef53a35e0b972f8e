import Wire

/// The query language over rows in memory.
extension Model {
    // MARK: what is refused whatever the rows

    /// Notes why a condition and an order may not be asked: protected fields, closed classes, values of a wrong type.
    func check(_ condition: JSONObject, on table: World.Class, order: String?) {
        for key in keys(order) { checkField(key.path, table) }
        for (key, value) in condition.members {
            switch key {
            case "$or", "$and", "$nor":
                for part in value.array ?? [] { check(part.object ?? JSONObject(), on: table, order: nil) }
            case "$relatedTo":
                guard let (owner, field) = relation(value), case .relation(let target)? = owner.type(field),
                    target == table.name
                else { continue }
                if mayBeHidden(field, owner) { refusals.codes.insert(119) }
            default:
                checkField(key, table)
                for (name, value) in operators(value) { check(name, value, on: key, table) }
            }
        }
    }

    private func checkField(_ path: String, _ table: World.Class) {
        if mayBeHidden(head(path), table) { refusals.codes.insert(119) }
    }

    private func check(_ name: String, _ value: JSON, on path: String, _ table: World.Class) {
        switch name {
        case "$in", "$nin":
            guard !path.contains("."), let type = table.type(path) else { return }
            for value in alternatives(value) where value != .null && !suits(value, type) { refusals.codes.insert(102) }
        case "$inQuery", "$notInQuery": checkSubquery(value.object ?? JSONObject())
        case "$select", "$dontSelect":
            guard let query = value.object?["query"]?.object, let key = value.object?["key"]?.string else { return }
            checkSubquery(query)
            if let target = world[query["className"]?.string ?? ""] { checkField(key, target) }
        default: break
        }
    }

    private func checkSubquery(_ query: JSONObject) {
        guard let target = world[query["className"]?.string ?? ""] else { return }
        if case .refused(let code) = enter(target, "find") { refusals.codes.insert(code) }
        check(query["where"]?.object ?? JSONObject(), on: target, order: query["order"]?.string)
    }

    /// Of a list in a list of `$in`, each element counts for itself.
    private func alternatives(_ list: JSON) -> [JSON] { (list.array ?? []).flatMap { $0.array ?? [$0] } }

    /// Whether a value can stand in the `$in` of a field.
    private func suits(_ value: JSON, _ type: FieldType) -> Bool {
        switch type {
        case .string: value.string != nil
        case .number: value.number != nil
        case .boolean: value.bool != nil
        case .date: value.object?["__type"] == "Date"
        case .pointer(let target): value.object?["__type"] == "Pointer" && value.object?["className"] == .string(target)
        default: true
        }
    }

    // MARK: conditions

    func matches(_ condition: JSONObject, _ row: World.Row, _ table: World.Class) -> Bool {
        condition.members.allSatisfy { key, value in
            let parts = { (value.array ?? []).map { matches($0.object ?? JSONObject(), row, table) } }
            switch key {
            case "$or": return parts().contains(true)
            case "$and": return !parts().contains(false)
            case "$nor": return !parts().contains(true)
            case "$relatedTo": return isRelated(row, value, table)
            default: return operators(value).allSatisfy { holds($0.name, $0.value, key, row, table) }
            }
        }
    }

    /// `{"$gt": 1, "$lt": 3}` as a list; a plain value is `$eq`.
    private func operators(_ value: JSON) -> [(name: String, value: JSON)] {
        if let object = value.object, object["__type"] == nil, object.members.contains(where: { $0.key.hasPrefix("$") })
        {
            return object.members.map { ($0.key, $0.value) }
        }
        return [("$eq", value)]
    }

    private func holds(_ name: String, _ wanted: JSON, _ path: String, _ row: World.Row, _ table: World.Class) -> Bool {
        if case .relation(let target)? = table.type(path) {
            return holdsOfRelation(name, wanted, row.related.first { $0.field == path }?.ids ?? [], target)
        }
        let value = value(path, row)
        switch name {
        case "$eq": return equals(value, wanted)
        case "$ne": return !equals(value, wanted)
        case "$exists": return (value != .null) == wanted.isTruthy
        case "$lt": return compares(value, wanted) { $0 < 0 }
        case "$lte": return compares(value, wanted) { $0 <= 0 }
        case "$gt": return compares(value, wanted) { $0 > 0 }
        case "$gte": return compares(value, wanted) { $0 >= 0 }
        case "$in": return alternatives(wanted).contains { equals(value, $0) }
        case "$nin": return !alternatives(wanted).contains { equals(value, $0) }
        case "$all":
            let wanted = wanted.array ?? []
            return !wanted.isEmpty
                && wanted.allSatisfy { element in value.array.map { $0.contains(element) } ?? equals(value, element) }
        case "$containedBy":
            guard let elements = value.array else { return false }
            return elements.allSatisfy { (wanted.array ?? []).contains($0) }
        case "$regex":
            return (value.array ?? [value]).contains { $0.string.map { fits($0, wanted.string ?? "") } ?? false }
        case "$inQuery": return isIn(value, wanted)
        case "$notInQuery": return !isIn(value, wanted)
        case "$select": return isSelected(value, wanted)
        case "$dontSelect": return !isSelected(value, wanted)
        default: preconditionFailure("the model knows no \(name)")
        }
    }

    private func holdsOfRelation(_ name: String, _ wanted: JSON, _ ids: [String], _ target: String) -> Bool {
        let isRelated = { (json: JSON) in ids.contains { json == World.pointer(target, $0) } }
        switch name {
        case "$eq": return isRelated(wanted)
        case "$ne": return !isRelated(wanted)
        case "$in": return (wanted.array ?? []).contains(where: isRelated)
        case "$nin": return !(wanted.array ?? []).contains(where: isRelated)
        case "$inQuery": return ids.contains { isIn(World.pointer(target, $0), wanted) }
        case "$notInQuery": return !ids.contains { isIn(World.pointer(target, $0), wanted) }
        default: preconditionFailure("the model knows no \(name) of relations")
        }
    }

    /// What lies at a path; null for what is missing.
    private func value(_ path: String, _ row: World.Row) -> JSON {
        let names = path.split(separator: ".").map(String.init)
        var value = row.value(names[0]) ?? .null
        for name in names.dropFirst() { value = value.object?[name] ?? .null }
        return value
    }

    /// An array is equal to the same array and to each of its elements; null to what is missing.
    private func equals(_ value: JSON, _ wanted: JSON) -> Bool {
        if value == wanted { return true }
        return wanted != .null && value.array?.contains(wanted) == true
    }

    private func compares(_ value: JSON, _ bound: JSON, _ suits: (Int) -> Bool) -> Bool {
        (value.array ?? [value]).contains { order($0, bound).map(suits) ?? false }
    }

    /// −1, 0, 1; nil for what does not compare.
    private func order(_ one: JSON, _ other: JSON) -> Int? {
        switch (one, other) {
        case (.number(let one), .number(let other)): one < other ? -1 : one > other ? 1 : 0
        case (.string(let one), .string(let other)): order(one, other)
        case (.bool(let one), .bool(let other)): one == other ? 0 : other ? -1 : 1
        case (.object(let one), .object(let other)):
            // Dates as text in one form compare as their moments do.
            one["__type"] == "Date" && other["__type"] == "Date"
                ? order(one["iso"]?.string ?? "", other["iso"]?.string ?? "") : nil
        default: nil
        }
    }

    private func order(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
    }

    /// The few patterns that are generated: `^x`, `x$`, `x`, all of plain letters.
    private func fits(_ text: String, _ pattern: String) -> Bool {
        if pattern.hasPrefix("^") { return text.hasPrefix(pattern.dropFirst()) }
        if pattern.hasSuffix("$") { return text.hasSuffix(pattern.dropLast()) }
        return text.contains(pattern)
    }

    // MARK: other objects

    private func relation(_ json: JSON) -> (World.Class, String)? {
        guard let object = json.object, let owner = world[object["object"]?.object?["className"]?.string ?? ""],
            let key = object["key"]?.string
        else { return nil }
        return (owner, key)
    }

    /// Empty unless the viewer may get the owner.
    private func isRelated(_ row: World.Row, _ json: JSON, _ table: World.Class) -> Bool {
        guard let (owner, key) = relation(json), case .relation(let target)? = owner.type(key), target == table.name,
            let id = json.object?["object"]?.object?["objectId"]?.string,
            let owning = world.rows(of: owner.name).first(where: { $0.id == id }),
            isVisible(owning, enter(owner, "get"))
        else { return false }
        return owning.related.contains { $0.field == key && $0.ids.contains(row.id) }
    }

    private func subquery(_ json: JSON) -> (World.Class, [World.Row])? {
        guard let query = json.object, let target = world[query["className"]?.string ?? ""] else { return nil }
        let entry = enter(target, "find")
        let condition = query["where"]?.object ?? JSONObject()
        let rows = world.rows(of: target.name).filter { isVisible($0, entry) && matches(condition, $0, target) }
        return (
            target,
            select(
                rows, target, order: query["order"]?.string, skip: query["skip"]?.number,
                limit: query["limit"]?.number.map { Int($0) })
        )
    }

    private func isIn(_ value: JSON, _ query: JSON) -> Bool {
        guard let (target, rows) = subquery(query) else { return false }
        let pointers = rows.map { World.pointer(target.name, $0.id) }
        return (value.array ?? [value]).contains { pointers.contains($0) }
    }

    private func isSelected(_ value: JSON, _ json: JSON) -> Bool {
        guard let (_, rows) = subquery(json.object?["query"] ?? .null), let key = json.object?["key"]?.string else {
            return false
        }
        let found = rows.map { self.value(key, $0) }.flatMap { $0.array ?? [$0] }
        return found.contains { $0 != .null && equals(value, $0) }
    }

    // MARK: order and pages

    private func head(_ path: String) -> String { String(path.split(separator: ".").first ?? "") }

    private func keys(_ order: String?) -> [(path: String, descending: Bool)] {
        (order ?? "").split(separator: ",").map { key in
            key.hasPrefix("-") ? (String(key.dropFirst()), true) : (String(key), false)
        }
    }

    /// By the keys, then by objectId. What is missing comes last, and first in descending order.
    func select(
        _ rows: [World.Row], _ table: World.Class, order text: String?, skip: Double?, limit: Int?
    ) -> [World.Row] {
        let keys = keys(text).filter { table.type($0.path) != nil }
        let sorted = rows.sorted { one, other in
            for key in keys {
                let (first, second) = (rank(one.value(key.path)), rank(other.value(key.path)))
                if first.isMissing != second.isMissing { return first.isMissing == key.descending }
                let difference = order(first.value, second.value) ?? 0
                if difference != 0 { return (difference < 0) != key.descending }
            }
            return order(one.id, other.id) < 0
        }
        let rest = sorted.dropFirst(Int(skip ?? 0))
        return Array(limit.map { rest.prefix($0) } ?? rest)
    }

    /// Pointers sort by the id that they hold.
    private func rank(_ value: JSON?) -> (isMissing: Bool, value: JSON) {
        guard let value, value != .null else { return (true, .null) }
        if value.object?["__type"] == "Pointer" { return (false, value.object?["objectId"] ?? .null) }
        return (false, value)
    }
}
