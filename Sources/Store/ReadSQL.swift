import Postgres
import Schema
import Wire

/// Builds the statements that read objects: pure, from a query, a viewer and the schema.
struct ReadSQL {
    let sql = SQLContext()
    let schema: SchemaSnapshot
    let access: Access
    let options: StoreOptions

    struct Plan {
        var statement: Statement
        var parameters: [Parameter]
        var columns: [ResultSet.Column]
        var relations: [(label: [UInt8], target: String)]
    }

    private var predicates: PredicateSQL {
        PredicateSQL(
            sql: sql, access: access, schema: schema,
            subqueryLimit: access.viewer.isAboveAccess ? nil : options.subqueryLimit)
    }

    /// The rows that a query asks for.
    func find(
        _ table: ClassSchema, _ query: Query, selection: FieldSelection, rows: Access.Rows, limit: Int?
    ) throws(ParseError) -> Plan {
        let table = access.table(table, sql.alias())
        let (columns, expressions) = select(selection, of: table)
        var text = "SELECT \(expressions) FROM \(quoted(table.schema.name)) \(table.alias)"
        text += try conditions(query.predicate, on: table, rows)
        text += try OrderSQL(sql: sql).clause(
            query.order, on: table, alwaysOrdered: query.skip > 0,
            relevance: { () throws(ParseError) in try relevance(query.predicate, of: table) },
            near: { () throws(ParseError) in try nearest(query.predicate, of: table) })
        if let limit { text += " LIMIT \(sql.bind(.int(Int64(limit)), "bigint"))" }
        if query.skip > 0 { text += " OFFSET \(sql.bind(.int(Int64(query.skip)), "bigint"))" }
        return Plan(
            statement: Statement(text), parameters: sql.parameters, columns: columns, relations: relations(table.schema)
        )
    }

    /// One object by its id, or several.
    func get(
        _ table: ClassSchema, ids: [String], selection: FieldSelection, rows: Access.Rows
    ) -> Plan {
        let table = access.table(table, sql.alias())
        let (columns, expressions) = select(selection, of: table)
        let id = table.column("objectId")
        var text = "SELECT \(expressions) FROM \(quoted(table.schema.name)) \(table.alias) WHERE "
        text += ids.count == 1 ? "\(id) = \(sql.text(ids[0]))" : "\(id) = ANY(\(sql.texts(ids)))"
        if let readable = access.condition(.read, rows, on: table, sql) { text += " AND \(readable)" }
        return Plan(
            statement: Statement(text), parameters: sql.parameters, columns: columns, relations: relations(table.schema)
        )
    }

    func count(_ table: ClassSchema, _ predicate: Predicate, rows: Access.Rows) throws(ParseError) -> Plan {
        let table = access.table(table, sql.alias())
        let text =
            "SELECT count(*) FROM \(quoted(table.schema.name)) \(table.alias)"
            + (try conditions(predicate, on: table, rows))
        return Plan(statement: Statement(text), parameters: sql.parameters, columns: [], relations: [])
    }

    /// The values of one field; nil where the class has no such field.
    func distinct(
        _ table: ClassSchema, _ path: FieldPath, _ predicate: Predicate, rows: Access.Rows
    ) throws(ParseError) -> Plan? {
        let table = access.table(table, sql.alias())
        var from = "\(quoted(table.schema.name)) \(table.alias)"
        let expression: String
        let type: FieldType
        switch Operand(path, of: table, sql) {
        case .missing, .relation: return nil
        case .column(let column, .array):
            from += " CROSS JOIN LATERAL jsonb_array_elements(\(column)) AS e (element)"
            (expression, type) = ("element", .object)
        case .json(let json): (expression, type) = (json, .object)
        case .column(let column, .geoPoint), .column(let column, .polygon):
            // Geometric types have no order to be distinct by.
            (expression, type) = ("\(column)::text", .string)
        case .column(let column, let columnType): (expression, type) = (column, columnType)
        }
        let text =
            "SELECT DISTINCT \(expression) FROM \(from)" + (try conditions(predicate, on: table, rows))
            + (predicate == .always && access.viewer.isAboveAccess ? " WHERE " : " AND ") + "\(expression) IS NOT NULL"
        return Plan(
            statement: Statement(text), parameters: sql.parameters,
            columns: [ResultSet.Column(name: path.field, type: type, index: 0)], relations: [])
    }

    private func conditions(_ predicate: Predicate, on table: TableReference, _ rows: Access.Rows) throws(ParseError)
        -> String
    {
        var conditions: [String] = []
        if predicate != .always { conditions.append(try predicates.condition(predicate, on: table)) }
        if let readable = access.condition(.read, rows, on: table, sql) { conditions.append(readable) }
        return conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    private func select(_ selection: FieldSelection, of table: TableReference) -> ([ResultSet.Column], String) {
        let alias = table.alias
        var text = ""
        text.reserveCapacity(96 + 24 * table.schema.columns.count)
        text += "\(alias).\"objectId\", \(alias).\"createdAt\", \(alias).\"updatedAt\", "
        text += "\(alias).\"_rperm\", \(alias).\"_wperm\""
        var columns: [ResultSet.Column] = []
        columns.reserveCapacity(table.schema.columns.count)
        let protected = access.protectedFields(of: table.schema)
        // Most classes hide nothing: this is built for every read.
        let hidesNothing = protected.isEmpty && table.schema.name != "_User"
        for column in table.schema.columns where selection.shows(column.name) {
            if hidesNothing {
                text += ", "
                text += alias
                text += "."
                text += column.identifier
            } else {
                guard
                    let expression = access.readable(
                        column.name, protected, of: table, ownRowsShowAll: options.ownersSeeProtectedFields, sql)
                else { continue }
                text += ", \(expression)"
            }
            columns.append(ResultSet.Column(column, index: ResultSet.firstColumn + columns.count))
        }
        if access.viewer.key == .maintenance, table.schema.name == "_User" {
            for (name, type) in DefaultFields.hiddenUserFields {
                columns.append(
                    ResultSet.Column(name: name, type: type, index: ResultSet.firstColumn + columns.count))
                text += ", \(table.column(name))"
            }
        }
        return (columns, text)
    }

    private func relations(_ schema: ClassSchema) -> [(label: [UInt8], target: String)] {
        let protected = access.protectedFields(of: schema).any
        return schema.relations.filter { !protected.contains($0.name) }.map { ($0.label, $0.target) }
    }

    /// `$nearSphere` sorts by distance where the query asks for no other order.
    private func nearest(_ predicate: Predicate, of table: TableReference) throws(ParseError) -> String? {
        switch predicate {
        case .and(let parts):
            for part in parts { if let found = try nearest(part, of: table) { return found } }
            return nil
        case .field(let path, .nearSphere(let centre, _)):
            guard !path.isDotted, case .column(let column, .geoPoint) = Operand(path, of: table, sql) else {
                return nil
            }
            return GeoSQL(sql: sql).distance(column, centre)
        default: return nil
        }
    }

    /// The relevance of a row to the first `$text`, best first.
    private func relevance(_ predicate: Predicate, of table: TableReference) throws(ParseError) -> String? {
        switch predicate {
        case .and(let parts):
            for part in parts { if let found = try relevance(part, of: table) { return found } }
            return nil
        case .field(let path, .text(let search)):
            guard !path.isDotted, case .column(_, .string) = Operand(path, of: table, sql) else { return nil }
            return try TextSearchSQL(search).score(Operand(path, of: table, sql), sql) + " DESC"
        default: return nil
        }
    }
}
