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

    /// A field whose new value the answer tells.
    struct Answered {
        let field: String
        /// Keys within the field, each told alone; empty for the whole field.
        let rest: [String]
        let type: FieldType
    }

    struct Plan {
        let statement: Statement
        let parameters: [Parameter]
        /// In the order of the returned columns, after the first two (createdAt, updatedAt).
        let answered: [Answered]

        init(_ sql: SQL, answered: [Answered] = []) {
            (statement, parameters) = sql.rendered()
            self.answered = answered
        }
    }

    private static let now: SQL = "date_trunc('milliseconds', now())"

    func insert(
        objectId: String, _ changes: [Update.Change], acl: ACL?, createdAt: Timestamp?, updatedAt: Timestamp?,
        server: [ServerColumn]
    ) throws(ParseError) -> Plan {
        let created = createdAt.map { SQL.date($0) } ?? WriteSQL.now
        let updated = updatedAt.map { SQL.date($0) } ?? created
        let rights = rights(acl)
        var columns: [SQL] = ["\"objectId\"", "\"createdAt\"", "\"updatedAt\"", "\"_rperm\"", "\"_wperm\""]
        var values: [SQL] = [.text(objectId), created, updated, rights.read, rights.write]
        var answered: [Answered] = []
        for (field, changes) in grouped(changes) {
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
        return Plan(
            """
            INSERT INTO \(name: table.name) (\(columns)) VALUES (\(values)) \
            RETURNING "createdAt", "updatedAt"\(returned(answered) { "\(name: $0)" })
            """, answered: answered)
    }

    func update(
        objectId: String, _ changes: [Update.Change], acl: ACLChange?, updatedAt: Timestamp?, access: Access,
        rows: [Access.Rows], server: [ServerColumn]
    ) throws(ParseError) -> Plan {
        let target = access.table(table, "t")
        var assignments: [SQL] = ["\"updatedAt\" = \(updatedAt.map { SQL.date($0) } ?? WriteSQL.now)"]
        var answered: [Answered] = []
        switch acl {
        case nil: break
        case .delete: assignments += ["\"_rperm\" = NULL", "\"_wperm\" = NULL"]
        case .set(let acl):
            let rights = rights(acl)
            assignments += ["\"_rperm\" = \(rights.read)", "\"_wperm\" = \(rights.write)"]
        }
        for (field, changes) in grouped(changes) {
            guard let type = table.fields[field]?.type, type.sqlType != nil else { continue }
            guard let value = try assignment(of: changes, to: .existing(target.column(field)), type, &answered) else {
                continue
            }
            assignments.append("\(name: field) = \(value)")
        }
        for column in server {
            assignments.append("\(name: column.name) = \(SQL.bind(column.parameter, column.type))")
        }
        return Plan(
            """
            UPDATE \(target.source) SET \(assignments)\(whereWritable(objectId, target, access, rows)) \
            RETURNING t."createdAt", t."updatedAt"\(returned(answered) { target.column($0) })
            """, answered: answered)
    }

    func delete(objectId: String, access: Access, rows: Access.Rows) -> Plan {
        let target = access.table(table, "t")
        return Plan(
            """
            DELETE FROM \(target.source)\(whereWritable(objectId, target, access, [rows])) \
            RETURNING t."createdAt", t."updatedAt"
            """)
    }

    /// Finds one row where the viewer may change the object, none else.
    func look(objectId: String, access: Access, rows: [Access.Rows]) -> Plan {
        let target = access.table(table, "t")
        return Plan("SELECT FROM \(target.source)\(whereWritable(objectId, target, access, rows))")
    }

    private func whereWritable(
        _ objectId: String, _ target: TableReference, _ access: Access, _ rows: [Access.Rows]
    ) -> SQL {
        Condition.clause(
            [.when("\(target.column("objectId")) = \(SQL.text(objectId))")]
                + rows.map { access.condition(.write, $0, on: target) })
    }

    private func rights(_ acl: ACL?) -> (read: SQL, write: SQL) {
        guard let acl else { return ("NULL", "NULL") }
        return (
            .texts(acl.entries.filter(\.read).map(\.principal)), .texts(acl.entries.filter(\.write).map(\.principal))
        )
    }

    private func returned(_ answered: [Answered], _ column: (String) -> SQL) -> SQL {
        var sql: SQL = ""
        for answer in answered { sql += ", \(column(answer.field))" }
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

    /// The expression of a field's new value, from the expression of the old one; nil for no change.
    private func assignment(
        of changes: [Update.Change], to before: Before, _ type: FieldType, _ answered: inout [Answered]
    ) throws(ParseError) -> SQL? {
        var value: SQL
        let creating: Bool
        switch before {
        case .new(let nothing): (value, creating) = (nothing, true)
        case .existing(let column): (value, creating) = (column, false)
        }
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
                ? try whole(operation, value, type, change.path.field) : nested(operation, in: value, path)
            guard let next else { continue }
            value = next
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

    private func nested(_ operation: Update.Operation, in document: SQL, _ path: [String]) -> SQL? {
        let at = SQL.texts(path)
        let list: SQL = "hermes_list(\(document), \(at))"
        let value: SQL
        switch operation {
        case .set(let new), .setOnInsert(let new): value = .json(new.json)
        case .delete: return "coalesce(\(document), '{}'::jsonb) #- \(at)"
        case .increment(let amount): value = "to_jsonb(hermes_number(\(document), \(at)) + \(SQL.number(amount)))"
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
