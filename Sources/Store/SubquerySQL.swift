import Schema
import Wire

/// Conditions that look at other objects, under the viewer's rights.
extension PredicateSQL {
    func related(_ object: Pointer, _ key: String, on table: TableReference) throws(ParseError) -> Condition {
        try access.checkReachable(object.className)
        guard let owner = schema[object.className] else { return .never }
        guard case .relation(let target)? = owner.fields[key]?.type, target == table.schema.name else { return .never }
        let isOwn = owner.name == "_User" && object.objectId == access.viewer.userId
        if !isOwn, access.protectedFields(of: owner).any.contains(key) {
            throw ParseError(119, access.refusal("This user is not allowed to query \(key) on class \(owner.name)"))
        }
        // Empty unless the viewer may get the owner.
        guard let rows = try? access.decide(.get, on: owner) else { return .never }
        let join = ClassSchema.joinTable(field: key, of: owner.name)
        let ownerId = SQL.text(object.objectId)
        let ownerTable = access.table(owner, aliases.next())
        let isRelated = Condition.when(
            "\(table.column("objectId")) IN (SELECT \"relatedId\" FROM \(name: join) WHERE \"owningId\" = \(ownerId))")
        switch access.condition(.read, rows, on: ownerTable) {
        case .always: return isRelated
        case .never: return .never
        case .when(let readable, _):
            return .all([
                isRelated,
                .when(
                    """
                    EXISTS (SELECT FROM \(ownerTable.source) \
                    WHERE \(ownerTable.column("objectId")) = \(ownerId) AND \(readable))
                    """),
            ])
        }
    }

    func inQuery(_ operand: Operand, _ query: Subquery, of table: TableReference) throws(ParseError) -> Condition {
        let query = try redirected(query)
        guard let rows = try subquery(query, { $0.column("objectId") }) else { return .never }
        switch operand {
        case .missing: return .never
        case .column(let column, .pointer(let target)):
            return target == query.className ? rows.hold(column) : .never
        case .relation(let joinTable, let target):
            guard target == query.className else { return .never }
            return owns(joinTable, of: table) { rows.hold($0).sql }
        case .column(let list, .array), .json(let list):
            // Pointers within an array, or one alone, which is taken for an array of one: the subquery stands in the
            // statement once, so that a chain of subqueries grows it by each, instead of doubling it.
            let isPointer: SQL = "e ->> 'className' = \(SQL.text(query.className))"
            let matches = Condition.all([.when(isPointer), rows.hold("(e ->> 'objectId')")])
            return .when(
                """
                EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(\(list)) WHEN 'array' THEN \(list) \
                ELSE jsonb_build_array(\(list)) END) e (e) WHERE \(matches))
                """)
        case .column(let column, .string): return rows.hold(column)
        case .column: return .never
        }
    }

    func select(_ operand: Operand, _ query: Subquery, _ key: FieldPath) throws(ParseError) -> Condition {
        let query = try redirected(query)
        guard let target = schema[query.className] else { return .never }
        if access.protectedFields(of: target).any.contains(key.field) {
            throw ParseError(
                119, access.refusal("This user is not allowed to query \(key.field) on class \(target.name)"))
        }
        // Where both sides have the same column type they compare as such, else as JSON.
        if case .column(let column, let type) = operand,
            case .column(_, let other) = Operand(key, of: access.table(target, "")),
            PredicateSQL.compares(type, other)
        {
            let rows = try subquery(query) { table in
                if case .column(let column, _) = Operand(key, of: table) { column } else { nil }
            }
            return rows?.hold(column) ?? .never
        }
        // Of lists that are found, each element counts.
        var isList = false
        let json = try subquery(query) { table in
            switch Operand(key, of: table) {
            case .column(let column, .array):
                isList = true
                return column
            case .column(let column, let type): return PredicateSQL.json(column, type, beside: operand)
            case .json(let expression):
                isList = true
                return expression
            case .relation, .missing: return nil
            }
        }
        guard var rows = json else { return .never }
        if isList { rows.elements = aliases.next() }
        switch operand {
        case .column(let column, .array):
            // IS TRUE: what is found is hashed once, not joined anew with each row's elements.
            return .when(
                "EXISTS (SELECT FROM jsonb_array_elements(\(column)) e (e) WHERE (\(rows.hold("e").sql)) IS TRUE)")
        case .column(let column, let type):
            return rows.hold(isList ? PredicateSQL.json(column, type) : "to_jsonb(\(column))")
        case .json(let expression): return rows.hold(expression)
        case .missing, .relation: return .never
        }
    }

    /// A column as it stands within an Array or Object field, where `operand` is, or lies in, one.
    private static func json(_ column: SQL, _ type: FieldType, beside operand: Operand) -> SQL {
        switch operand {
        case .column(_, .array), .json: json(column, type)
        default: "to_jsonb(\(column))"
        }
    }

    private static func json(_ column: SQL, _ type: FieldType) -> SQL {
        guard case .pointer(let target) = type else { return "to_jsonb(\(column))" }
        return """
            jsonb_build_object('__type', 'Pointer', 'className', \(SQL.text(target)), 'objectId', \(column))
            """
    }

    /// SDKs that do not know the class of a relation's objects name the relation's own, and the field.
    private func redirected(_ query: Subquery) throws(ParseError) -> Subquery {
        guard let key = query.redirectClassNameForKey else { return query }
        try access.checkReachable(query.className)
        var query = query
        if case .relation(let target)? = schema[query.className]?.fields[key]?.type { query.className = target }
        return query
    }

    private static func compares(_ one: FieldType, _ other: FieldType) -> Bool {
        switch one {
        case .array, .geoPoint, .polygon: false
        default: one == other
        }
    }

    /// What a subquery selects.
    private struct Rows {
        let table: TableReference
        let column: SQL
        let conditions: [Condition]
        /// ` ORDER BY … LIMIT …`; nil where every row counts.
        let page: SQL?
        /// The alias under which the elements of `column` stand, where each of them counts; what is no list is one.
        var elements: SQL?

        /// Whether `value` is among the rows. Not so is an anti-join, which holds for a missing value too.
        ///
        /// `value` stands within the scope of the rows: it must be qualified, or be negated nowhere.
        func hold(_ value: SQL) -> Condition {
            guard let page else {
                let source: SQL = elements.map { "\(table.source), \(list(column, $0))" } ?? table.source
                let found: SQL = elements.map { "\($0).found" } ?? column
                // A missing value is equal to nothing; without it the rows can be hashed.
                let there = Condition.clause(conditions + [.when("\(found) IS NOT NULL")])
                let equal = Condition.clause(conditions + [.when("\(found) = \(value)")])
                return .when(
                    "\(value) IN (SELECT \(found) FROM \(source)\(there))",
                    not: "NOT EXISTS (SELECT FROM \(source)\(equal))")
            }
            var rows: SQL = "SELECT \(column) FROM \(table.source)\(Condition.clause(conditions))\(page)"
            if let elements {
                rows = "SELECT \(elements).found FROM (\(rows)) AS lists (list), \(list("lists.list", elements))"
            }
            return .when(
                "\(value) IN (\(rows))",
                not: "NOT EXISTS (SELECT FROM (\(rows)) AS page (found) WHERE page.found = \(value))")
        }

        private func list(_ column: SQL, _ alias: SQL) -> SQL {
            """
            jsonb_array_elements(CASE WHEN jsonb_typeof(\(column)) = 'array' THEN \(column) \
            WHEN \(column) IS NOT NULL THEN jsonb_build_array(\(column)) END) \(alias) (found)
            """
        }
    }

    /// The rows that a subquery finds under the viewer's rights; nil where the class, or what `column` asks for, does
    /// not exist.
    private func subquery(_ query: Subquery, _ column: (TableReference) -> SQL?) throws(ParseError) -> Rows? {
        try access.checkReachable(query.className)
        guard let target = schema[query.className] else { return nil }
        let rows = try access.decide(.find, on: target)
        try QueryableFields(access: access, schema: schema).check(query.predicate, query.order, on: target)
        let table = access.table(target, aliases.next())
        let conditions = [try condition(query.predicate, on: table), access.condition(.read, rows, on: table)]
        guard let selected = column(table) else { return nil }
        let limit = [query.limit, subqueryLimit].compactMap { $0 }.min()
        var page: SQL?
        if limit != nil || query.skip > 0 {
            page = "\(try OrderSQL(query.order, on: table).clause)\(Page(limit: limit, skip: query.skip).sql)"
        }
        return Rows(table: table, column: selected, conditions: conditions, page: page)
    }
}
