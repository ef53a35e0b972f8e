import Postgres
import Schema
import Wire

/// A column that the server itself sets beside what the client changes, such as a password's hash.
public struct ServerColumn: Sendable {
    public let name: String
    public let parameter: Parameter
    /// PostgreSQL's name of the column's type.
    public let type: StaticString

    public init(_ name: String, _ parameter: Parameter, _ type: StaticString) {
        self.name = name
        self.parameter = parameter
        self.type = type
    }
}

/// Builds the statements that write objects: pure, from an update tree, a viewer and the schema.
struct WriteSQL {
    let table: ClassSchema
    let access: Access

    /// A field whose new value the answer tells.
    struct Answered {
        let field: String
        /// Keys within the field, each told alone; empty for the whole field.
        let rest: [String]
        let type: FieldType
    }

    /// A statement, and what it answers: createdAt, updatedAt, what operators made, and the row where it is asked for.
    struct Made {
        let sql: SQL
        var answered: [Answered] = []
        /// Where the columns of `answered` begin.
        static let firstAnswered = 2
        /// Where the row begins.
        var firstOfRow: Int { Made.firstAnswered + answered.count }
    }

    /// Answers the whole row behind them, as a read of the object would.
    var answersRow = false
    /// Fields that are answered whole, though they are changed in part.
    var wholeFields: Set<String> = []

    private static let now: SQL = "date_trunc('milliseconds', now())"

    // MARK: the writes

    func insert(
        _ objectId: String, _ write: CompletedWrite, _ relations: [RelationChange], server: [ServerColumn]
    ) throws(ParseError) -> Made {
        let created = write.created.map { SQL.date($0) } ?? WriteSQL.now
        let updated = write.updated.map { SQL.date($0) } ?? created
        let rights = rights(write.acl)
        var columns: [SQL] = ["\"objectId\"", "\"createdAt\"", "\"updatedAt\"", "\"_rperm\"", "\"_wperm\""]
        var values: [SQL] = [.text(objectId), created, updated, rights.read, rights.write]
        var answered: [Answered] = []
        for (field, changes) in grouped(write.changes) {
            guard let type = table.fields[field]?.type, let sqlType = type.sqlType else { continue }
            guard let value = try assignment(of: changes, to: .new("NULL::\(word: sqlType)"), type, &answered) else {
                continue
            }
            columns.append("\(name: field)")
            values.append(value)
        }
        for column in server {
            columns.append("\(name: column.name)")
            values.append(.bind(column.parameter, column.type))
        }
        let insert: SQL = """
            INSERT INTO \(name: table.name) (\(columns)) VALUES (\(values)) \
            RETURNING "createdAt", "updatedAt"\(returned(answered) { "\(name: $0)" })\(wholeRow(of: ""))
            """
        return Made(sql: with(insert, relationEffects(relations, of: .text(objectId))), answered: answered)
    }

    func update(
        _ objectId: String, _ write: CompletedWrite, _ relations: [RelationChange], server: [ServerColumn]
    ) throws(ParseError) -> Made {
        let target = access.table(table, "t")
        var assignments: [SQL] = ["\"updatedAt\" = \(write.updated.map { SQL.date($0) } ?? WriteSQL.now)"]
        var answered: [Answered] = []
        switch write.acl {
        case nil: break
        case .delete: assignments += ["\"_rperm\" = NULL", "\"_wperm\" = NULL"]
        case .set:
            let rights = rights(write.acl)
            assignments += ["\"_rperm\" = \(rights.read)", "\"_wperm\" = \(rights.write)"]
        }
        for (field, changes) in grouped(write.changes) {
            guard let type = table.fields[field]?.type, type.sqlType != nil else { continue }
            guard let value = try assignment(of: changes, to: .existing(target.column(field)), type, &answered) else {
                continue
            }
            if wholeFields.contains(field) {
                answered.removeAll { $0.field == field }
                answered.append(Answered(field: field, rest: [], type: type))
            }
            assignments.append("\(name: field) = \(value)")
        }
        for column in server {
            assignments.append("\(name: column.name) = \(SQL.bind(column.parameter, column.type))")
        }
        let update: SQL = """
            UPDATE \(target.source) SET \(assignments) WHERE \(isWritable(objectId, target, write.rows)) \
            RETURNING t."createdAt", t."updatedAt"\(returned(answered) { readable($0, of: target) })\
            \(wholeRow(of: "t."))
            """
        return Made(sql: with(update, relationEffects(relations, of: .text(objectId))), answered: answered)
    }

    func delete(_ objectId: String, rows: [Access.Rows]) -> Made {
        let target = access.table(table, "t")
        let delete: SQL = """
            DELETE FROM \(target.source) WHERE \(isWritable(objectId, target, rows)) \
            RETURNING t."createdAt", t."updatedAt"\(table.relations.isEmpty ? "" : ", t.\"objectId\"")
            """
        return Made(sql: with(delete, joinsOfDeleted))
    }

    /// Deletes all objects whose fields have these texts; answers their ids.
    func delete(matching: [(field: String, value: String)], rows: Access.Rows) -> Rendered {
        let target = access.table(table, "t")
        let conditions = matching.map { Condition.when("\(target.column($0.field)) = \(SQL.text($0.value))") }
        let delete: SQL = """
            DELETE FROM \(target.source) \
            WHERE \(Condition.all(conditions + [access.condition(.write, rows, on: target)])) RETURNING t."objectId"
            """
        return Rendered(with(delete, joinsOfDeleted))
    }

    /// Deletes those of the objects whose ACL names a user and nobody else.
    func deletePrivate(_ ids: [String], of userId: String) -> Rendered {
        let delete: SQL = """
            DELETE FROM \(name: table.name) t \
            WHERE t."objectId" = ANY(\(SQL.texts(ids))) AND \(WriteSQL.isPrivate(to: userId)) RETURNING t."objectId"
            """
        return Rendered(with(delete, joinsOfDeleted))
    }

    /// Changes all objects that a condition holds for; answers how many.
    func updateAll(
        _ target: TableReference, _ changes: [Update.Change], _ readers: Store.ReaderChange, where condition: Condition
    ) throws(ParseError) -> SQL {
        var assignments: [SQL] = ["\"updatedAt\" = \(WriteSQL.now)"]
        var answered: [Answered] = []
        for (field, changes) in grouped(changes) {
            guard let type = table.fields[field]?.type, type.sqlType != nil else { continue }
            if let value = try assignment(of: changes, to: .existing(target.column(field)), type, &answered) {
                assignments.append("\(name: field) = \(value)")
            }
        }
        if !readers.allowed.isEmpty || !readers.forbidden.isEmpty {
            let column = target.column("_rperm")
            let gone = SQL.texts(readers.allowed + readers.forbidden)
            // Nobody's ACL stands for everybody, who stays.
            assignments.append(
                """
                "_rperm" = CASE WHEN \(column) IS NOT NULL THEN \
                ARRAY(SELECT r FROM unnest(\(column)) AS r WHERE r <> ALL (\(gone))) || \(SQL.texts(readers.allowed)) END
                """)
        }
        return """
            WITH w AS (UPDATE \(target.source) SET \(assignments)\(Condition.clause([condition])) RETURNING 1) \
            SELECT count(*) FROM w
            """
    }

    /// Deletes all objects that a condition holds for; answers how many.
    func deleteAll(where condition: Condition) -> SQL {
        let target = access.table(table, "t")
        var sql: SQL =
            "WITH w AS (DELETE FROM \(target.source)\(Condition.clause([condition])) RETURNING t.\"objectId\")"
        for (index, effect) in joinsOfDeleted.enumerated() { sql += ", e\(number: index) AS (\(effect))" }
        sql += " SELECT count(*) FROM w"
        return sql
    }

    /// Deletes the next `count` objects of the class, whichever they are, or those whose date is past; answers their ids.
    func purge(_ count: Int, past date: (field: String, end: Timestamp)? = nil) -> Rendered {
        let target = access.table(table, "t")
        let isPast: SQL = date.map { " WHERE \(name: $0.field) < \(SQL.date($0.end))" } ?? ""
        let order: SQL = date.map { "\(name: $0.field)" } ?? "\"objectId\""
        // A purge leaves nothing behind, so it waits for those who hold a row; what is past can be deleted the next time.
        let lock: SQL = date == nil ? "" : " FOR UPDATE SKIP LOCKED"
        let delete: SQL = """
            DELETE FROM \(target.source) WHERE t."objectId" IN (\
            SELECT "objectId" FROM \(name: table.name)\(isPast) ORDER BY \(order) LIMIT \(number: count)\(lock)) \
            RETURNING t."objectId"
            """
        return Rendered(with(delete, joinsOfDeleted))
    }

    /// Finds one row where the viewer may change the object, none else; locks it for the change where asked to.
    func look(objectId: String, rows: [Access.Rows], locking: Bool) -> Rendered {
        let target = access.table(table, "t")
        let lock: SQL = locking ? " FOR NO KEY UPDATE" : ""
        return Rendered("SELECT FROM \(target.source) WHERE \(isWritable(objectId, target, rows))\(lock)")
    }

    /// A statement whose answer speaks for itself.
    struct Rendered {
        let statement: Statement
        let parameters: [Parameter]

        init(_ sql: SQL) { (statement, parameters) = sql.rendered() }
    }

    // MARK: one statement of several parts

    /// The write, named `w`, with what belongs to it: one statement, so that nothing of it can stand without the rest.
    /// A write that has nothing beside it stays as it is.
    private func with(_ write: SQL, _ effects: [SQL]) -> SQL {
        guard !effects.isEmpty else { return write }
        var sql: SQL = "WITH w AS (\(write))"
        for (index, effect) in effects.enumerated() { sql += ", e\(number: index) AS (\(effect))" }
        sql += " SELECT * FROM w"
        return sql
    }

    /// What a write does to the join tables of its relations; nothing where the write changed no row.
    private func relationEffects(_ relations: [RelationChange], of objectId: SQL) -> [SQL] {
        var effects: [SQL] = []
        for relation in relations {
            let join = ClassSchema.joinTable(field: relation.field, of: table.name)
            if !relation.add.isEmpty {
                effects.append(
                    """
                    INSERT INTO \(name: join) ("owningId", "relatedId") \
                    SELECT \(objectId), ids.id FROM w, unnest(\(SQL.texts(relation.add))) AS ids (id) ORDER BY ids.id \
                    ON CONFLICT DO NOTHING
                    """)
            }
            if !relation.remove.isEmpty {
                effects.append(
                    """
                    DELETE FROM \(name: join) j USING w \
                    WHERE j."owningId" = \(objectId) AND j."relatedId" = ANY(\(SQL.texts(relation.remove)))
                    """)
            }
        }
        return effects
    }

    /// The rows that deleted objects have in the join tables of their relations.
    private var joinsOfDeleted: [SQL] {
        table.relations.map { relation in
            let join = ClassSchema.joinTable(field: relation.name, of: table.name)
            return "DELETE FROM \(name: join) j USING w WHERE j.\"owningId\" = w.\"objectId\""
        }
    }

    // MARK: conditions and answers

    private func isWritable(_ objectId: String, _ target: TableReference, _ rows: [Access.Rows]) -> Condition {
        .all(
            [.when("\(target.column("objectId")) = \(SQL.text(objectId))")]
                + rows.map { access.condition(.write, $0, on: target) })
    }

    /// A column of the written row, for whom may read it: who may only write learns nothing of what is there.
    private func readable(_ field: String, of target: TableReference) -> SQL {
        let column = target.column(field)
        guard let rows = try? access.decide(.get, on: table) else { return "NULL" }
        switch access.condition(.read, rows, on: target) {
        case .always: return column
        case .never: return "NULL"
        case .when(let isReadable, _): return "CASE WHEN \(isReadable) THEN \(column) END"
        }
    }

    private func rights(_ acl: ACLChange?) -> (read: SQL, write: SQL) {
        guard case .set(let acl)? = acl else { return ("NULL", "NULL") }
        return (
            .texts(acl.entries.filter(\.read).map(\.principal)), .texts(acl.entries.filter(\.write).map(\.principal))
        )
    }

    private func returned(_ answered: [Answered], _ column: (String) -> SQL) -> SQL {
        var sql: SQL = ""
        for answer in answered { sql += ", \(column(answer.field))" }
        return sql
    }

    /// The columns of a whole row, as a ResultSet expects them. Nobody but hooks sees them.
    private func wholeRow(of alias: SQL) -> SQL {
        guard answersRow else { return "" }
        var sql: SQL = """
            , \(alias)"objectId", \(alias)"createdAt", \(alias)"updatedAt", \(alias)"_rperm", \(alias)"_wperm"
            """
        for column in table.columns {
            sql.append(literal: ", ")
            sql += alias
            sql.append(column)
        }
        return sql
    }

    // MARK: assignments

    private func grouped(_ changes: [Update.Change]) -> [(String, [Update.Change])] {
        var order: [String] = []
        var byField: [String: [Update.Change]] = [:]
        for change in changes {
            if byField[change.path.field] == nil { order.append(change.path.field) }
            byField[change.path.field, default: []].append(change)
        }
        return order.map { ($0, byField[$0] ?? []) }
    }

    /// What a field has before the write.
    private enum Before {
        /// Nothing: the object is being made.
        case new(SQL)
        case existing(SQL)
    }

    /// Changes within one object: each nests the statement one level deeper, and PostgreSQL reads no more than some
    /// thousands.
    private static let maximumWithin = 1000

    /// The expression of a field's new value, from the expression of the old one; nil for no change.
    private func assignment(
        of changes: [Update.Change], to before: Before, _ type: FieldType, _ answered: inout [Answered]
    ) throws(ParseError) -> SQL? {
        guard changes.count <= Self.maximumWithin else {
            throw ParseError(105, "An update can change at most \(Self.maximumWithin) values within an object.")
        }
        var value: SQL
        let creating: Bool
        switch before {
        case .new(let nothing): (value, creating) = (nothing, true)
        case .existing(let column): (value, creating) = (column, false)
        }
        // What a change within an object reads no other change of the update touches, so that it is read from the value
        // before all of them: each would double the statement else.
        var read = value
        var anything = false
        for change in changes {
            let path = change.path.rest
            var operation = change.operation
            if case .setOnInsert(let given) = operation {
                guard creating else { continue }
                operation = .set(given)
            }
            let next =
                path.isEmpty
                ? try whole(operation, value, type, change.path.field)
                : nested(operation, in: value, reading: read, path)
            guard let next else { continue }
            value = next
            if path.isEmpty { read = next }
            anything = true
            switch operation {
            case .increment, .add, .addUnique, .remove:
                answered.append(Answered(field: change.path.field, rest: path, type: type))
            default: break
            }
        }
        return anything ? value : nil
    }

    private func whole(
        _ operation: Update.Operation, _ old: SQL, _ type: FieldType, _ field: String
    ) throws(ParseError) -> SQL? {
        switch operation {
        case .set(.null), .delete: return "NULL"
        case .set(let value), .setOnInsert(let value): return try literal(value, type, field)
        case .increment(let amount): return "coalesce(\(old), 0) + \(SQL.number(amount))"
        case .add(let elements): return "coalesce(\(old), '[]'::jsonb) || \(SQL.json(.array(elements)))"
        case .addUnique(let elements): return "hermes_add_unique(\(old), \(SQL.json(.array(elements))))"
        case .remove(let elements): return "hermes_remove(\(old), \(SQL.json(.array(elements))))"
        case .relation: return nil
        }
    }

    private func nested(
        _ operation: Update.Operation, in document: SQL, reading read: SQL, _ path: [String]
    ) -> SQL? {
        let at = SQL.texts(path)
        let list: SQL = "hermes_list(\(read), \(at))"
        let value: SQL
        switch operation {
        case .set(let new), .setOnInsert(let new): value = .json(new.json)
        case .delete: return "hermes_unset(\(document), \(at))"
        case .increment(let amount): value = "to_jsonb(hermes_number(\(read), \(at)) + \(SQL.number(amount)))"
        case .add(let elements): value = "\(list) || \(SQL.json(.array(elements)))"
        case .addUnique(let elements): value = "hermes_add_unique(\(list), \(SQL.json(.array(elements))))"
        case .remove(let elements): value = "hermes_remove(\(list), \(SQL.json(.array(elements))))"
        case .relation: return nil
        }
        return "hermes_set(\(document), \(at), \(value))"
    }

    private func literal(_ value: Value, _ type: FieldType, _ field: String) throws(ParseError) -> SQL {
        switch (type, value) {
        case (.string, .string(let string)): return .text(string)
        case (.number, .number(let number)): return .number(number)
        case (.boolean, .bool(let bool)): return .bind(.bool(bool), "boolean")
        case (.date, .date(let date)): return .date(date)
        case (.object, .object), (.array, .array): return .json(value.json)
        case (.geoPoint, .geoPoint(let point)): return GeoSQL.point(point)
        case (.polygon, .polygon(let points)): return GeoSQL.polygon(points)
        case (.file, .file(let file)): return .text(file.name)
        case (.bytes, .bytes(let bytes)): return .bind(.bytes(bytes), "bytea")
        case (.pointer, .pointer(let pointer)): return .text(pointer.objectId)
        default:
            throw ParseError(111, "schema mismatch for \(table.name).\(field); expected \(type)")
        }
    }
}

extension FieldType {
    /// The column's type without its collation, for casts; nil where there is no column.
    var sqlType: StaticString? {
        switch self {
        case .string, .file, .pointer: "text"
        case .number: "double precision"
        case .boolean: "boolean"
        case .date: "timestamptz"
        case .object, .array: "jsonb"
        case .geoPoint: "point"
        case .polygon: "polygon"
        case .bytes: "bytea"
        case .relation, .acl: nil
        }
    }
}
