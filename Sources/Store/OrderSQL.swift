import Schema
import Wire

/// `ORDER BY`: the keys that the class has, then objectId, so that pages never overlap.
///
/// objectId follows the direction of the key before it: an index on both then serves either direction.
struct OrderSQL {
    struct Key {
        let expression: SQL
        var descending = false

        /// As it stands behind ORDER BY, under whatever name the statement has the expression's value.
        func sql(_ name: SQL) -> SQL { descending ? "\(name) DESC" : name }
    }

    let keys: [Key]

    /// No order.
    init() { keys = [] }

    /// `relevance` stands for the key `$score`; `near` sorts where nothing else does. By creation where neither says
    /// anything. Both are asked for only where they are used.
    init(
        _ order: [Order], on table: TableReference,
        relevance: () throws(ParseError) -> SQL? = { () throws(ParseError) in nil },
        near: () throws(ParseError) -> SQL? = { () throws(ParseError) in nil }
    ) throws(ParseError) {
        var keys: [Key] = []
        var endsUnique = false
        for key in order where !endsUnique {
            if key.path.field == "$score" {
                guard let relevance = try relevance() else { continue }
                keys.append(Key(expression: relevance, descending: true))
                continue
            }
            let expressions = OrderSQL.expressions(key.path, of: table)
            guard !expressions.isEmpty else { continue }
            keys += expressions.map { Key(expression: $0, descending: key.descending) }
            endsUnique = key.path == FieldPath(field: "objectId")
        }
        if keys.isEmpty { keys.append(Key(expression: try near() ?? table.column("createdAt"))) }
        if !endsUnique {
            keys.append(Key(expression: table.column("objectId"), descending: keys[keys.count - 1].descending))
        }
        self.keys = keys
    }

    var clause: SQL { keys.isEmpty ? "" : " ORDER BY \(keys.map { $0.sql($0.expression) })" }

    private static func expressions(_ path: FieldPath, of table: TableReference) -> [SQL] {
        switch Operand(path, of: table) {
        case .column(_, .geoPoint), .column(_, .polygon), .missing, .relation: []
        case .column(let column, _): [column]
        case .json(let expression):
            // Text by code points whatever the database's collation, dates as moments, all else as jsonb orders it.
            [
                """
                CASE WHEN jsonb_typeof(\(expression)) = 'string' THEN '""'::jsonb \
                WHEN hermes_date(\(expression)) IS NOT NULL THEN '{}'::jsonb ELSE \(expression) END
                """,
                "hermes_date(\(expression))",
                "(CASE jsonb_typeof(\(expression)) WHEN 'string' THEN \(expression) #>> '{}' END) COLLATE \"C\"",
            ]
        }
    }
}

/// `LIMIT` and `OFFSET`.
struct Page {
    let limit: Int?
    let skip: Int

    var sql: SQL {
        var sql: SQL = ""
        if let limit {
            // PostgreSQL takes a limit that it does not know for a tenth of the table, and so plans such a statement
            // anew each time. Limits that pages usually have stand in the text itself: a few dozen texts at most.
            sql += Page.isUsual(limit) ? " LIMIT \(number: limit)" : " LIMIT \(SQL.bind(.int(Int64(limit)), "bigint"))"
        }
        if skip > 0 { sql += " OFFSET \(SQL.bind(.int(Int64(skip)), "bigint"))" }
        return sql
    }

    /// 0 to 10, multiples of five to 100, of a hundred to 1,000, powers of two to 1,024.
    static func isUsual(_ limit: Int) -> Bool {
        switch limit {
        case ..<0: false
        case ...10: true
        case ...100 where limit % 5 == 0: true
        case ...1000 where limit % 100 == 0: true
        default: limit <= 1024 && limit & (limit - 1) == 0
        }
    }
}
