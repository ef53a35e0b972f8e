import Schema
import Wire

/// Conditions that look at other objects, under the viewer's rights.
extension PredicateSQL {
    func related(_ object: Pointer, _ key: String, on table: TableReference) throws(ParseError) -> Condition {
        guard let owner = schema[object.className] else { return .never }
        guard case .relation(let target)? = owner.fields[key]?.type, target == table.schema.name else { return .never }
        if access.protectedFields(of: owner).any.contains(key) {
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
        case .when(let readable):
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
        guard let rows = try subquery(query, { $0.column("objectId") }) else { return .never }
        switch operand {
        case .missing: return .never
        case .column(let column, .pointer(let target)):
            return target == query.className ? .when("\(column) IN (\(rows))") : .never
        case .relation(let joinTable, let target):
            guard target == query.className else { return .never }
            return .when(
                """
                \(table.column("objectId")) IN (SELECT "owningId" FROM \(name: joinTable) \
                WHERE "relatedId" IN (\(rows)))
                """)
        case .column(let list, .array), .json(let list):
            // Pointers within an array, or one within an object.
            let className = SQL.text(query.className)
            let matches = { (pointer: SQL) -> SQL in
                "\(pointer) ->> 'className' = \(className) AND \(pointer) ->> 'objectId' IN (\(rows))"
            }
            return .when(
                """
                CASE jsonb_typeof(\(list)) WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(\(list)) e \
                WHERE \(matches("e"))) ELSE \(matches(list)) END
                """)
        case .column(let column, .string): return .when("\(column) IN (\(rows))")
        case .column: return .never
        }
    }

    func select(_ operand: Operand, _ query: Subquery, _ key: FieldPath) throws(ParseError) -> Condition {
        guard let target = schema[query.className] else { return .never }
        let probe = access.table(target, "")
        if access.protectedFields(of: target).any.contains(key.field) {
            throw ParseError(
                119, access.refusal("This user is not allowed to query \(key.field) on class \(target.name)"))
        }
        // Where both sides have the same column type they compare as such, else as JSON.
        if case .column(let column, let type) = operand, type != .array,
            case .column(_, let other) = Operand(key, of: probe), PredicateSQL.compares(type, other)
        {
            guard let rows = try subquery(query, { $0.column(key.field) }) else { return .never }
            return .when("\(column) IN (\(rows))")
        }
        let json = try subquery(query) { table in
            switch Operand(key, of: table) {
            case .column(let column, _): "to_jsonb(\(column))"
            case .json(let expression): expression
            case .relation, .missing: nil
            }
        }
        guard let rows = json else { return .never }
        switch operand {
        case .column(let column, .array):
            return .when("EXISTS (SELECT FROM jsonb_array_elements(\(column)) e WHERE e IN (\(rows)))")
        case .column(let column, _): return .when("to_jsonb(\(column)) IN (\(rows))")
        case .json(let expression): return .when("\(expression) IN (\(rows))")
        case .missing, .relation: return .never
        }
    }

    private static func compares(_ one: FieldType, _ other: FieldType) -> Bool {
        one == other && one != .geoPoint && one != .polygon
    }

    /// `SELECT column FROM class WHERE …` under the viewer's rights; nil where the class, or what `column` asks for,
    /// does not exist.
    private func subquery(_ query: Subquery, _ column: (TableReference) -> SQL?) throws(ParseError) -> SQL? {
        try access.checkReachable(query.className)
        guard let target = schema[query.className] else { return nil }
        let rows = try access.decide(.find, on: target)
        try QueryableFields(access: access, schema: schema).check(query.predicate, query.order, on: target)
        let table = access.table(target, aliases.next())
        var conditions = [
            try condition(query.predicate, on: table), access.condition(.read, rows, on: table),
        ]
        guard let selected = column(table) else { return nil }
        let limit = [query.limit, subqueryLimit].compactMap { $0 }.min()
        // A page counts the objects that lack the column too; elsewhere it is quicker without them.
        if limit == nil, query.skip == 0 { conditions.append(.when("\(selected) IS NOT NULL")) }
        var sql: SQL = "SELECT \(selected) FROM \(table.source)\(Condition.clause(conditions))"
        if limit != nil || query.skip > 0 {
            sql += try OrderSQL().clause(query.order, on: table)
            sql += Page(limit: limit, skip: query.skip).sql
        }
        return sql
    }
}
