extension Update: CustomStringConvertible {
    /// The body that says the same; parsing it gives this update again.
    public var json: JSONObject {
        var members = changes.map { (key: $0.path.description, value: $0.operation.json) }
        switch acl {
        case .set(let acl): members.append(("ACL", acl.json))
        case .delete: members.append(("ACL", ["__op": "Delete"]))
        case nil: break
        }
        if let objectId { members.append(("objectId", objectId)) }
        if let createdAt { members.append(("createdAt", createdAt)) }
        if let updatedAt { members.append(("updatedAt", updatedAt)) }
        return JSONObject(members)
    }

    /// For logs: names and operations with their values.
    public var description: String { json.description }
}

extension Update.Operation {
    public var json: JSON {
        switch self {
        case .set(let value): value.json
        case .delete: ["__op": "Delete"]
        case .increment(let amount): ["__op": "Increment", "amount": .number(amount)]
        case .add(let objects): ["__op": "Add", "objects": .array(objects)]
        case .addUnique(let objects): ["__op": "AddUnique", "objects": .array(objects)]
        case .remove(let objects): ["__op": "Remove", "objects": .array(objects)]
        case .setOnInsert(let value): ["__op": "SetOnInsert", "amount": value.json]
        case .relation(let added, let removed):
            if removed.isEmpty {
                Self.json("AddRelation", added)
            } else if added.isEmpty {
                Self.json("RemoveRelation", removed)
            } else {
                ["__op": "Batch", "ops": [Self.json("AddRelation", added), Self.json("RemoveRelation", removed)]]
            }
        }
    }

    private static func json(_ name: String, _ pointers: [Pointer]) -> JSON {
        ["__op": .string(name), "objects": .array(pointers.map(\.json))]
    }

    /// The type that the field gets, or must have: an object's for what changes something within it.
    /// nil where nothing follows (null, Delete).
    public func fieldType(dotted: Bool) -> FieldType? {
        if dotted { return .object }
        return switch self {
        case .set(let value), .setOnInsert(let value): value.fieldType
        case .delete: nil
        case .increment: .number
        case .add, .addUnique, .remove: .array
        case .relation(let added, let removed): (added.first ?? removed.first).map { .relation($0.className) }
        }
    }
}

extension Update.Change {
    /// The type that the field `path.field` gets, or must have; nil where nothing follows.
    public var fieldType: FieldType? { operation.fieldType(dotted: path.isDotted) }
}
