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
    let sql = SQLContext()
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
    }

    private static let now = "date_trunc('milliseconds', now())"

    func insert(
        objectId: String, _ changes: [Update.Change], acl: ACL?, createdAt: Timestamp?, updatedAt: Timestamp?,
        server: [ServerColumn]
    ) throws(ParseError) -> Plan {
        let created = createdAt.map { timestamp($0) } ?? WriteSQL.now
        let updated = updatedAt.map { timestamp($0) } ?? created
        var columns = ["\"objectId\"", "\"createdAt\"", "\"updatedAt\"", "\"_rperm\"", "\"_wperm\""]
        var values = [sql.text(objectId), created, updated] + rights(acl)
        var answered: [Answered] = []
        for (field, changes) in grouped(changes) {
            guard let type = table.fields[field]?.type, type.columnType != nil else { continue }
            guard let value = try assignment(of: changes, to: "NULL::\(type.plainColumnType)", type, &answered) else {
                continue
            }
            columns.append(quoted(field))
            values.append(value)
        }
        for column in server {
            columns.append(quoted(column.name))
            values.append(sql.bind(column.parameter, column.type))
        }
        let text =
            "INSERT INTO \(quoted(table.name)) (\(columns.joined(separator: ", "))) "
            + "VALUES (\(values.joined(separator: ", "))) RETURNING \(returning(answered, alias: nil))"
        return Plan(statement: Statement(text), parameters: sql.parameters, answered: answered)
    }

    func update(
        objectId: String, _ changes: [Update.Change], acl: ACLChange?, updatedAt: Timestamp?, access: Access,
        rows: [Access.Rows], server: [ServerColumn]
    ) throws(ParseError) -> Plan {
        let target = TableReference(schema: table, alias: "t")
        var assignments = ["\"updatedAt\" = \(updatedAt.map { timestamp($0) } ?? WriteSQL.now)"]
        var answered: [Answered] = []
        switch acl {
        case nil: break
        case .delete: assignments += ["\"_rperm\" = NULL", "\"_wperm\" = NULL"]
        case .set(let acl):
            let rights = rights(acl)
            assignments += ["\"_rperm\" = \(rights[0])", "\"_wperm\" = \(rights[1])"]
        }
        for (field, changes) in grouped(changes) {
            guard let type = table.fields[field]?.type, type.columnType != nil else { continue }
            guard let value = try assignment(of: changes, to: target.column(field), type, &answered) else { continue }
            assignments.append("\(quoted(field)) = \(value)")
        }
        for column in server {
            assignments.append("\(quoted(column.name)) = \(sql.bind(column.parameter, column.type))")
        }
        let text =
            "UPDATE \(quoted(table.name)) t SET \(assignments.joined(separator: ", ")) "
            + "WHERE \(target.column("objectId")) = \(sql.text(objectId))"
            + conditions(access, rows, on: target) + " RETURNING \(returning(answered, alias: "t"))"
        return Plan(statement: Statement(text), parameters: sql.parameters, answered: answered)
    }

    func delete(objectId: String, access: Access, rows: Access.Rows) -> Plan {
        let target = TableReference(schema: table, alias: "t")
        let text =
            "DELETE FROM \(quoted(table.name)) t WHERE \(target.column("objectId")) = \(sql.text(objectId))"
            + conditions(access, [rows], on: target) + " RETURNING t.\"createdAt\", t.\"updatedAt\""
        return Plan(statement: Statement(text), parameters: sql.parameters, answered: [])
    }

    private func conditions(_ access: Access, _ rows: [Access.Rows], on target: TableReference) -> String {
        rows.compactMap { access.condition(.write, $0, on: target, sql) }.map { " AND \($0)" }.joined()
    }

    private func timestamp(_ timestamp: Timestamp) -> String {
        sql.bind(.timestamp(milliseconds: timestamp.milliseconds), "timestamptz")
    }

    private func rights(_ acl: ACL?) -> [String] {
        guard let acl else { return ["NULL", "NULL"] }
        return [
            sql.texts(acl.entries.filter(\.read).map(\.principal)),
            sql.texts(acl.entries.filter(\.write).map(\.principal)),
        ]
    }

    private func returning(_ answered: [Answered], alias: String?) -> String {
        (["createdAt", "updatedAt"] + answered.map(\.field)).map { (alias.map { "\($0)." } ?? "") + quoted($0) }
            .joined(separator: ", ")
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

    /// The expression of a field's new value, from the expression of the old one; nil for no change.
    private func assignment(
        of changes: [Update.Change], to column: String, _ type: FieldType, _ answered: inout [Answered]
    ) throws(ParseError) -> String? {
        var value = column
        var anything = false
        for change in changes {
            let path = change.path.rest
            if !path.isEmpty {
                guard let next = nested(change.operation, in: value, path) else { continue }
                value = next
            } else {
                guard let next = try whole(change.operation, value, type, change.path.field) else { continue }
                value = next
            }
            anything = true
            switch change.operation {
            case .increment, .add, .addUnique, .remove:
                answered.append(Answered(field: change.path.field, rest: path, type: type))
            default: break
            }
        }
        return anything ? value : nil
    }

    private func whole(
        _ operation: Update.Operation, _ old: String, _ type: FieldType, _ field: String
    ) throws(ParseError) -> String? {
        switch operation {
        case .set(.null), .delete, .setOnInsert(.null): return "NULL"
        case .set(let value): return try literal(value, type, field)
        case .setOnInsert(let value): return old.hasPrefix("NULL::") ? try literal(value, type, field) : nil
        case .increment(let amount): return "coalesce(\(old), 0) + \(sql.number(amount))"
        case .add(let elements): return "coalesce(\(old), '[]'::jsonb) || \(jsonb(.array(elements)))"
        case .addUnique(let elements): return "hermes_add_unique(\(old), \(jsonb(.array(elements))))"
        case .remove(let elements): return "hermes_remove(\(old), \(jsonb(.array(elements))))"
        case .relation: return nil
        }
    }

    private func nested(_ operation: Update.Operation, in document: String, _ path: [String]) -> String? {
        let at = sql.texts(path)
        switch operation {
        case .set(let value): return "hermes_set(\(document), \(at), \(jsonb(value.json)))"
        case .delete: return "coalesce(\(document), '{}'::jsonb) #- \(at)"
        case .increment(let amount):
            return "hermes_set(\(document), \(at), to_jsonb(hermes_number(\(document), \(at)) + \(sql.number(amount))))"
        case .add(let elements):
            return "hermes_set(\(document), \(at), hermes_list(\(document), \(at)) || \(jsonb(.array(elements))))"
        case .addUnique(let elements):
            return
                "hermes_set(\(document), \(at), hermes_add_unique(hermes_list(\(document), \(at)), \(jsonb(.array(elements)))))"
        case .remove(let elements):
            return
                "hermes_set(\(document), \(at), hermes_remove(hermes_list(\(document), \(at)), \(jsonb(.array(elements)))))"
        case .setOnInsert(let value):
            return document.hasPrefix("NULL::") ? "hermes_set(\(document), \(at), \(jsonb(value.json)))" : nil
        case .relation: return nil
        }
    }

    private func jsonb(_ json: JSON) -> String { sql.bind(.utf8(json.bytes), "jsonb") }

    private func literal(_ value: Value, _ type: FieldType, _ field: String) throws(ParseError) -> String {
        switch (type, value) {
        case (.string, .string(let string)): return sql.text(string)
        case (.number, .number(let number)): return sql.number(number)
        case (.boolean, .bool(let bool)): return sql.bind(.bool(bool), "boolean")
        case (.date, .date(let date)): return timestamp(date)
        case (.object, .object), (.array, .array): return jsonb(value.json)
        case (.geoPoint, .geoPoint(let point)): return GeoSQL(sql: sql).point(point)
        case (.polygon, .polygon(let points)): return GeoSQL(sql: sql).polygon(points)
        case (.file, .file(let file)): return sql.text(file.name)
        case (.bytes, .bytes(let bytes)): return sql.bind(.bytes(bytes), "bytea")
        case (.pointer, .pointer(let pointer)): return sql.text(pointer.objectId)
        default:
            throw ParseError(111, "schema mismatch for \(table.name).\(field); expected \(type)")
        }
    }
}

extension FieldType {
    /// The column's type without its collation, for casts.
    var plainColumnType: String {
        switch self {
        case .string, .file, .pointer: "text"
        default: columnType ?? "text"
        }
    }
}
