internal import Wire

/// Changes of a field that do not depend on what it holds, as they travel: `{"__op": "Increment", "amount": 1}`.
enum Operation {
    static let delete: JSON = ["__op": "Delete"]

    static func increment(_ amount: Double) -> JSON { ["__op": "Increment", "amount": .number(amount)] }

    static func list(_ name: String, _ objects: [JSON]) -> JSON {
        ["__op": .string(name), "objects": .array(objects)]
    }

    static func name(_ change: JSON?) -> String? { change?.object?["__op"]?.string }

    static func objects(_ change: JSON) -> [JSON] { change.object?["objects"]?.array ?? [] }

    /// What a field holds once a change has been made; nil: nothing.
    static func applied(_ change: JSON, to value: JSON?) -> JSON? {
        switch name(change) {
        case nil: return change
        case "Delete": return nil
        case "Increment": return .number((value?.number ?? 0) + (change.object?["amount"]?.number ?? 0))
        case "Add": return .array((value?.array ?? []) + objects(change))
        case "AddUnique":
            var list = value?.array ?? []
            for object in objects(change) where !list.contains(object) { list.append(object) }
            return .array(list)
        case "Remove":
            let gone = objects(change)
            return .array((value?.array ?? []).filter { !gone.contains($0) })
        case "SetOnInsert": return value ?? change.object?["amount"]
        // What a relation holds is not seen.
        default: return value ?? relation(change)
        }
    }

    private static func relation(_ change: JSON) -> JSON? {
        let parts = change.object?["ops"]?.array?.first ?? change
        guard let target = objects(parts).first?.object?["className"] else { return nil }
        return ["__type": "Relation", "className": target]
    }

    /// The same for a change of a part of a field: of `datos.ciudad.nombre` that would be `["ciudad", "nombre"]`.
    static func applied(_ change: JSON, to value: JSON?, at path: [String]) -> JSON? {
        guard let first = path.first else { return applied(change, to: value) }
        var object = value?.object ?? JSONObject()
        object[first] = applied(change, to: object[first], at: Array(path.dropFirst()))
        return .object(object)
    }
}

// MARK: of a record

extension Record {
    /// Adds to a number, whatever it is by the time of the save: two who add at once are both counted.
    public mutating func increment<V: ParseNumber>(_ key: WritableKeyPath<Fields, V?>, by amount: V = V(1)) {
        increment(name(key), by: amount.parseValue.double ?? 0)
    }

    /// The same by the field's name.
    public mutating func increment(_ name: String, by amount: Double = 1) {
        isTouched = true
        switch Operation.name(changes[name]) {
        case "Increment"?:
            changes[name] = Operation.increment((changes[name]?.object?["amount"]?.number ?? 0) + amount)
        case nil where changes[name] == nil: changes[name] = Operation.increment(amount)
        default: changes[name] = .number((json(name)?.number ?? 0) + amount)
        }
    }

    /// Appends to a list, whatever it holds by the time of the save.
    public mutating func append<V: ParseValue>(_ values: V..., to key: WritableKeyPath<Fields, [V]?>) {
        change(name(key), "Add", values.map(\.parseValue))
    }

    /// Appends what a list does not hold yet by the time of the save.
    public mutating func appendUnique<V: ParseValue>(_ values: V..., to key: WritableKeyPath<Fields, [V]?>) {
        change(name(key), "AddUnique", values.map(\.parseValue))
    }

    /// Takes values out of a list, as often as they are there.
    public mutating func removeAll<V: ParseValue>(_ values: V..., from key: WritableKeyPath<Fields, [V]?>) {
        change(name(key), "Remove", values.map(\.parseValue))
    }

    /// The same three by the field's name.
    public mutating func append(_ values: Value..., to name: String) { change(name, "Add", values) }
    /// Appends what a list does not hold yet, by the field's name.
    public mutating func appendUnique(_ values: Value..., to name: String) { change(name, "AddUnique", values) }
    /// Takes values out of a list, by the field's name.
    public mutating func removeAll(_ values: Value..., from name: String) { change(name, "Remove", values) }

    /// Puts an object into a relation.
    public mutating func add<Target: ParseObject>(
        _ pointers: Pointer<Target>..., to key: WritableKeyPath<Fields, Relation<Target>?>
    ) {
        relate(name(key), "AddRelation", pointers.map(\.json))
    }

    /// Takes an object out of a relation.
    public mutating func remove<Target: ParseObject>(
        _ pointers: Pointer<Target>..., from key: WritableKeyPath<Fields, Relation<Target>?>
    ) {
        relate(name(key), "RemoveRelation", pointers.map(\.json))
    }

    /// The same two by the field's name.
    public mutating func add(_ pointers: AnyPointer..., to name: String) {
        relate(name, "AddRelation", pointers.map(\.json))
    }
    /// Takes an object out of a relation, by the field's name.
    public mutating func remove(_ pointers: AnyPointer..., from name: String) {
        relate(name, "RemoveRelation", pointers.map(\.json))
    }

    /// One operation of a kind before a save; where another one waits already, the list that both make is written whole.
    private mutating func change(_ name: String, _ operation: String, _ values: [Value]) {
        isTouched = true
        let objects = values.map(\.json)
        let new = Operation.list(operation, objects)
        switch changes[name] {
        case nil: changes[name] = new
        case let change? where Operation.name(change) == operation:
            changes[name] = Operation.list(operation, Operation.objects(change) + objects)
        default: changes[name] = Operation.applied(new, to: json(name))
        }
    }

    private mutating func relate(_ name: String, _ operation: String, _ pointers: [JSON]) {
        isTouched = true
        var parts: [JSON] = []
        if let change = changes[name], let waiting = Operation.name(change) {
            parts = waiting == "Batch" ? change.object?["ops"]?.array ?? [] : [change]
        }
        parts.append(Operation.list(operation, pointers))
        changes[name] = parts.count == 1 ? parts[0] : ["__op": "Batch", "ops": .array(parts)]
    }
}
