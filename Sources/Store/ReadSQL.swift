import Postgres
import Schema
import Wire

/// Builds the statements that read objects: pure, from a query, a viewer and the schema.
struct ReadSQL {
    let aliases = Aliases()
    let schema: SchemaSnapshot
    let access: Access
    let options: StoreOptions

    struct Plan {
        let statement: Statement
        private(set) var parameters: [Parameter]
        let columns: [ResultSet.Column]
        let relations: [(label: [UInt8], target: String)]
        /// What tells where the next page begins; nil where nobody asks.
        let cursor: PageCursor?

        init(
            _ sql: SQL, columns: [ResultSet.Column] = [], relations: [(label: [UInt8], target: String)] = [],
            cursor: PageCursor? = nil
        ) {
            (statement, parameters) = sql.rendered()
            self.columns = columns
            self.relations = relations
            self.cursor = cursor
        }

        /// The same statement with other values.
        func with(_ parameters: [Parameter]) -> Plan {
            var plan = self
            plan.parameters = parameters
            return plan
        }
    }

    private var predicates: PredicateSQL {
        PredicateSQL(
            aliases: aliases, access: access, schema: schema,
            subqueryLimit: access.viewer.isAboveAccess ? nil : options.subqueryLimit)
    }

    /// The rows that a query asks for.
    func find(
        _ table: ClassSchema, _ query: Query, selection: FieldSelection, rows: Access.Rows, limit: Int?
    ) throws(ParseError) -> Plan {
        let table = access.table(table, aliases.next())
        var (columns, expressions) = select(selection, of: table)
        if selection.keys?.contains("$score") == true, let relevance = try relevance(query.predicate, of: table) {
            expressions += ", \(relevance)::double precision"
            columns.append(
                ResultSet.Column(name: "score", type: .number, index: ResultSet.firstColumn + columns.count))
        }
        var cursor: PageCursor?
        var behind = Condition.always
        if let text = query.cursor {
            let made = try PageCursor(query, on: table)
            behind = try made.condition(text)
            expressions += made.expressions
            cursor = made
        }
        var sql: SQL =
            "SELECT \(expressions) FROM \(table.source)\(try conditions(query.predicate, on: table, rows, behind))"
        // One object needs no order.
        if cursor != nil || !query.predicate.asksForOneId {
            sql += try OrderSQL().clause(
                query.order, on: table,
                relevance: { () throws(ParseError) in try relevance(query.predicate, of: table) },
                near: { () throws(ParseError) in nearest(query.predicate, of: table) })
        }
        // One more tells whether there is a next page.
        sql += Page(limit: cursor == nil ? limit : limit.map { $0 + 1 }, skip: query.skip).sql
        return Plan(sql, columns: columns, relations: relations(table.schema), cursor: cursor)
    }

    /// One object by its id, or several.
    func get(
        _ table: ClassSchema, ids: [String], selection: FieldSelection, rows: Access.Rows
    ) -> Plan {
        let table = access.table(table, aliases.next())
        let (columns, expressions) = select(selection, of: table)
        let id = table.column("objectId")
        let mayRead = access.condition(.read, rows, on: table)
        var sql: SQL = "SELECT \(expressions) FROM "
        if ids.count == 1 {
            sql += "\(table.source)\(Condition.clause([.when("\(id) = \(SQL.text(ids[0]))"), mayRead]))"
        } else {
            // Each by the index. PostgreSQL takes a comparison for cheaper than it is: of a table of some hundred rows
            // it would compare every row with every id.
            let one: SQL =
                "SELECT * FROM \(table.source)\(Condition.clause([.when("\(id) = wanted.id"), mayRead])) LIMIT 1"
            sql += "unnest(\(SQL.texts(ids))) AS wanted (id) CROSS JOIN LATERAL (\(one)) AS \(table.alias)"
        }
        return Plan(sql, columns: columns, relations: relations(table.schema))
    }

    func count(_ table: ClassSchema, _ predicate: Predicate, rows: Access.Rows) throws(ParseError) -> Plan {
        let table = access.table(table, aliases.next())
        return Plan("SELECT count(*) FROM \(table.source)\(try conditions(predicate, on: table, rows))")
    }

    /// The values of one field; nil where the class has no such field.
    func distinct(
        _ table: ClassSchema, _ path: FieldPath, _ predicate: Predicate, rows: Access.Rows
    ) throws(ParseError) -> Plan? {
        let table = access.table(table, aliases.next())
        var source = table.source
        let expression: SQL
        let type: FieldType
        switch Operand(path, of: table) {
        case .missing, .relation: return nil
        case .column(let column, .array):
            source += " CROSS JOIN LATERAL jsonb_array_elements(\(column)) AS e (element)"
            (expression, type) = ("element", .object)
        case .json(let json): (expression, type) = (json, .object)
        case .column(let column, .geoPoint), .column(let column, .polygon):
            // Geometric types have no order to be distinct by.
            (expression, type) = ("\(column)::text", .string)
        case .column(let column, let columnType): (expression, type) = (column, columnType)
        }
        let conditions = try conditions(predicate, on: table, rows, .when("\(expression) IS NOT NULL"))
        return Plan(
            "SELECT DISTINCT \(expression) FROM \(source)\(conditions)",
            columns: [ResultSet.Column(name: path.field, type: type, index: 0)])
    }

    private func conditions(
        _ predicate: Predicate, on table: TableReference, _ rows: Access.Rows, _ more: Condition = .always
    ) throws(ParseError) -> SQL {
        Condition.clause([
            try predicates.condition(predicate, on: table), access.condition(.read, rows, on: table), more,
        ])
    }

    private func select(_ selection: FieldSelection, of table: TableReference) -> ([ResultSet.Column], SQL) {
        let alias = table.alias
        var sql: SQL =
            """
            \(alias)."objectId", \(alias)."createdAt", \(alias)."updatedAt", \(alias)."_rperm", \(alias)."_wperm"
            """
        var columns: [ResultSet.Column] = []
        columns.reserveCapacity(table.schema.columns.count)
        let protected = access.protectedFields(of: table.schema)
        // Most classes hide nothing: this is built for every read.
        let hidesNothing = protected.isEmpty && table.schema.name != "_User"
        for column in table.schema.columns where selection.shows(column.name) {
            if hidesNothing {
                sql += ", \(alias).\(column: column)"
            } else {
                guard
                    let expression = access.readable(
                        column.name, protected, of: table, ownRowsShowAll: options.ownersSeeProtectedFields)
                else { continue }
                sql += ", \(expression)"
            }
            columns.append(ResultSet.Column(column, index: ResultSet.firstColumn + columns.count))
        }
        for field in readerFields(of: table.schema) where selection.shows(field.name) {
            sql += ", \(number(field, of: table))"
            columns.append(
                ResultSet.Column(name: field.name, type: .number, index: ResultSet.firstColumn + columns.count))
        }
        if access.viewer.key == .maintenance, table.schema.name == "_User" {
            for (name, type) in DefaultFields.hiddenUserFields {
                columns.append(
                    ResultSet.Column(name: name, type: type, index: ResultSet.firstColumn + columns.count))
                sql += ", \(table.column(name))"
            }
        }
        return (columns, sql)
    }

    // MARK: what is the reader's own

    private func readerFields(of schema: ClassSchema) -> [ReaderField] {
        guard let fields = options.readerFields[schema.name], access.viewer.userId != nil else { return [] }
        return fields.filter { field in
            let numbers = self.schema[field.className]
            return [field.reader, field.object, field.number].allSatisfy { numbers?.fields[$0] != nil }
                && field.total.map { schema.fields[$0] != nil } ?? true
                && field.roles.contains(where: access.viewer.roles.contains)
        }
    }

    private func number(_ field: ReaderField, of table: TableReference) -> SQL {
        let alias = aliases.next()
        let number: SQL = """
            coalesce((SELECT \(alias).\(name: field.number) FROM \(name: field.className) \(alias) \
            WHERE \(alias).\(name: field.reader) = \(SQL.text(access.viewer.userId ?? "")) \
            AND \(alias).\(name: field.object) = \(table.column("objectId")) LIMIT 1), 0)
            """
        guard let total = field.total else { return number }
        return "greatest(coalesce(\(table.column(total)), 0) - \(number), 0)"
    }

    private func relations(_ schema: ClassSchema) -> [(label: [UInt8], target: String)] {
        let protected = access.protectedFields(of: schema).any
        return schema.relations.filter { !protected.contains($0.name) }.map { ($0.label, $0.target) }
    }

    /// `$nearSphere` sorts by distance where the query asks for no other order.
    private func nearest(_ predicate: Predicate, of table: TableReference) -> SQL? {
        switch predicate {
        case .and(let parts):
            for part in parts { if let found = nearest(part, of: table) { return found } }
            return nil
        case .field(let path, .nearSphere(let centre, _)):
            guard case .column(let column, .geoPoint) = Operand(path, of: table) else { return nil }
            return GeoSQL.distance(column, centre)
        default: return nil
        }
    }

    /// The relevance of a row to the first `$text`, best first.
    private func relevance(_ predicate: Predicate, of table: TableReference) throws(ParseError) -> SQL? {
        switch predicate {
        case .and(let parts):
            for part in parts { if let found = try relevance(part, of: table) { return found } }
            return nil
        case .field(let path, .text(let search)):
            guard case .column(let column, .string) = Operand(path, of: table) else { return nil }
            return try TextSearchSQL(search, of: path.field, table.schema).score(column)
        default: return nil
        }
    }
}

extension Predicate {
    /// Whether it is satisfied by the object of one id alone, and asks for nothing else.
    var asksForOneId: Bool {
        switch self {
        case .and(let parts): parts.count == 1 && parts[0].asksForOneId
        case .field(let path, .equal(.string)): path == FieldPath(field: "objectId")
        default: false
        }
    }
}
