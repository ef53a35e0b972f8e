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
        /// The objects that stand in the same rows.
        let joined: [Joined]
        /// What tells where the next page begins; nil where nobody asks.
        let cursor: PageCursor?

        init(
            _ sql: SQL, columns: [ResultSet.Column] = [], relations: [(label: [UInt8], target: String)] = [],
            joined: [Joined] = [], cursor: PageCursor? = nil
        ) {
            (statement, parameters) = sql.rendered()
            self.columns = columns
            self.relations = relations
            self.joined = joined
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
        _ table: ClassSchema, _ query: Query, selection: FieldSelection, rows: Access.Rows, limit: Int?,
        joins: [Join] = []
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
        // One object needs no order.
        let order =
            cursor == nil && query.predicate.asksForOneId
            ? OrderSQL()
            : try OrderSQL(
                query.order, on: table,
                relevance: { () throws(ParseError) in try relevance(query.predicate, of: table) },
                near: { () throws(ParseError) in nearest(query.predicate, of: table) })
        // One more tells whether there is a next page.
        let page = Page(limit: cursor == nil ? limit : limit.map { $0 + 1 }, skip: query.skip)
        let source: SQL = """
            \(table.source)\(try conditions(query.predicate, on: table, rows, behind))\(order.clause)\(page.sql)
            """
        let (sql, joined) = joining(
            joins, columns, expressions, width: ResultSet.firstColumn + columns.count + (cursor?.width ?? 0),
            from: source, order)
        return Plan(sql, columns: columns, relations: relations(table.schema), joined: joined, cursor: cursor)
    }

    /// One object by its id.
    func get(
        _ table: ClassSchema, id: String, selection: FieldSelection, rows: Access.Rows, joins: [Join] = []
    ) -> Plan {
        let table = access.table(table, aliases.next())
        let (columns, expressions) = select(selection, of: table)
        let conditions = Condition.clause([
            .when("\(table.column("objectId")) = \(SQL.text(id))"), access.condition(.read, rows, on: table),
        ])
        let (sql, joined) = joining(
            joins, columns, expressions, width: ResultSet.firstColumn + columns.count,
            from: "\(table.source)\(conditions)", OrderSQL())
        return Plan(sql, columns: columns, relations: relations(table.schema), joined: joined)
    }

    /// Several objects by their ids.
    func get(
        _ table: ClassSchema, ids: [String], selection: FieldSelection, rows: Access.Rows
    ) -> Plan {
        if ids.count == 1 { return get(table, id: ids[0], selection: selection, rows: rows) }
        let table = access.table(table, aliases.next())
        let (columns, expressions) = select(selection, of: table)
        let one = one(table, "wanted.id", rows)
        return Plan(
            "SELECT \(expressions) FROM unnest(\(SQL.texts(ids))) AS wanted (id) CROSS JOIN LATERAL \(one)",
            columns: columns, relations: relations(table.schema))
    }

    /// The object of an id that stands in another row, as it stands behind LATERAL.
    ///
    /// LIMIT lets PostgreSQL look each up by the index. It takes a comparison for cheaper than it is: of a table of some
    /// hundred rows it would compare every row with every id.
    private func one(_ table: TableReference, _ id: SQL, _ rows: Access.Rows) -> SQL {
        let conditions = Condition.clause([
            .when("\(table.column("objectId")) = \(id)"), access.condition(.read, rows, on: table),
        ])
        return "(SELECT * FROM \(table.source)\(conditions) LIMIT 1) AS \(table.alias)"
    }

    // MARK: joined objects

    /// A field whose pointer's object is to come in the row itself.
    struct Join {
        let field: String
        let target: ClassSchema
        /// What the viewer may get of the target's objects.
        let rows: Access.Rows
        let selection: FieldSelection
    }

    /// Where the objects of a join stand.
    struct Joined {
        let field: String
        let className: String
        let columns: [ResultSet.Column]
        let relations: [(label: [UInt8], target: String)]
        /// Where their objectId stands; it is NULL where the pointer leads to nothing that the viewer may get.
        let first: Int
    }

    /// `SELECT expressions FROM source`, and behind each row the objects that its pointers lead to, if they are to be
    /// joined: the page is complete before any of them is looked up, and keeps its order.
    ///
    /// A pointer that the viewer does not see is not followed: what is followed is the column as it is shown.
    private func joining(
        _ joins: [Join], _ columns: [ResultSet.Column], _ expressions: SQL, width: Int, from source: SQL,
        _ order: OrderSQL
    ) -> (SQL, [Joined]) {
        let shown = joins.compactMap { join in columns.first { $0.name == join.field }.map { (join, $0.index) } }
        guard !shown.isEmpty else { return ("SELECT \(expressions) FROM \(source)", []) }
        var sql: SQL = "SELECT "
        sql.append(names: "page.c", width)
        var tables: SQL = ""
        var joined: [Joined] = []
        var first = width
        for (join, pointer) in shown {
            let table = access.table(join.target, aliases.next())
            let (columns, expressions) = select(join.selection, of: table, from: first)
            sql.append(literal: ", ")
            sql += expressions
            tables.append(literal: " LEFT JOIN LATERAL ")
            tables += one(table, "page.c\(number: pointer)", join.rows)
            tables.append(literal: " ON true")
            joined.append(
                Joined(
                    field: join.field, className: join.target.name, columns: columns,
                    relations: relations(join.target), first: first))
            first += ResultSet.firstColumn + columns.count
        }
        sql.append(literal: " FROM (SELECT ")
        sql += expressions
        for key in order.keys {
            sql.append(literal: ", ")
            sql += key.expression
        }
        sql.append(literal: " FROM ")
        sql += source
        sql.append(literal: ") AS page (")
        sql.append(names: "c", width)
        if !order.keys.isEmpty {
            sql.append(literal: ", ")
            sql.append(names: "k", order.keys.count)
        }
        sql.append(literal: ")")
        sql += tables
        for (index, key) in order.keys.enumerated() {
            sql.append(literal: index == 0 ? " ORDER BY " : ", ")
            sql += key.sql("page.k\(number: index)")
        }
        return (sql, joined)
    }

    func count(_ table: ClassSchema, _ predicate: Predicate, rows: Access.Rows) throws(ParseError) -> Plan {
        let table = access.table(table, aliases.next())
        return Plan("SELECT count(*) FROM \(table.source)\(try conditions(predicate, on: table, rows))")
    }

    /// The values of one field, in their order; nil where the class has no such field.
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
            (expression, type) = ("e.element", .object)
        case .json(let json): (expression, type) = (json, .object)
        case .column(let column, .geoPoint), .column(let column, .polygon):
            // Geometric types have no order to be distinct by.
            (expression, type) = ("\(column)::text", .string)
        case .column(let column, let columnType): (expression, type) = (column, columnType)
        }
        let conditions = try conditions(predicate, on: table, rows, .when("\(expression) IS NOT NULL"))
        return Plan(
            "SELECT DISTINCT \(expression) FROM \(source)\(conditions) ORDER BY 1",
            columns: [ResultSet.Column(name: path.field, type: type, index: 0)])
    }

    private func conditions(
        _ predicate: Predicate, on table: TableReference, _ rows: Access.Rows, _ more: Condition = .always
    ) throws(ParseError) -> SQL {
        Condition.clause([
            try predicates.condition(predicate, on: table), access.condition(.read, rows, on: table), more,
        ])
    }

    /// - Parameter first: where the first of the expressions stands in the statement's rows.
    private func select(
        _ selection: FieldSelection, of table: TableReference, from first: Int = 0
    ) -> ([ResultSet.Column], SQL) {
        let alias = table.alias
        var sql: SQL =
            """
            \(alias)."objectId", \(alias)."createdAt", \(alias)."updatedAt", \(alias)."_rperm", \(alias)."_wperm"
            """
        var columns: [ResultSet.Column] = []
        let first = first + ResultSet.firstColumn
        columns.reserveCapacity(table.schema.columns.count)
        let protected = access.protectedFields(of: table.schema)
        // Most classes hide nothing: this is built for every read.
        let hidesNothing = protected.isEmpty && table.schema.name != "_User"
        for column in table.schema.columns where selection.shows(column.name) {
            if hidesNothing {
                sql.append(literal: ", ")
                sql += alias
                sql.append(literal: ".")
                sql.append(column)
            } else {
                guard
                    let expression = access.readable(
                        column.name, protected, of: table, ownRowsShowAll: options.ownersSeeProtectedFields)
                else { continue }
                sql.append(literal: ", ")
                sql += expression
            }
            columns.append(ResultSet.Column(column, index: first + columns.count))
        }
        for field in readerFields(of: table.schema) where selection.shows(field.name) {
            sql += ", \(number(field, of: table))"
            columns.append(
                ResultSet.Column(name: field.name, type: .number, index: first + columns.count))
        }
        if access.viewer.key == .maintenance, table.schema.name == "_User" {
            for (name, type) in DefaultFields.hiddenUserFields {
                columns.append(
                    ResultSet.Column(name: name, type: type, index: first + columns.count))
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
