import Postgres
import Schema
import Wire

/// A write with all that the class and the server add to it: what is stored, and what of it the answer tells.
struct CompletedWrite {
    var table: ClassSchema
    var changes: [Update.Change]
    var acl: ACLChange?
    var created: Timestamp?
    var updated: Timestamp?
    /// Defaults, the ACL that the class gave: told whatever the statement answers.
    var answered = JSONObject()
    var rows: [Access.Rows]
    let access: Access
}

extension Store {
    /// Checks types, makes the class and the fields that are not there yet, fills in defaults, asks for what is
    /// required.
    func complete(_ write: Write, _ rights: Rights) async throws -> CompletedWrite {
        guard write.kind != .delete else {
            guard let table = rights.table else { throw ParseError.objectNotFound }
            return CompletedWrite(table: table, changes: [], rows: rights.rows, access: rights.access)
        }
        if write.kind == .update, let given = write.update.objectId, given != .string(write.objectId) {
            throw ParseError(136, "The objectId of an object cannot be changed.")
        }
        var changes = write.update.changes
        // A new object has nothing that could be deleted.
        if write.isNew { changes.removeAll { if case .delete = $0.operation { true } else { false } } }
        var rights = rights
        let added = try await missingFields(write, changes, &rights)
        let table =
            rights.table ?? ClassSchema(name: write.className, fields: [:], permissions: .open)
        var completed = CompletedWrite(table: table, changes: changes, rows: rights.rows, access: rights.access)
        if write.isNew { completed.applyDefaults() }
        try completed.checkRequired(creating: write.isNew)
        completed.acl = write.update.acl
        if write.isNew { completed.applyDefaultACL(write.viewer) }
        (completed.created, completed.updated) = try serverDates(write.update, write.viewer)
        // Last: what is refused makes no class grow.
        if rights.table == nil || !added.isEmpty { completed.table = try await grown(write, added) }
        return completed
    }

    // MARK: growth of the schema

    /// The fields that the write needs and the class lacks. What the viewer may not write makes no class grow.
    private func missingFields(
        _ write: Write, _ changes: [Update.Change], _ rights: inout Rights
    ) async throws -> [String: FieldType] {
        let className = write.className
        let fields = rights.table?.fields ?? DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
        var added: [String: FieldType] = [:]
        var mismatch: ParseError?
        for change in changes {
            guard let type = change.impliedType else { continue }
            let name = change.path.field
            guard let known = fields[name]?.type ?? added[name] else {
                try Names.checkField(name)
                added[name] = type
                continue
            }
            if known != type, mismatch == nil { mismatch = SchemaMismatch.error(className, name, known, type) }
        }
        if let table = rights.table, !added.isEmpty {
            let rows = try rights.access.decide(.addField, on: table, creating: write.isNew)
            if !write.isNew {
                rights.rows.append(rows)
            } else if case .none = rows {
                throw ParseError(
                    119, rights.access.refusal("Permission denied for action addField on class \(className)."))
            }
        }
        if let mismatch { throw mismatch }
        if let table = rights.table, !added.isEmpty, !write.isNew { try await checkWritable(write, rights, table) }
        return added
    }

    /// The class with these fields beside its own.
    private func grown(_ write: Write, _ added: [String: FieldType]) async throws -> ClassSchema {
        let schema = try await catalogue.ensure(
            write.className, fields: added, in: write.operation.scope?.transaction)
        guard let table = schema[write.className] else { throw ParseError(1, "The class \(write.className) is gone.") }
        return table
    }

    func mayCreateClasses(_ viewer: Viewer) -> Bool { viewer.isAboveAccess || options.allowsClientClassCreation }

    func noSuchClass(_ className: String, _ access: Access) -> ParseError {
        ParseError(119, access.refusal("This user is not allowed to access non-existent class: \(className)"))
    }

    /// createdAt and updatedAt as the maintenance key may set them.
    private func serverDates(_ update: Update, _ viewer: Viewer) throws(ParseError) -> (Timestamp?, Timestamp?) {
        func date(_ json: JSON?, _ name: String) throws(ParseError) -> Timestamp? {
            guard let json, json != .null else { return nil }
            if case .date(let date) = try Value.parse(json) { return date }
            throw ParseError(111, "schema mismatch for \(name); expected Date")
        }
        let created = try date(update.createdAt, "createdAt")
        let updated = try date(update.updatedAt, "updatedAt")
        // As in the reference, an object cannot have changed before it is said when it was made.
        guard viewer.key == .maintenance, let created else { return (nil, nil) }
        if let updated, updated < created {
            throw ParseError(142, "updatedAt cannot occur before createdAt")
        }
        return (created, updated)
    }
}

extension CompletedWrite {
    /// Fills in the defaults of fields that say nothing; the answer tells them.
    fileprivate mutating func applyDefaults() {
        for (name, value) in table.defaults {
            if let given = changes.first(where: { $0.path.field == name }), !given.isEmpty { continue }
            changes.removeAll { $0.path.field == name }
            changes.append(Update.Change(FieldPath(field: name), .set(value)))
            answered[name] = value.json
        }
    }

    fileprivate func checkRequired(creating: Bool) throws(ParseError) {
        for name in table.requiredFields {
            let given = changes.first { $0.path.field == name }
            if given.map({ $0.isEmpty || $0.operation == .set(.string("")) }) ?? creating {
                throw ParseError(142, "\(name) is required")
            }
        }
    }

    /// The ACL that the class gives to objects that come without one. `currentUser` in it is the caller.
    fileprivate mutating func applyDefaultACL(_ viewer: Viewer) {
        if case .set? = acl { return }
        acl = nil
        guard let standing = table.permissions.defaultACL else { return }
        var entries = standing.entries.filter { $0.principal != "currentUser" }
        if let own = standing.entries.first(where: { $0.principal == "currentUser" }), let userId = viewer.userId {
            // Once: the class may name that user as well.
            entries.removeAll { $0.principal == userId }
            entries.append(ACL.Entry(userId, read: own.read, write: own.write))
        }
        // What grants nothing is not stored; so it is not told either.
        entries.removeAll { !$0.read && !$0.write }
        acl = .set(ACL(entries))
        answered["ACL"] = ACL(entries).json
    }
}

extension Update.Change {
    /// The type that a field gets from this change; nil when it says nothing of it.
    var impliedType: FieldType? {
        if path.isDotted {
            if case .relation = operation { return nil }
            return .object
        }
        switch operation {
        case .set(let value), .setOnInsert(let value): return value.fieldType
        case .delete: return nil
        case .increment: return .number
        case .add, .addUnique, .remove: return .array
        case .relation(let add, let remove):
            return (add.first ?? remove.first).map { .relation($0.className) }
        }
    }

    /// Leaves the field without a value.
    fileprivate var isEmpty: Bool {
        guard !path.isDotted else { return false }
        switch operation {
        case .delete, .set(.null), .setOnInsert(.null): return true
        default: return false
        }
    }
}
