import Postgres
import Schema
import Wire

/// Where a page of a find ends, and the next one begins: the values that its last object is ordered by. What is made
/// and deleted in between moves no page, and the thousandth costs what the first does.
///
/// It travels as `[order, [values…], objectId]` in JSON, base64url. It is not signed: whoever makes one up only asks for
/// objects behind some values, by his own rights.
struct PageCursor {
    private struct Key {
        let column: SQL
        let type: FieldType
        let descending: Bool
        let mayBeNull: Bool
    }

    /// objectId is the last.
    private let keys: [Key]
    /// A cursor serves only the order that it came from.
    private let order: String

    /// - Throws: 102 for an order that no place in it can be told of.
    init(_ query: Query, on table: TableReference) throws(ParseError) {
        var keys: [Key] = []
        var names: [String] = []
        for order in query.order where names.last != "objectId" && names.last != "-objectId" {
            let type: FieldType
            let column: SQL
            switch Operand(order.path, of: table) {
            case .missing where order.path.field == "$score": throw PageCursor.noOrder
            case .missing, .relation: continue
            case .json: throw PageCursor.noOrder
            case .column(let found, let foundType): (column, type) = (found, foundType)
            }
            switch type {
            case .string, .number, .boolean, .date, .pointer, .file: break
            default: throw PageCursor.noOrder
            }
            let name = order.path.field
            let isNeverNull =
                ["objectId", "createdAt", "updatedAt"].contains(name) || table.schema.requiredFields.contains(name)
            keys.append(Key(column: column, type: type, descending: order.descending, mayBeNull: !isNeverNull))
            names.append((order.descending ? "-" : "") + order.path.description)
        }
        if keys.isEmpty {
            guard !query.predicate.sortsByDistance else { throw PageCursor.noOrder }
            keys.append(Key(column: table.column("createdAt"), type: .date, descending: false, mayBeNull: false))
            names.append("createdAt")
        }
        let descending = keys[keys.count - 1].descending
        if names.last != "objectId", names.last != "-objectId" {
            keys.append(
                Key(column: table.column("objectId"), type: .string, descending: descending, mayBeNull: false))
            names.append(descending ? "-objectId" : "objectId")
        }
        self.keys = keys
        order = names.joined(separator: ",")
    }

    private static let noOrder = ParseError(102, "cursor needs an order by plain fields.")
    private static let isFalse = ParseError(102, "cursor is none that an answer to this query told.")

    /// What the statement must bring beside the objects: `, a, b`.
    var expressions: SQL {
        var sql: SQL = ""
        for key in keys { sql += ", \(key.column)" }
        return sql
    }

    /// How many these are.
    var width: Int { keys.count }

    /// The cursor behind a row, whose values stand from `column` on.
    func text(_ rows: Rows, _ row: Int, from column: Int) -> String {
        var values: [JSON] = []
        for (index, key) in keys.enumerated() {
            let column = column + index
            guard !rows.isNull(row, column) else {
                values.append(.null)
                continue
            }
            switch key.type {
            case .number: values.append(.number(rows.double(row, column)))
            case .boolean: values.append(.bool(rows.bool(row, column)))
            case .date: values.append(.number(Double(rows.timestampMilliseconds(row, column))))
            default: values.append(.string(rows.string(row, column)))
            }
        }
        let bytes = JSON.array([.string(order), .array(values)]).bytes
        return Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The objects behind a cursor.
    ///
    /// - Throws: 102 for one that is none, or of another order.
    func condition(_ text: String) throws(ParseError) -> Condition {
        guard !text.isEmpty else { return .always }
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        guard let bytes = Base64.decode(base64), let json = try? JSONParser.parse(bytes), let parts = json.array,
            parts.count == 2, parts[0] == .string(order), let values = parts[1].array, values.count == keys.count
        else { throw PageCursor.isFalse }
        var bound: [SQL?] = []
        for (key, value) in zip(keys, values) {
            switch (key.type, value) {
            case (_, .null) where key.mayBeNull: bound.append(nil)
            case (.number, .number(let number)): bound.append(.number(number))
            case (.boolean, .bool(let bool)): bound.append(.bind(.bool(bool), "boolean"))
            case (.date, .number(let number)) where abs(number) <= 8.64e15:
                bound.append(.date(Timestamp(milliseconds: Int64(number))))
            case (.string, .string(let text)), (.pointer, .string(let text)), (.file, .string(let text)):
                guard !text.utf8.contains(0) else { throw PageCursor.isFalse }
                bound.append(.text(text))
            default: throw PageCursor.isFalse
            }
        }
        return behind(bound)
    }

    /// PostgreSQL puts NULL last in ascending order, and first in descending one.
    private func behind(_ values: [SQL?]) -> Condition {
        let known = values.compactMap { $0 }
        let descending = keys[0].descending
        let isOneWay =
            known.count == keys.count
            && keys.allSatisfy { $0.descending == descending && ($0.descending || !$0.mayBeNull) }
        if isOneWay {
            // As one comparison of rows, which an index of these fields finds at once.
            let sign: SQL = descending ? "<" : ">"
            return .when("(\(keys.map(\.column))) \(sign) (\(known))")
        }
        var ways: [Condition] = []
        var same: [Condition] = []
        for (key, value) in zip(keys, values) {
            ways.append(.all(same + [after(key, value)]))
            same.append(value.map { .when("\(key.column) = \($0)") } ?? .when("\(key.column) IS NULL"))
        }
        return .any(ways)
    }

    private func after(_ key: Key, _ value: SQL?) -> Condition {
        guard let value else { return key.descending ? .when("\(key.column) IS NOT NULL") : .never }
        guard !key.descending else { return .when("\(key.column) < \(value)") }
        let greater = Condition.when("\(key.column) > \(value)")
        return key.mayBeNull ? .any([greater, .when("\(key.column) IS NULL")]) : greater
    }
}
