extension Update {
    /// A dotted path has at most this many names.
    public static let maxPathLength = 64
    private static let maxPathBytes = 4096

    /// Reads the body of a create or an update, once everything that is not a field (`_method`, `_context`, …) and
    /// what other rooms read themselves (`authData`) has been taken out of it.
    ///
    /// `objectId`, `createdAt` and `updatedAt` are handed on as they came. Dotted paths may also stand in a create,
    /// where they make the object that they lead into.
    ///
    /// - Parameter typeOf: the type of a field as far as it is known, used only to tell a client that sends an object
    ///   with impossible names for a field of another type that the type is wrong (111), as the reference does.
    /// - Throws: 105 for a field's name that cannot be, or two changes of the same thing; 107 for an operation of the
    ///   wrong form; 108 for one that does not exist; 111, 121 as `Value.parse`; 123 for an ACL that is none.
    public static func parse(
        _ body: JSONObject, creating: Bool, typeOf: (String) -> FieldType? = { _ in nil }
    ) throws(ParseError) -> Update {
        var update = Update()
        update.changes.reserveCapacity(body.count)
        var hasPaths = false
        for (key, value) in body.members {
            switch key {
            // null says nothing of the ACL, neither here nor in the reference.
            case "ACL": if value != .null { update.acl = try ACLChange.parse(value) }
            case "objectId": update.objectId = value
            case "createdAt": update.createdAt = value
            case "updatedAt": update.updatedAt = value
            case "id" where creating && value.isTruthy:
                throw ParseError(ParseError.Code.invalidKeyName, "id is an invalid field name.")
            default:
                let path = try path(key)
                hasPaths = hasPaths || path.isDotted
                do throws(ParseError) {
                    update.changes.append(Change(path, try Operation.parse(value, dotted: path.isDotted)))
                } catch {
                    if error.code == ParseError.Code.invalidNestedKey, !path.isDotted, value.object != nil,
                        let type = typeOf(key), type != .object
                    {
                        throw .type("schema mismatch for \(key); expected \(type) but got Object")
                    }
                    throw error
                }
            }
        }
        if hasPaths { try update.refuseConflicts() }
        return update
    }

    private static func path(_ key: String) throws(ParseError) -> FieldPath {
        guard key.utf8.count <= maxPathBytes else { throw .invalidField(key) }
        let path = FieldPath(text: key)
        guard Names.isField(path.field), path.rest.count < maxPathLength else { throw .invalidField(path.field) }
        guard path.isDotted else { return path }
        guard !["ACL", "objectId", "createdAt", "updatedAt"].contains(path.field) else { throw .invalidField(key) }
        for name in path.rest {
            guard !name.isEmpty else { throw .invalidField(key) }
            try Storable.check(name)
            try Storable.checkName(name)
        }
        return path
    }

    /// `datos` and `datos.color`, or `datos.a` and `datos.a.b`, cannot both be changed at once.
    private func refuseConflicts() throws(ParseError) {
        let paths = Set(changes.map { ExactText($0.path.description) })
        for change in changes where change.path.isDotted {
            var above = change.path.field
            for name in change.path.rest {
                if paths.contains(ExactText(above)) {
                    throw ParseError(
                        ParseError.Code.invalidKeyName,
                        "Cannot change \(ParseError.clipped(above)) and what lies within it at once")
                }
                above += "." + name
            }
        }
    }
}

extension Update.Operation {
    static func parse(_ json: JSON, dotted: Bool) throws(ParseError) -> Update.Operation {
        guard case .object(let object) = json, let operation = object["__op"], operation.isTruthy else {
            return .set(try Value.parse(json))
        }
        guard case .string(let name) = operation else { throw unknown(operation.description) }
        switch name {
        case "Delete": return .delete
        case "Increment":
            guard let amount = object["amount"]?.number else { throw .json("incrementing must provide a number") }
            return .increment(amount)
        case "SetOnInsert":
            guard let value = object["amount"] else { throw .json("SetOnInsert must provide a value as amount") }
            return .setOnInsert(try Value.parse(value))
        case "Add": return .add(try objects(of: object, for: .stored))
        case "AddUnique": return .addUnique(try objects(of: object, for: .stored))
        case "Remove": return .remove(try objects(of: object, for: .compared))
        case "AddRelation", "RemoveRelation", "Batch":
            guard !dotted else { throw .json("\(name) cannot be used within an object") }
            return try relation(object, name: name)
        default: throw unknown(name)
        }
    }

    private static func unknown(_ name: String) -> ParseError {
        ParseError(ParseError.Code.commandUnavailable, "The \(ParseError.clipped(name)) operator is not supported yet.")
    }

    private static func objects(of operation: JSONObject, for use: Value.Use) throws(ParseError) -> [JSON] {
        guard case .array(let objects)? = operation["objects"] else { throw .json("objects to add must be an array") }
        for object in objects { try Storable.check(object, for: use) }
        return objects
    }

    private static func relation(_ operation: JSONObject, name: String) throws(ParseError) -> Update.Operation {
        var added: [Pointer] = []
        var removed: [Pointer] = []
        if name == "Batch" {
            guard case .array(let parts)? = operation["ops"] else { throw .json("ops of Batch must be an array") }
            for part in parts {
                guard case .object(let part) = part else { throw .json("ops of Batch must be operations") }
                switch part["__op"] {
                case .string("AddRelation"): added += try pointers(of: part)
                case .string("RemoveRelation"): removed += try pointers(of: part)
                default: throw unknown(name)
                }
            }
        } else if name == "AddRelation" {
            added = try pointers(of: operation)
        } else {
            removed = try pointers(of: operation)
        }
        guard let className = (added.first ?? removed.first)?.className else {
            throw .json("\(name) needs at least one object")
        }
        guard (added + removed).allSatisfy({ $0.className == className }) else {
            throw .type("All objects of a relation must have the same class")
        }
        return .relation(add: added, remove: removed)
    }

    private static func pointers(of operation: JSONObject) throws(ParseError) -> [Pointer] {
        guard case .array(let objects)? = operation["objects"] else { throw .json("objects to add must be an array") }
        var pointers: [Pointer] = []
        for object in objects {
            guard let pointer = Pointer(json: object) else { throw .type("This is not a valid Pointer") }
            pointers.append(pointer)
        }
        return pointers
    }
}

extension ACLChange {
    static func parse(_ json: JSON) throws(ParseError) -> ACLChange {
        switch json {
        case .object(let object) where object["__op"] == .string("Delete"): return .delete
        default: return .set(try ACL.parse(json))
        }
    }
}

extension ACL {
    /// Reads `{"*": {"read": true}, "role:mods": {"read": true, "write": true}}`.
    /// - Throws: 123 for anything else; the reference stores it and locks the object.
    public static func parse(_ json: JSON) throws(ParseError) -> ACL {
        guard case .object(let object) = json else { throw invalid("Invalid ACL: it must be an object") }
        var acl = ACL()
        for (principal, rights) in object.members {
            guard isPrincipal(principal) else { throw invalid("Invalid ACL: it names neither user nor role") }
            guard case .object(let rights) = rights else {
                throw invalid("Invalid ACL: the rights of \(ParseError.clipped(principal)) must be an object")
            }
            var entry = Entry(principal, read: false, write: false)
            for (right, value) in rights.members {
                // There are no other rights; the reference passes over them, too.
                guard right == "read" || right == "write" else { continue }
                guard case .bool(let granted) = value else {
                    throw invalid("Invalid ACL: \(right) must be true or false")
                }
                if right == "read" { entry.read = granted } else { entry.write = granted }
            }
            if entry.read || entry.write { acl.entries.append(entry) }
        }
        return acl
    }

    private static func isPrincipal(_ name: String) -> Bool {
        !name.isEmpty && name != "role:" && name != "*unresolved" && Storable.isStorable(name)
    }

    private static func invalid(_ message: String) -> ParseError { ParseError(ParseError.Code.invalidACL, message) }

    /// As clients get it: only the rights that are granted.
    public var json: JSON {
        .object(
            JSONObject(
                entries.map { entry in
                    var rights: [(key: String, value: JSON)] = []
                    if entry.read { rights.append(("read", true)) }
                    if entry.write { rights.append(("write", true)) }
                    return (key: entry.principal, value: .object(JSONObject(rights)))
                }))
    }
}
