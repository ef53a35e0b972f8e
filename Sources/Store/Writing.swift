import Postgres
import Schema
import Wire

/// What a create made.
public struct Created {
    public let objectId: String
    public let createdAt: Timestamp
    /// The fields that the answer tells: defaults, and what operators made.
    public var answered: JSONObject
    /// The ACL that the class gave the object.
    public var defaultACL: ACL?
}

/// What an update made.
public struct Updated {
    public let updatedAt: Timestamp
    public var answered: JSONObject
}

/// Something that runs statements that write: the pools, or a transaction.
public protocol StatementWriter {
    func write(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows
}

extension Database: StatementWriter {}

extension Transaction: StatementWriter {
    public func write(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows {
        try await execute(statement, parameters)
    }
}

extension Store {
    // MARK: create

    public func create(
        _ className: String, _ update: Update, as viewer: Viewer, in transaction: Transaction? = nil,
        server: ServerSide = ServerSide()
    ) async throws -> Created {
        try access(viewer).checkReachable(className)
        let access = access(viewer)
        var schema = try await catalogue.snapshot()
        if let existing = schema[className] {
            if case .none = try access.decide(.create, on: existing) { throw ParseError.objectNotFound }
        }
        let objectId = try server.objectId ?? newObjectId(update)
        var update = update
        update.changes.removeAll { if case .delete = $0.operation { true } else { false } }
        schema = try await prepare(className, update, schema, access, creating: true)
        guard let table = schema[className] else { throw ParseError(1, "The class \(className) is gone.") }
        var answered = try applyDefaults(&update, table)
        try checkRequired(update, table, creating: true)
        var acl: ACL?
        var defaultACL: ACL?
        if case .set(let given)? = update.acl {
            acl = given
        } else if let standing = table.permissions.defaultACL {
            acl = resolve(standing, viewer)
            defaultACL = acl
        }
        if table.name == "_User" { acl = ownACL(acl ?? ACL(), objectId) }
        let dates = try serverDates(update, viewer)
        let plan = try WriteSQL(table: table).insert(
            objectId: objectId, update.changes, acl: acl, createdAt: dates.created, updatedAt: dates.updated,
            server: server.columns)
        let relations = relationChanges(update)
        let createdAt = try await write(in: transaction, alone: relations.isEmpty && !server.needsTransaction) {
            writer in
            let rows = try await writer.write(plan.statement, plan.parameters)
            for (name, value) in try answers(rows, plan.answered).members { answered[name] = value }
            try await changeRelations(relations, of: objectId, table, writer)
            try await finish(server, writer)
            return Timestamp(milliseconds: rows.timestampMilliseconds(0, 0))
        }
        hideProtected(&answered, table, access)
        return Created(objectId: objectId, createdAt: createdAt, answered: answered, defaultACL: defaultACL)
    }

    // MARK: update

    public func update(
        _ className: String, objectId: String, _ update: Update, as viewer: Viewer, in transaction: Transaction? = nil,
        server: ServerSide = ServerSide()
    ) async throws -> Updated {
        try access(viewer).checkReachable(className)
        let access = access(viewer)
        var schema = try await catalogue.snapshot()
        var rows: [Access.Rows] = []
        if let existing = schema[className] {
            rows.append(try access.decide(.update, on: existing))
        }
        if let given = update.objectId, given != .string(objectId) {
            throw ParseError(136, "The objectId of an object cannot be changed.")
        }
        let before = schema[className]
        if let before, !viewer.isAboveAccess, addsFields(update, before) {
            rows.append(try access.decide(.addField, on: before))
        }
        if schema[className] == nil, !mayCreateClasses(viewer) { throw noSuchClass(className, access) }
        // A client must not make fields by updating what it cannot change: look first, before the schema grows.
        if let before, addsFields(update, before) || hasRelations(update) {
            try await checkWritable(objectId, before, access, rows, transaction)
        } else if before == nil {
            throw ParseError.objectNotFound
        }
        schema = try await prepare(className, update, schema, access, creating: false)
        guard let table = schema[className] else { throw ParseError.objectNotFound }
        try checkRequired(update, table, creating: false)
        var acl = update.acl
        if table.name == "_User", !viewer.isAboveAccess, case .set(let given)? = acl {
            acl = .set(ownACL(given, objectId))
        }
        let dates = try serverDates(update, viewer)
        let plan = try WriteSQL(table: table).update(
            objectId: objectId, update.changes, acl: acl, updatedAt: dates.updated, access: access, rows: rows,
            server: server.columns)
        let relations = relationChanges(update)
        var updated = try await write(in: transaction, alone: relations.isEmpty && !server.needsTransaction) { writer in
            let result = try await writer.write(plan.statement, plan.parameters)
            guard result.count > 0 else { throw ParseError.objectNotFound }
            try await changeRelations(relations, of: objectId, table, writer)
            try await finish(server, writer)
            return Updated(
                updatedAt: Timestamp(milliseconds: result.timestampMilliseconds(0, 1)),
                answered: try answers(result, plan.answered))
        }
        hideProtected(&updated.answered, table, access)
        return updated
    }

    // MARK: delete

    public func delete(
        _ className: String, objectId: String, as viewer: Viewer, in transaction: Transaction? = nil,
        server: ServerSide = ServerSide()
    ) async throws {
        try access(viewer).checkReachable(className)
        let schema = try await catalogue.snapshot()
        guard let table = schema[className] else { throw ParseError.objectNotFound }
        let access = access(viewer)
        let rows = try access.decide(.delete, on: table)
        let plan = WriteSQL(table: table).delete(objectId: objectId, access: access, rows: rows)
        let joins = table.relations.map { ClassSchema.joinTable(field: $0.name, of: className) }
        try await write(in: transaction, alone: joins.isEmpty && !server.needsTransaction) { writer in
            let result = try await writer.write(plan.statement, plan.parameters)
            guard result.count > 0 else { throw ParseError.objectNotFound }
            for join in joins {
                _ = try await writer.write(
                    Statement("DELETE FROM \(quoted(join)) WHERE \"owningId\" = $1"), [.text(objectId)])
            }
            try await finish(server, writer)
        }
    }

    /// `DELETE /purge/:class`: all objects of a class; the class stays.
    public func purge(_ className: String) async throws {
        try Names.checkClass(className)
        let schema = try await catalogue.snapshot()
        guard let table = schema[className] else { return }
        try await database.transaction { transaction in
            _ = try await transaction.execute(Statement("DELETE FROM \(quoted(className))"), [])
            for relation in table.relations {
                let join = ClassSchema.joinTable(field: relation.name, of: className)
                _ = try await transaction.execute(Statement("DELETE FROM \(quoted(join))"), [])
            }
            if let notification = AccessChange.notification(for: className) {
                try await transaction.notify(channel: notification.channel, payload: notification.payload)
            }
        }
    }

    // MARK: steps

    /// Runs `body` in the caller's transaction, in one of its own, or (one statement alone) without.
    private func write<Result>(
        in transaction: Transaction?, alone: Bool, _ body: (any StatementWriter) async throws -> Result
    ) async throws -> Result {
        if let transaction { return try await body(transaction) }
        if alone { return try await body(database) }
        return try await database.transaction { try await body($0) }
    }

    private func finish(_ server: ServerSide, _ writer: any StatementWriter) async throws {
        for next in server.afterwards { _ = try await writer.write(next.statement, next.parameters) }
        if let (channel, payload) = server.notification {
            _ = try await writer.write(Statement("SELECT pg_notify($1, $2)"), [.text(channel), .text(payload)])
        }
    }

    /// The id of an object that is about to be made: the one it brings, where that is allowed, else a new one.
    public func newObjectId(_ update: Update) throws -> String {
        guard let given = update.objectId else {
            return ObjectIdentifiers.make(options.objectIdSize)
        }
        guard options.allowsCustomObjectIds else {
            throw ParseError(105, "objectId is an invalid field name.")
        }
        guard given != .null, given != .string("") else {
            throw ParseError(104, "objectId must not be empty, null or undefined")
        }
        guard case .string(let id) = given else {
            throw ParseError(111, "schema mismatch for objectId; expected String")
        }
        guard id.utf8.count <= 255, !id.utf8.contains(0) else {
            throw ParseError(111, "An objectId can have at most 255 bytes, and none of them 0.")
        }
        return id
    }

    private func mayCreateClasses(_ viewer: Viewer) -> Bool {
        viewer.isAboveAccess || options.allowsClientClassCreation
    }

    private func noSuchClass(_ className: String, _ access: Access) -> ParseError {
        ParseError(119, access.refusal("This user is not allowed to access non-existent class: \(className)"))
    }

    /// Checks the types of what is written, and makes the class and the fields that are not there yet.
    private func prepare(
        _ className: String, _ update: Update, _ schema: SchemaSnapshot, _ access: Access, creating: Bool
    ) async throws -> SchemaSnapshot {
        let existing = schema[className]
        if existing == nil, !mayCreateClasses(access.viewer) { throw noSuchClass(className, access) }
        let fields = existing?.fields ?? DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
        var added: [String: FieldType] = [:]
        for change in update.changes {
            guard let type = change.impliedType else { continue }
            let name = change.path.field
            guard let known = fields[name]?.type ?? added[name] else {
                try Names.checkField(name)
                added[name] = type
                continue
            }
            guard known == type else { throw SchemaMismatch.error(className, name, known, type) }
        }
        if existing != nil, added.isEmpty { return schema }
        if creating, let existing, !added.isEmpty {
            if case .none = try access.decide(.addField, on: existing, creating: true) {
                throw ParseError(119, access.refusal("Permission denied for action addField on class \(className)."))
            }
        }
        return try await catalogue.ensure(className, fields: added)
    }

    /// Makes the class and the fields that a write will need, ahead of a transaction. What the write itself may not do
    /// is left for it to refuse.
    public func prepareSchema(_ className: String, _ update: Update, as viewer: Viewer, creating: Bool) async throws {
        try access(viewer).checkReachable(className)
        let access = access(viewer)
        let schema = try await catalogue.snapshot()
        if let existing = schema[className] {
            _ = try access.decide(creating ? .create : .update, on: existing)
            if addsFields(update, existing) { _ = try access.decide(.addField, on: existing, creating: creating) }
        } else if !creating {
            throw ParseError.objectNotFound
        }
        _ = try await prepare(className, update, schema, access, creating: creating)
    }

    private func addsFields(_ update: Update, _ table: ClassSchema) -> Bool {
        update.changes.contains { table.fields[$0.path.field] == nil && $0.impliedType != nil }
    }

    private func hasRelations(_ update: Update) -> Bool { !relationChanges(update).isEmpty }

    /// Throws 101 unless the viewer may change the object, and what class-level permissions refuse.
    public func checkWritable(
        _ className: String, objectId: String, as viewer: Viewer, in transaction: Transaction?
    ) async throws {
        guard let table = try await catalogue.snapshot()[className] else { throw ParseError.objectNotFound }
        let access = access(viewer)
        try await checkWritable(objectId, table, access, [try access.decide(.update, on: table)], transaction)
    }

    private func checkWritable(
        _ objectId: String, _ table: ClassSchema, _ access: Access, _ rows: [Access.Rows], _ transaction: Transaction?
    ) async throws {
        let plan = WriteSQL(table: table).look(objectId: objectId, access: access, rows: rows)
        let reader: any StatementReader = transaction ?? database
        guard try await reader.read(plan.statement, plan.parameters).count > 0 else { throw ParseError.objectNotFound }
    }

    /// Fills in the defaults of fields that say nothing; answers them.
    private func applyDefaults(_ update: inout Update, _ table: ClassSchema) throws -> JSONObject {
        var answered = JSONObject()
        for (name, field) in table.fields.sorted(by: { $0.key < $1.key }) {
            guard let value = field.defaultValue else { continue }
            let given = update.changes.first { $0.path.field == name }
            if let given, !given.isEmpty { continue }
            update.changes.removeAll { $0.path.field == name }
            update.changes.append(Update.Change(FieldPath(field: name), .set(try Value.parse(value))))
            answered[name] = value
        }
        return answered
    }

    private func checkRequired(_ update: Update, _ table: ClassSchema, creating: Bool) throws(ParseError) {
        for (name, field) in table.fields where field.required {
            let given = update.changes.first { $0.path.field == name }
            if given.map({ $0.isEmpty || $0.operation == .set(.string("")) }) ?? creating {
                throw ParseError(142, "\(name) is required")
            }
        }
    }

    /// `currentUser` in a class's default ACL is the caller.
    private func resolve(_ acl: ACL, _ viewer: Viewer) -> ACL {
        var entries: [ACL.Entry] = []
        for entry in acl.entries {
            guard entry.principal == "currentUser" else {
                entries.append(entry)
                continue
            }
            if let userId = viewer.userId { entries.append(ACL.Entry(userId, read: entry.read, write: entry.write)) }
        }
        return ACL(entries)
    }

    /// A user can't lock itself out of its own row.
    private func ownACL(_ acl: ACL, _ userId: String) -> ACL {
        ACL(acl.entries.filter { $0.principal != userId } + [ACL.Entry(userId, read: true, write: true)])
    }

    /// createdAt and updatedAt as the maintenance key may set them.
    private func serverDates(_ update: Update, _ viewer: Viewer) throws(ParseError) -> (
        created: Timestamp?, updated: Timestamp?
    ) {
        func date(_ json: JSON?, _ name: String) throws(ParseError) -> Timestamp? {
            guard let json, json != .null else { return nil }
            if case .date(let date) = try Value.parse(json) { return date }
            throw ParseError(111, "schema mismatch for \(name); expected Date")
        }
        let created = try date(update.createdAt, "createdAt")
        let updated = try date(update.updatedAt, "updatedAt")
        guard viewer.key == .maintenance else { return (nil, nil) }
        if let created, let updated, updated < created {
            throw ParseError(142, "updatedAt cannot occur before createdAt")
        }
        return (created, updated)
    }

    private func hideProtected(_ answered: inout JSONObject, _ table: ClassSchema, _ access: Access) {
        guard !options.saveAnswersShowProtectedFields else { return }
        for name in access.protectedFields(of: table).any { answered[name] = nil }
    }

    // MARK: relations

    struct RelationChange {
        let field: String
        let add: [Pointer]
        let remove: [Pointer]
    }

    private func relationChanges(_ update: Update) -> [RelationChange] {
        update.changes.compactMap { change in
            guard case .relation(let add, let remove) = change.operation, !add.isEmpty || !remove.isEmpty else {
                return nil
            }
            return RelationChange(field: change.path.field, add: add, remove: remove)
        }
    }

    private func changeRelations(
        _ changes: [RelationChange], of objectId: String, _ table: ClassSchema, _ writer: any StatementWriter
    ) async throws {
        for change in changes {
            let join = quoted(ClassSchema.joinTable(field: change.field, of: table.name))
            if !change.add.isEmpty {
                _ = try await writer.write(
                    Statement(
                        "INSERT INTO \(join) (\"owningId\", \"relatedId\") SELECT $1, id FROM unnest($2::text[]) AS ids (id) "
                            + "ORDER BY id ON CONFLICT DO NOTHING"),
                    [.text(objectId), .textArray(change.add.map(\.objectId))])
            }
            if !change.remove.isEmpty {
                _ = try await writer.write(
                    Statement("DELETE FROM \(join) WHERE \"owningId\" = $1 AND \"relatedId\" = ANY($2::text[])"),
                    [.text(objectId), .textArray(change.remove.map(\.objectId))])
            }
        }
    }

    // MARK: answers

    /// What operators made of their fields, read from the returned row.
    private func answers(_ rows: Rows, _ answered: [WriteSQL.Answered]) throws -> JSONObject {
        var result = JSONObject()
        for (index, answer) in answered.enumerated() {
            let column = index + 2
            guard !rows.isNull(0, column) else { continue }
            var out = JSONWriter()
            ObjectWriter.scalar(rows, 0, column, answer.type, options.fileURLPrefix, to: &out)
            let json = try JSONParser.parse(out.bytes)
            guard !answer.rest.isEmpty else {
                result[answer.field] = json
                continue
            }
            // Of a dotted operator only the touched key.
            var value = json
            for key in answer.rest {
                if case .object(let object) = value { value = object[key] ?? .null } else { value = .null }
            }
            var told: JSONObject
            if case .object(let object)? = result[answer.field] { told = object } else { told = JSONObject() }
            told.insert(value, at: answer.rest[...])
            result[answer.field] = .object(told)
        }
        return result
    }
}

extension JSONObject {
    /// Sets what lies at `path`, making the objects on the way.
    fileprivate mutating func insert(_ value: JSON, at path: ArraySlice<String>) {
        guard let head = path.first else { return }
        guard path.count > 1 else {
            self[head] = value
            return
        }
        var inner: JSONObject
        if case .object(let object)? = self[head] { inner = object } else { inner = JSONObject() }
        inner.insert(value, at: path.dropFirst())
        self[head] = .object(inner)
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
