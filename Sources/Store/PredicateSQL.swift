import Postgres
import Schema
import Wire

/// Turns query trees into SQL conditions. The text depends only on the query's shape; values are parameters.
///
/// Conditions may be NULL where a value is missing: that counts as false, and negations are written
/// `(…) IS NOT TRUE`, so that what is missing matches them.
struct PredicateSQL {
    let sql: SQLContext
    let access: Access
    let schema: SchemaSnapshot
    /// `subqueryLimit`: how many rows a subquery may look at; nil: all.
    var subqueryLimit: Int?

    func condition(_ predicate: Predicate, on table: TableReference) throws(ParseError) -> String {
        switch predicate {
        case .and(let parts):
            guard !parts.isEmpty else { return "true" }
            return try joined(parts, " AND ", on: table)
        case .or(let parts):
            guard !parts.isEmpty else { return "false" }
            return try joined(parts, " OR ", on: table)
        case .nor(let parts):
            return "(\(try joined(parts, " OR ", on: table))) IS NOT TRUE"
        case .field(let path, let constraint):
            if path.field == "ACL" { throw ParseError(102, "Cannot query on ACL.") }
            return try sql.fragment { () throws(ParseError) in try condition(constraint, on: path, of: table) }
        case .relatedTo(let object, let key):
            return try sql.fragment { () throws(ParseError) in try related(object, key, on: table) }
        }
    }

    private func joined(_ parts: [Predicate], _ word: String, on table: TableReference) throws(ParseError) -> String {
        var conditions: [String] = []
        for part in parts { conditions.append(try condition(part, on: table)) }
        return conditions.count == 1 ? conditions[0] : "(" + conditions.joined(separator: word) + ")"
    }

    // MARK: one field

    private func condition(
        _ constraint: Constraint, on path: FieldPath, of table: TableReference
    ) throws(ParseError) -> String {
        let operand = Operand(path, of: table, sql)
        switch constraint {
        case .equal(let value):
            return equality(operand, value, of: table)
        case .notEqual(let value):
            return "(\(equality(operand, value, of: table))) IS NOT TRUE"
        case .less(let value): return comparison(operand, "<", value)
        case .lessOrEqual(let value): return comparison(operand, "<=", value)
        case .greater(let value): return comparison(operand, ">", value)
        case .greaterOrEqual(let value): return comparison(operand, ">=", value)
        case .exists(let exists):
            let missing = isMissing(operand, of: table)
            return exists ? "NOT (\(missing))" : missing
        case .isIn(let values):
            return try membership(operand, values, path, of: table)
        case .notIn(let values):
            return "(\(try membership(operand, values, path, of: table))) IS NOT TRUE"
        case .all(let values):
            guard !values.isEmpty else { return "false" }
            return "(" + values.map { contains(operand, $0, of: table) }.joined(separator: " AND ") + ")"
        case .allPrefixes(let prefixes):
            return allPrefixes(operand, prefixes)
        case .containedBy(let values):
            return containedBy(operand, values)
        case .regex(let pattern, let options):
            return Regex(pattern: pattern, options: options).condition(operand, sql)
        case .text(let search):
            return try TextSearchSQL(search).condition(operand, sql)
        case .inQuery(let query):
            return try inQuery(operand, query, of: table)
        case .notInQuery(let query):
            return "(\(try inQuery(operand, query, of: table))) IS NOT TRUE"
        case .select(let query, let key):
            return try select(operand, query, key)
        case .notSelect(let query, let key):
            return "(\(try select(operand, query, key))) IS NOT TRUE"
        case .nearSphere, .withinBox, .withinPolygon, .withinSphere, .geoIntersects:
            return try GeoSQL(sql: sql).condition(operand, constraint, path)
        }
    }

    private func isMissing(_ operand: Operand, of table: TableReference) -> String {
        switch operand {
        case .column(let column, _): "\(column) IS NULL"
        case .json(let expression): "coalesce(\(expression), 'null'::jsonb) = 'null'::jsonb"
        case .relation(let joinTable, _):
            // A relation is there as soon as its field is.
            joinTable.isEmpty ? "true" : "false"
        case .missing: "true"
        }
    }

    /// Plain equality. Against an Array field: contains, or is the same list.
    private func equality(_ operand: Operand, _ value: Value, of table: TableReference) -> String {
        if case .null = value { return isMissing(operand, of: table) }
        switch operand {
        case .missing:
            return "false"
        case .relation(let joinTable, let target):
            guard case .pointer(let pointer) = value, pointer.className == target else { return "false" }
            return "\(table.column("objectId")) IN (SELECT \"owningId\" FROM \(quoted(joinTable)) "
                + "WHERE \"relatedId\" = \(sql.text(pointer.objectId)))"
        case .json(let expression):
            let element = jsonb(value)
            return "(\(expression) = \(element) OR jsonb_typeof(\(expression)) = 'array' "
                + "AND \(expression) @> jsonb_build_array(\(element)) "
                + "AND EXISTS (SELECT FROM jsonb_array_elements(\(expression)) e WHERE e = \(element)))"
        case .column(let column, .array):
            if case .array = value { return "(\(column) = \(jsonb(value)) OR \(hasElement(column, value)))" }
            return hasElement(column, value)
        case .column(let column, let type):
            return literal(value, for: type).map {
                "\(column) \(type == .geoPoint || type == .polygon ? "~=" : "=") \($0)"
            }
                ?? "false"
        }
    }

    /// A whole element of an Array column. Containment alone would accept objects with more keys; but it can use an index.
    private func hasElement(_ column: String, _ value: Value) -> String {
        let element = jsonb(value)
        switch value {
        case .string, .number, .bool: return "\(column) @> jsonb_build_array(\(element))"
        default:
            return "(\(column) @> jsonb_build_array(\(element)) "
                + "AND EXISTS (SELECT FROM jsonb_array_elements(\(column)) e WHERE e = \(element)))"
        }
    }

    private func comparison(_ operand: Operand, _ sign: String, _ value: Value) -> String {
        switch operand {
        case .missing, .relation: return "false"
        case .column(let column, .array):
            return "EXISTS (SELECT FROM jsonb_array_elements(\(column)) e WHERE \(jsonComparison("e", sign, value)))"
        case .column(let column, let type):
            guard type != .geoPoint, type != .polygon, type != .object, type != .bytes else { return "false" }
            return literal(value, for: type).map { "\(column) \(sign) \($0)" } ?? "false"
        case .json(let expression):
            let alone = jsonComparison(expression, sign, value)
            guard alone != "false" else { return alone }
            return "(\(alone) OR jsonb_typeof(\(expression)) = 'array' AND EXISTS ("
                + "SELECT FROM jsonb_array_elements(\(expression)) e WHERE \(jsonComparison("e", sign, value))))"
        }
    }

    /// Values of different types do not compare.
    private func jsonComparison(_ expression: String, _ sign: String, _ value: Value) -> String {
        switch value {
        case .number(let number):
            "(jsonb_typeof(\(expression)) = 'number' AND \(expression) \(sign) to_jsonb(\(sql.number(number))))"
        case .string(let string):
            "(jsonb_typeof(\(expression)) = 'string' AND (\(expression) #>> '{}') COLLATE \"C\" \(sign) \(sql.text(string)))"
        case .bool:
            "(jsonb_typeof(\(expression)) = 'boolean' AND \(expression) \(sign) \(jsonb(value)))"
        case .date(let date):
            "((\(expression) ->> '__type') = 'Date' AND (\(expression) ->> 'iso') COLLATE \"C\" \(sign) \(sql.text(date.description)))"
        default: "false"
        }
    }

    // MARK: lists

    private func membership(
        _ operand: Operand, _ values: [Value], _ path: FieldPath, of table: TableReference
    ) throws(ParseError) -> String {
        var conditions: [String] = []
        if values.contains(.null) { conditions.append(isMissing(operand, of: table)) }
        let values = values.filter { $0 != .null }
        switch operand {
        case .missing: break
        case .relation(let joinTable, let target):
            let ids = values.compactMap {
                if case .pointer(let p) = $0, p.className == target { p.objectId } else { nil }
            }
            if !ids.isEmpty {
                conditions.append(
                    "\(table.column("objectId")) IN (SELECT \"owningId\" FROM \(quoted(joinTable)) "
                        + "WHERE \"relatedId\" = ANY(\(sql.texts(ids))))")
            }
        case .json(let expression):
            guard !values.isEmpty else { break }
            let list = jsonbList(values)
            conditions.append(
                "(\(expression) IN (SELECT jsonb_array_elements(\(list))) OR jsonb_typeof(\(expression)) = 'array' "
                    + "AND EXISTS (SELECT FROM jsonb_array_elements(\(expression)) e "
                    + "WHERE e IN (SELECT jsonb_array_elements(\(list)))))")
        case .column(let column, .array):
            guard !values.isEmpty else { break }
            if values.contains(where: { if case .array = $0 { true } else { false } }) {
                conditions.append("\(column) IN (SELECT jsonb_array_elements(\(jsonbList(values))))")
            }
            conditions.append(
                "EXISTS (SELECT FROM jsonb_array_elements(\(column)) e "
                    + "WHERE e IN (SELECT jsonb_array_elements(\(jsonbList(values)))))")
        case .column(let column, .object):
            guard !values.isEmpty else { break }
            conditions.append("\(column) IN (SELECT jsonb_array_elements(\(jsonbList(values))))")
        case .column(let column, let type):
            if let list = try list(values, for: type, path) { conditions.append("\(column) = ANY(\(list))") }
        }
        guard !conditions.isEmpty else { return "false" }
        return conditions.count == 1 ? conditions[0] : "(" + conditions.joined(separator: " OR ") + ")"
    }

    /// One array parameter for all values; nil for an empty list. 102 for a value of another type than the field's.
    private func list(_ values: [Value], for type: FieldType, _ path: FieldPath) throws(ParseError) -> String? {
        guard !values.isEmpty else { return nil }
        var texts: [String] = []
        for value in values {
            guard let text = ListElement.text(value, for: type) else {
                throw ParseError(
                    102, "A value of $in or $nin on \(path.description) is not of the field's type \(type).")
            }
            texts.append(text)
        }
        switch type {
        case .number: return sql.bind(.textArray(texts), "double precision[]")
        case .boolean: return sql.bind(.textArray(texts), "boolean[]")
        case .date: return sql.bind(.textArray(texts), "timestamptz[]")
        case .bytes: return sql.bind(.textArray(texts), "bytea[]")
        default: return sql.texts(texts)
        }
    }

    private func contains(_ operand: Operand, _ value: Value, of table: TableReference) -> String {
        switch operand {
        case .column(let column, .array):
            if case .null = value { return "\(column) @> '[null]'::jsonb" }
            return hasElement(column, value)
        case .json(let expression):
            guard case .null = value else { return equality(operand, value, of: table) }
            return "(jsonb_typeof(\(expression)) = 'array' AND \(hasElement(expression, value)))"
        default: return equality(operand, value, of: table)
        }
    }

    private func allPrefixes(_ operand: Operand, _ prefixes: [String]) -> String {
        guard !prefixes.isEmpty else { return "false" }
        let list: String
        switch operand {
        case .column(let column, .array): list = column
        case .json(let expression): list = expression
        case .column(let column, .string):
            return "(" + prefixes.map { "starts_with(\(column), \(sql.text($0)))" }.joined(separator: " AND ") + ")"
        default: return "false"
        }
        return "(jsonb_typeof(\(list)) = 'array' AND "
            + prefixes.map {
                "EXISTS (SELECT FROM jsonb_array_elements(\(list)) e "
                    + "WHERE jsonb_typeof(e) = 'string' AND starts_with(e #>> '{}', \(sql.text($0))))"
            }.joined(separator: " AND ") + ")"
    }

    private func containedBy(_ operand: Operand, _ values: [Value]) -> String {
        let list: String
        switch operand {
        case .column(let column, .array): list = column
        case .json(let expression): list = expression
        default: return "false"
        }
        return "(jsonb_typeof(\(list)) = 'array' AND NOT EXISTS (SELECT FROM jsonb_array_elements(\(list)) e "
            + "WHERE e NOT IN (SELECT jsonb_array_elements(\(jsonbList(values))))))"
    }

    // MARK: subqueries

    private func related(_ object: Pointer, _ key: String, on table: TableReference) throws(ParseError) -> String {
        guard let owner = schema[object.className] else { return "false" }
        guard case .relation(let target)? = owner.fields[key]?.type, target == table.schema.name else { return "false" }
        if access.protectedFields(of: owner).any.contains(key) {
            throw ParseError(119, access.refusal("This user is not allowed to query \(key) on class \(owner.name)"))
        }
        let join = quoted(ClassSchema.joinTable(field: key, of: owner.name))
        var condition =
            "\(table.column("objectId")) IN (SELECT \"relatedId\" FROM \(join) WHERE \"owningId\" = \(sql.text(object.objectId)))"
        // Empty unless the viewer may get the owner.
        guard let rows = try? access.decide(.get, on: owner) else { return "false" }
        let ownerTable = access.table(owner, sql.alias())
        if let readable = access.condition(.read, rows, on: ownerTable, sql) {
            condition +=
                " AND EXISTS (SELECT FROM \(quoted(owner.name)) \(ownerTable.alias) "
                + "WHERE \(ownerTable.column("objectId")) = \(sql.text(object.objectId)) AND \(readable))"
        }
        return "(\(condition))"
    }

    private func inQuery(_ operand: Operand, _ query: Subquery, of table: TableReference) throws(ParseError) -> String {
        let rows = try subquery(query) { $0.column("objectId") }
        guard let rows else { return "false" }
        switch operand {
        case .missing: return "false"
        case .column(let column, .pointer(let target)):
            return target == query.className ? "\(column) IN (\(rows))" : "false"
        case .relation(let joinTable, let target):
            guard target == query.className else { return "false" }
            return
                "\(table.column("objectId")) IN (SELECT \"owningId\" FROM \(quoted(joinTable)) WHERE \"relatedId\" IN (\(rows)))"
        case .column(let list, .array), .json(let list):
            // Pointers within an array, or one within an object.
            let matches = { (pointer: String) in
                "\(pointer) ->> 'className' = \(sql.text(query.className)) AND \(pointer) ->> 'objectId' IN (\(rows))"
            }
            return "CASE jsonb_typeof(\(list)) WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(\(list)) e "
                + "WHERE \(matches("e"))) ELSE \(matches(list)) END"
        case .column(let column, .string):
            return "\(column) IN (\(rows))"
        case .column: return "false"
        }
    }

    private func select(_ operand: Operand, _ query: Subquery, _ key: FieldPath) throws(ParseError) -> String {
        guard let target = schema[query.className] else { return "false" }
        let probe = access.table(target, "")
        if access.protectedFields(of: target).any.contains(key.field) {
            throw ParseError(
                119, access.refusal("This user is not allowed to query \(key.field) on class \(target.name)"))
        }
        // Where both sides have the same column type they compare as such, else as JSON.
        if case .column(let column, let type) = operand, type != .array, !key.isDotted,
            case .column(_, let other) = Operand(key, of: probe, sql), PredicateSQL.compares(type, other)
        {
            guard let rows = try subquery(query, { $0.column(key.field) }) else { return "false" }
            return "\(column) IN (\(rows))"
        }
        let json: String? = try subquery(
            query,
            { (table: TableReference) -> String in
                switch Operand(key, of: table, sql) {
                case .column(let column, _): "to_jsonb(\(column))"
                case .json(let expression): expression
                case .relation, .missing: "NULL::jsonb"
                }
            })
        guard let rows = json else { return "false" }
        switch operand {
        case .column(let column, .array):
            return "EXISTS (SELECT FROM jsonb_array_elements(\(column)) e WHERE e IN (\(rows)))"
        case .column(let column, _): return "to_jsonb(\(column)) IN (\(rows))"
        case .json(let expression): return "\(expression) IN (\(rows))"
        case .missing, .relation: return "false"
        }
    }

    private static func compares(_ one: FieldType, _ other: FieldType) -> Bool {
        one == other && one != .geoPoint && one != .polygon
    }

    /// `SELECT column FROM class WHERE …` under the viewer's rights; nil where the class does not exist.
    private func subquery(
        _ query: Subquery, _ column: (TableReference) -> String
    ) throws(ParseError) -> String? {
        try access.checkReachable(query.className)
        guard let target = schema[query.className] else { return nil }
        let rows = try access.decide(.find, on: target)
        try QueryableFields(access: access, schema: schema).check(query.predicate, query.order, on: target)
        let table = access.table(target, sql.alias())
        var conditions = [try condition(query.predicate, on: table)]
        if let readable = access.condition(.read, rows, on: table, sql) { conditions.append(readable) }
        let selected = column(table)
        let limit = [query.limit, subqueryLimit].compactMap { $0 }.min()
        // A page counts the objects that lack the column too; elsewhere it is quicker without them.
        if limit == nil, query.skip == 0 { conditions.append("\(selected) IS NOT NULL") }
        var text =
            "SELECT \(selected) FROM \(quoted(target.name)) \(table.alias) WHERE \(conditions.joined(separator: " AND "))"
        if limit != nil || query.skip > 0 {
            text += try OrderSQL(sql: sql).clause(query.order, on: table, alwaysOrdered: true)
            if let limit { text += " LIMIT \(sql.bind(.int(Int64(limit)), "bigint"))" }
            if query.skip > 0 { text += " OFFSET \(sql.bind(.int(Int64(query.skip)), "bigint"))" }
        }
        return text
    }

    // MARK: literals

    /// A value as a literal of the column's type; nil when it is of another type and so can never be equal.
    private func literal(_ value: Value, for type: FieldType) -> String? {
        switch (type, value) {
        case (.string, .string(let string)): sql.text(string)
        case (.number, .number(let number)): sql.number(number)
        case (.boolean, .bool(let bool)): sql.bind(.bool(bool), "boolean")
        case (.date, .date(let date)): sql.bind(.timestamp(milliseconds: date.milliseconds), "timestamptz")
        case (.date, .string(let string)):
            Timestamp(iso: string).map { sql.bind(.timestamp(milliseconds: $0.milliseconds), "timestamptz") }
        case (.pointer(let target), .pointer(let pointer)):
            target == pointer.className ? sql.text(pointer.objectId) : nil
        case (.pointer, .string(let id)): sql.text(id)
        case (.file, .file(let file)): sql.text(file.name)
        case (.file, .string(let name)): sql.text(name)
        case (.bytes, .bytes(let bytes)): sql.bind(.bytes(bytes), "bytea")
        case (.geoPoint, .geoPoint(let point)): GeoSQL(sql: sql).point(point)
        case (.polygon, .polygon(let points)): GeoSQL(sql: sql).polygon(points)
        case (.object, .object): jsonb(value)
        default: nil
        }
    }

    private func jsonb(_ value: Value) -> String { sql.bind(.utf8(value.json.bytes), "jsonb") }

    private func jsonbList(_ values: [Value]) -> String {
        sql.bind(.utf8(JSON.array(values.map(\.json)).bytes), "jsonb")
    }
}

/// A value as an element of an array parameter, in text form.
enum ListElement {
    static func text(_ value: Value, for type: FieldType) -> String? {
        switch (type, value) {
        case (.string, .string(let string)): string
        case (.number, .number(let number)): "\(number)"
        case (.boolean, .bool(let bool)): bool ? "t" : "f"
        case (.date, .date(let date)): date.description
        case (.pointer(let target), .pointer(let pointer)): target == pointer.className ? pointer.objectId : nil
        case (.pointer, .string(let id)): id
        case (.file, .file(let file)): file.name
        case (.file, .string(let name)): name
        case (.bytes, .bytes(let bytes)):
            "\\x" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        default: nil
        }
    }
}

/// Refuses queries that would tell of protected fields.
struct QueryableFields {
    let access: Access
    let schema: SchemaSnapshot

    /// Throws 119 for a protected field in the conditions, at any depth, or in the order.
    func check(_ predicate: Predicate, _ order: [Order], on table: ClassSchema) throws(ParseError) {
        guard !access.viewer.isAboveAccess else { return }
        let protected = access.protectedFields(of: table).any
        guard !protected.isEmpty else { return }
        try check(predicate, protected, table)
        for key in order where protected.contains(key.path.field) { throw refusal(key.path.field, table) }
    }

    private func check(_ predicate: Predicate, _ protected: Set<String>, _ table: ClassSchema) throws(ParseError) {
        switch predicate {
        case .and(let parts), .or(let parts), .nor(let parts):
            for part in parts { try check(part, protected, table) }
        case .field(let path, _):
            if protected.contains(path.field) { throw refusal(path.field, table) }
        case .relatedTo: break
        }
    }

    private func refusal(_ field: String, _ table: ClassSchema) -> ParseError {
        ParseError(119, access.refusal("This user is not allowed to query \(field) on class \(table.name)"))
    }
}
