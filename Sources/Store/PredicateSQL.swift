import Postgres
import Schema
import Wire

/// Turns query trees into SQL conditions. The text depends only on the query's shape; values are parameters.
///
/// Conditions may be NULL where a value is missing: that counts as false, and negations are written
/// `(…) IS NOT TRUE`, so that what is missing matches them.
struct PredicateSQL {
    let aliases: Aliases
    let access: Access
    let schema: SchemaSnapshot
    /// How many rows a subquery may look at; nil: all.
    var subqueryLimit: Int?

    func condition(_ predicate: Predicate, on table: TableReference) throws(ParseError) -> Condition {
        switch predicate {
        case .and(let parts): return .all(try conditions(parts, on: table))
        case .or(let parts): return .any(try conditions(parts, on: table))
        case .nor(let parts): return Condition.any(try conditions(parts, on: table)).isNotTrue
        case .field(let path, let constraint):
            if path.field == "ACL" { throw ParseError(102, "Cannot query on ACL.") }
            return try condition(constraint, on: path, of: table)
        case .relatedTo(let object, let key):
            return try related(object, key, on: table)
        }
    }

    private func conditions(_ parts: [Predicate], on table: TableReference) throws(ParseError) -> [Condition] {
        var conditions: [Condition] = []
        conditions.reserveCapacity(parts.count)
        for part in parts { conditions.append(try condition(part, on: table)) }
        return conditions
    }

    private func condition(
        _ constraint: Constraint, on path: FieldPath, of table: TableReference
    ) throws(ParseError) -> Condition {
        let operand = Operand(path, of: table)
        if table.schema.name == "_Session", path.description == "sessionToken",
            let found = SessionToken.condition(constraint, on: table)
        {
            return found
        }
        switch constraint {
        case .equal(let value): return equality(operand, value, of: table)
        case .notEqual(let value): return equality(operand, value, of: table).isNotTrue
        case .less(let value): return comparison(operand, "<", value)
        case .lessOrEqual(let value): return comparison(operand, "<=", value)
        case .greater(let value): return comparison(operand, ">", value)
        case .greaterOrEqual(let value): return comparison(operand, ">=", value)
        case .exists(let exists): return exists ? isMissing(operand).isNotTrue : isMissing(operand)
        case .isIn(let values): return try membership(operand, values, path, of: table)
        case .notIn(let values): return try membership(operand, values, path, of: table).isNotTrue
        case .all(let values):
            return values.isEmpty ? .never : .all(values.map { contains(operand, $0, of: table) })
        case .allPrefixes(let prefixes): return allPrefixes(operand, prefixes)
        case .containedBy(let values): return containedBy(operand, values)
        case .regex(let pattern, let options): return Regex(pattern: pattern, options: options).condition(operand)
        case .text(let search):
            return try TextSearchSQL(search, of: path.field, table.schema).condition(operand)
        case .inQuery(let query): return try inQuery(operand, query, of: table)
        case .notInQuery(let query): return try inQuery(operand, query, of: table).isNotTrue
        case .select(let query, let key): return try select(operand, query, key)
        case .notSelect(let query, let key): return try select(operand, query, key).isNotTrue
        case .nearSphere, .withinBox, .withinPolygon, .withinSphere, .geoIntersects:
            return GeoSQL.condition(operand, constraint)
        }
    }

    // MARK: one value

    private func isMissing(_ operand: Operand) -> Condition {
        switch operand {
        case .column(let column, _): .when("\(column) IS NULL", not: "\(column) IS NOT NULL")
        case .json(let expression):
            .when("coalesce(\(expression), 'null'::jsonb) = 'null'::jsonb", not: "\(expression) <> 'null'::jsonb")
        // A relation is there as soon as its field is.
        case .relation: .never
        case .missing: .always
        }
    }

    /// Plain equality. Against an Array field: contains, or is the same list.
    private func equality(_ operand: Operand, _ value: Value, of table: TableReference) -> Condition {
        if case .null = value { return isMissing(operand) }
        switch operand {
        case .missing:
            return .never
        case .relation(let joinTable, let target):
            guard case .pointer(let pointer) = value, pointer.className == target else { return .never }
            return owns(joinTable, of: table) { "\($0) = \(SQL.text(pointer.objectId))" }
        case .json(let expression):
            return .any([
                .when("\(expression) = \(SQL.json(value.json))"),
                .all([.when("jsonb_typeof(\(expression)) = 'array'"), hasElement(expression, value)]),
            ])
        case .column(let column, .array):
            guard case .array = value else { return hasElement(column, value) }
            return .any([.when("\(column) = \(SQL.json(value.json))"), hasElement(column, value)])
        case .column(let column, .geoPoint), .column(let column, .polygon):
            return literal(value, for: operand).map { .when("\(column) ~= \($0)") } ?? .never
        case .column(let column, _):
            return literal(value, for: operand).map { .when("\(column) = \($0)") } ?? .never
        }
    }

    /// A whole element of a list. Containment alone would accept objects with more keys; but it can use an index.
    private func hasElement(_ list: SQL, _ value: Value) -> Condition {
        let contains = Condition.when("\(list) @> \(SQL.json(.array([value.json])))")
        guard !value.isScalar else { return contains }
        return .all([contains, anyElement(of: list, .when("e = \(SQL.json(value.json))"))])
    }

    private func comparison(_ operand: Operand, _ sign: SQL, _ value: Value) -> Condition {
        switch operand {
        case .missing, .relation: return .never
        case .column(let column, .array): return anyElement(of: column, jsonComparison("e", sign, value))
        case .column(_, .geoPoint), .column(_, .polygon), .column(_, .object), .column(_, .bytes): return .never
        case .column(let column, _):
            return literal(value, for: operand).map { .when("\(column) \(sign) \($0)") } ?? .never
        case .json(let expression):
            return .any([
                jsonComparison(expression, sign, value),
                .all([
                    .when("jsonb_typeof(\(expression)) = 'array'"),
                    anyElement(of: expression, jsonComparison("e", sign, value)),
                ]),
            ])
        }
    }

    /// `condition` on an element, which it calls `e`: a column of that name, for a field may have it too and is
    /// further out.
    private func anyElement(of list: SQL, _ condition: Condition) -> Condition {
        guard case .when(let sql, _) = condition else { return .never }
        return .when("EXISTS (SELECT FROM jsonb_array_elements(\(list)) e (e) WHERE \(sql))")
    }

    /// Values of different types do not compare.
    private func jsonComparison(_ expression: SQL, _ sign: SQL, _ value: Value) -> Condition {
        switch value {
        case .number(let number):
            .when("(jsonb_typeof(\(expression)) = 'number' AND \(expression) \(sign) to_jsonb(\(SQL.number(number))))")
        case .string(let string):
            .when(
                """
                (jsonb_typeof(\(expression)) = 'string' \
                AND (\(expression) #>> '{}') COLLATE "C" \(sign) \(SQL.text(string)))
                """)
        case .bool:
            .when("(jsonb_typeof(\(expression)) = 'boolean' AND \(expression) \(sign) \(SQL.json(value.json)))")
        case .date(let date):
            .when("(jsonb_typeof(\(expression)) = 'object' AND hermes_date(\(expression)) \(sign) \(SQL.date(date)))")
        default: .never
        }
    }

    // MARK: lists

    private func membership(
        _ operand: Operand, _ values: [Value], _ path: FieldPath, of table: TableReference
    ) throws(ParseError) -> Condition {
        var conditions: [Condition] = []
        if values.contains(.null) { conditions.append(isMissing(operand)) }
        let values = values.filter { $0 != .null }
        guard !values.isEmpty else { return .any(conditions) }
        switch operand {
        case .missing: break
        case .relation(let joinTable, let target):
            let ids = values.compactMap {
                if case .pointer(let p) = $0, p.className == target { p.objectId } else { nil }
            }
            if !ids.isEmpty { conditions.append(owns(joinTable, of: table) { "\($0) = ANY(\(SQL.texts(ids)))" }) }
        case .json(let expression):
            let list = elements(values)
            conditions.append(.when("\(expression) IN (\(list))"))
            conditions.append(
                .all([
                    .when("jsonb_typeof(\(expression)) = 'array'"), anyElement(of: expression, isAmong(list)),
                ]))
        case .column(let column, .array):
            let list = elements(values)
            if values.contains(where: { if case .array = $0 { true } else { false } }) {
                conditions.append(.when("\(column) IN (\(list))"))
            }
            let isIndexed = table.schema.indexes.contains { $0.fields.contains(path.field) }
            conditions.append(
                values.count > PredicateSQL.longList && !isIndexed
                    ? anyElement(of: column, isAmong(list)) : hasAnyElement(column, values, list))
        case .column(let column, .object):
            conditions.append(.when("\(column) IN (\(elements(values)))"))
        case .column(let column, let type):
            conditions.append(.when("\(column) = ANY(\(try list(values, for: type, path)))"))
        }
        return .any(conditions)
    }

    /// From so many values on containment, which without an index compares each of them with every row, costs more than
    /// looking up each element among them.
    private static let longList = 100

    /// As `hasElement`, for several values of which one suffices.
    private func hasAnyElement(_ column: SQL, _ values: [Value], _ list: SQL) -> Condition {
        let lists = values.map { String(decoding: JSON.array([$0.json]).bytes, as: UTF8.self) }
        let contains = Condition.when("\(column) @> ANY(\(SQL.bind(.textArray(lists), "jsonb[]")))")
        guard !values.allSatisfy(\.isScalar) else { return contains }
        return .all([contains, anyElement(of: column, isAmong(list))])
    }

    /// The objects whose relation holds an object whose id fulfils `condition`.
    func owns(_ joinTable: String, of table: TableReference, _ condition: (SQL) -> SQL) -> Condition {
        let alias = aliases.next()
        let isWanted = condition("\(alias).\"relatedId\"")
        let join: SQL = "\(name: joinTable) \(alias)"
        let id = table.column("objectId")
        return .when(
            "\(id) IN (SELECT \(alias).\"owningId\" FROM \(join) WHERE \(isWanted))",
            not: "NOT EXISTS (SELECT FROM \(join) WHERE \(alias).\"owningId\" = \(id) AND \(isWanted))")
    }

    /// Whether `e` is one of `list`. IS TRUE keeps PostgreSQL from joining each row's elements with the list anew: it is
    /// hashed, once.
    private func isAmong(_ list: SQL) -> Condition { .when("(e IN (\(list))) IS TRUE") }

    /// The values, one a row.
    private func elements(_ values: [Value]) -> SQL {
        "SELECT jsonb_array_elements(\(SQL.json(.array(values.map(\.json)))))"
    }

    /// One array parameter for all values. 102 for a value of another type than the field's.
    private func list(_ values: [Value], for type: FieldType, _ path: FieldPath) throws(ParseError) -> SQL {
        var texts: [String] = []
        texts.reserveCapacity(values.count)
        for value in values {
            guard let text = ListElement.text(value, for: type) else {
                throw ParseError(
                    102, "A value of $in or $nin on \(path.description) is not of the field's type \(type).")
            }
            texts.append(text)
        }
        switch type {
        case .number: return .bind(.textArray(texts), "double precision[]")
        case .boolean: return .bind(.textArray(texts), "boolean[]")
        case .date: return .bind(.textArray(texts), "timestamptz[]")
        case .bytes: return .bind(.textArray(texts), "bytea[]")
        default: return .texts(texts)
        }
    }

    private func contains(_ operand: Operand, _ value: Value, of table: TableReference) -> Condition {
        switch operand {
        case .column(let column, .array): return hasElement(column, value)
        case .json(let expression):
            guard case .null = value else { return equality(operand, value, of: table) }
            return .all([.when("jsonb_typeof(\(expression)) = 'array'"), hasElement(expression, value)])
        default: return equality(operand, value, of: table)
        }
    }

    private func allPrefixes(_ operand: Operand, _ prefixes: [String]) -> Condition {
        guard !prefixes.isEmpty else { return .never }
        switch operand {
        case .column(let list, .array), .json(let list):
            return .all(
                [.when("jsonb_typeof(\(list)) = 'array'")]
                    + prefixes.map {
                        anyElement(
                            of: list,
                            .all([
                                .when("jsonb_typeof(e) = 'string'"), .when("starts_with(e #>> '{}', \(SQL.text($0)))"),
                            ]))
                    })
        case .column(let column, .string):
            return .all(prefixes.map { .when("starts_with(\(column), \(SQL.text($0)))") })
        default: return .never
        }
    }

    private func containedBy(_ operand: Operand, _ values: [Value]) -> Condition {
        switch operand {
        case .column(let list, .array), .json(let list):
            return .when(
                """
                (jsonb_typeof(\(list)) = 'array' AND NOT EXISTS (\
                SELECT FROM jsonb_array_elements(\(list)) e (e) WHERE e NOT IN (\(elements(values)))))
                """)
        default: return .never
        }
    }

    /// A value as a literal of the column's type; nil when it is of another type and so can never be equal.
    private func literal(_ value: Value, for operand: Operand) -> SQL? {
        guard case .column(_, let type) = operand else { return nil }
        return switch (type, value) {
        case (.string, .string(let string)): .text(string)
        case (.number, .number(let number)): .number(number)
        case (.boolean, .bool(let bool)): .bind(.bool(bool), "boolean")
        case (.date, .date(let date)): .date(date)
        case (.date, .string(let string)): Timestamp(iso: string).map { .date($0) }
        case (.pointer(let target), .pointer(let pointer)):
            target == pointer.className ? .text(pointer.objectId) : nil
        case (.pointer, .string(let id)): .text(id)
        case (.file, .file(let file)): .text(file.name)
        case (.file, .string(let name)): .text(name)
        case (.bytes, .bytes(let bytes)): .bind(.bytes(bytes), "bytea")
        case (.geoPoint, .geoPoint(let point)): GeoSQL.point(point)
        case (.polygon, .polygon(let points)): GeoSQL.polygon(points)
        case (.object, .object): .json(value.json)
        default: nil
        }
    }
}

/// A value as an element of an array parameter, in text form.
enum ListElement {
    static func text(_ value: Value, for type: FieldType) -> String? {
        switch (type, value) {
        case (.string, .string(let string)): string
        case (.number, .number(let number)): "\(number)"
        case (.boolean, .bool(let bool)): bool ? "t" : "f"
        case (.date, .date(let date)): TimestampText.make(milliseconds: date.milliseconds)
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

extension Value {
    /// Neither a list nor anything that JSON holds as an object.
    fileprivate var isScalar: Bool {
        switch self {
        case .null, .bool, .number, .string: true
        default: false
        }
    }
}
