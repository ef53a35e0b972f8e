import Postgres
import Schema
import Wire

/// A piece of SQL with the parameters that stand in it.
///
/// Its text can come from three places only: literals of this program, identifiers (quoted here) and small whole
/// numbers. What clients send is a parameter. Parameters get their numbers when the whole statement is rendered, so that
/// a piece that is left out takes its parameters along, and one that stands twice has one number.
struct SQL: Sendable {
    private(set) var text: [UInt8]
    /// Where in `text` parameters stand.
    private(set) var holes: [Hole] = []

    struct Hole: Sendable {
        let offset: Int
        let parameter: BoundParameter
    }

    /// A parameter: its identity is what tells two uses of one from two parameters that are equal.
    final class BoundParameter: Sendable {
        let value: Parameter
        let type: StaticString

        init(_ value: Parameter, _ type: StaticString) {
            self.value = value
            self.type = type
        }
    }

    static func bind(_ parameter: Parameter, _ type: StaticString) -> SQL {
        var sql = SQL(text: [])
        sql.holes = [Hole(offset: 0, parameter: BoundParameter(parameter, type))]
        return sql
    }

    static func text(_ string: String) -> SQL { bind(.text(string), "text") }
    static func texts(_ strings: [String]) -> SQL { bind(.textArray(strings), "text[]") }
    static func number(_ number: Double) -> SQL { bind(.double(number), "double precision") }
    static func date(_ date: Timestamp) -> SQL { bind(.timestamp(milliseconds: date.milliseconds), "timestamptz") }
    static func json(_ json: JSON) -> SQL { bind(.utf8(json.bytes), "jsonb") }

    static func += (one: inout SQL, other: SQL) { one.append(other) }

    fileprivate mutating func append(_ other: SQL) {
        let start = text.count
        text.append(contentsOf: other.text)
        for hole in other.holes { holes.append(Hole(offset: start + hole.offset, parameter: hole.parameter)) }
    }

    mutating func append(literal: StaticString) {
        literal.withUTF8Buffer { text.append(contentsOf: $0) }
    }

    fileprivate mutating func append(number: Int) {
        // Most have one digit.
        if (0...9).contains(number) {
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number))
        } else {
            text.append(contentsOf: String(number).utf8)
        }
    }

    mutating func append(_ column: ClassSchema.Column) { text.append(contentsOf: column.identifier.utf8) }

    /// `prefix0, prefix1…`: so many names that this program chose.
    mutating func append(names prefix: StaticString, _ count: Int) {
        for number in 0..<count {
            if number > 0 { append(literal: ", ") }
            append(literal: prefix)
            append(number: number)
        }
    }

    /// The statement's text, and what `$1`, `$2`… in it stand for.
    func rendered() -> (statement: Statement, parameters: [Parameter]) {
        guard !holes.isEmpty else { return (Statement(String(decoding: text, as: UTF8.self)), []) }
        var out: [UInt8] = []
        out.reserveCapacity(text.count + 24 * holes.count)
        var distinct: [BoundParameter] = []
        distinct.reserveCapacity(holes.count)
        // Most statements have a handful of parameters, which are found quicker by looking through them.
        var numbers: [ObjectIdentifier: Int]? = holes.count > 8 ? [:] : nil
        var start = 0
        for hole in holes {
            out.append(contentsOf: text[start..<hole.offset])
            start = hole.offset
            let known =
                numbers.map { $0[ObjectIdentifier(hole.parameter)] }
                ?? distinct.firstIndex { $0 === hole.parameter }.map { $0 + 1 }
            let number = known ?? distinct.count + 1
            if known == nil {
                distinct.append(hole.parameter)
                numbers?[ObjectIdentifier(hole.parameter)] = number
            }
            out.append(UInt8(ascii: "$"))
            out.append(contentsOf: String(number).utf8)
            out.append(UInt8(ascii: ":"))
            out.append(UInt8(ascii: ":"))
            hole.parameter.type.withUTF8Buffer { out.append(contentsOf: $0) }
        }
        out.append(contentsOf: text[start...])
        return (Statement(String(decoding: out, as: UTF8.self)), distinct.map(\.value))
    }
}

extension SQL: ExpressibleByStringInterpolation {
    init(stringLiteral literal: StaticString) {
        text = []
        append(literal: literal)
    }

    init(stringInterpolation: Interpolation) { self = stringInterpolation.sql }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var sql: SQL

        init(literalCapacity: Int, interpolationCount: Int) {
            sql = SQL(text: [])
            sql.text.reserveCapacity(literalCapacity + 24 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: StaticString) { sql.append(literal: literal) }
        mutating func appendInterpolation(_ other: SQL) { sql.append(other) }
        mutating func appendInterpolation(_ condition: Condition) { sql.append(condition.sql) }

        /// Several, with commas between them.
        mutating func appendInterpolation(_ list: [SQL]) {
            for (index, piece) in list.enumerated() {
                if index > 0 { sql.append(literal: ", ") }
                sql.append(piece)
            }
        }

        /// An identifier.
        mutating func appendInterpolation(name: String) { sql.text.append(contentsOf: quoted(name).utf8) }
        mutating func appendInterpolation(column: ClassSchema.Column) { sql.append(column) }
        /// A word of SQL that this program chose.
        mutating func appendInterpolation(word: StaticString) { sql.append(literal: word) }
        mutating func appendInterpolation(number: Int) { sql.append(number: number) }
    }
}

/// A condition, which is NULL where a value is missing: that counts as false.
enum Condition: Sendable {
    case always
    case never
    /// Can stand between AND and OR as it is. `not` is a better form of its negation than `(…) IS NOT TRUE`, where there
    /// is one.
    case when(SQL, not: SQL? = nil)

    /// The text alone, for the places that need one.
    var sql: SQL {
        switch self {
        case .always: "true"
        case .never: "false"
        case .when(let sql, _): sql
        }
    }

    /// True of what the condition is false or NULL of.
    var isNotTrue: Condition {
        switch self {
        case .always: .never
        case .never: .always
        case .when(let sql, let not?): .when(not, not: sql)
        case .when(let sql, nil): .when("(\(sql)) IS NOT TRUE", not: sql)
        }
    }

    static func all(_ conditions: [Condition]) -> Condition {
        guard let parts = conjuncts(conditions) else { return .never }
        return joined(parts, " AND ").map { .when(parts.count > 1 ? "(\($0))" : $0) } ?? .always
    }

    /// ` WHERE …`, or nothing where everything is wanted.
    static func clause(_ conditions: [Condition]) -> SQL {
        guard let parts = conjuncts(conditions) else { return " WHERE false" }
        return joined(parts, " AND ").map { " WHERE \($0)" } ?? ""
    }

    /// nil: never.
    private static func conjuncts(_ conditions: [Condition]) -> [SQL]? {
        var parts: [SQL] = []
        for condition in conditions {
            switch condition {
            case .always: continue
            case .never: return nil
            case .when(let sql, _): parts.append(sql)
            }
        }
        return parts
    }

    static func any(_ conditions: [Condition]) -> Condition {
        var parts: [SQL] = []
        for condition in conditions {
            switch condition {
            case .always: return .always
            case .never: continue
            case .when(let sql, _): parts.append(sql)
            }
        }
        return joined(parts, " OR ").map { .when(parts.count > 1 ? "(\($0))" : $0) } ?? .never
    }

    private static func joined(_ parts: [SQL], _ word: StaticString) -> SQL? {
        guard var sql = parts.first else { return nil }
        for part in parts.dropFirst() {
            sql.append(literal: word)
            sql += part
        }
        return sql
    }
}
