import Schema
import Wire

/// `ORDER BY`: the keys that the class has, then objectId, so that pages never overlap.
struct OrderSQL {
    /// `alwaysOrdered`: by creation where the query says nothing, because it takes a part of the rows.
    /// `relevance` stands for the key `$score`; `near` sorts where nothing else does. Both are asked for only where
    /// they are used.
    func clause(
        _ order: [Order], on table: TableReference, alwaysOrdered: Bool,
        relevance: () throws(ParseError) -> SQL? = { () throws(ParseError) in nil },
        near: () throws(ParseError) -> SQL? = { () throws(ParseError) in nil }
    ) throws(ParseError) -> SQL {
        var keys: [SQL] = []
        var endsUnique = false
        for key in order {
            if key.path.field == "$score" {
                if let relevance = try relevance() { keys.append(relevance) }
                continue
            }
            if !key.path.isDotted, key.path.field == "objectId" { endsUnique = true }
            switch Operand(key.path, of: table) {
            case .column(let column, let type):
                guard type != .geoPoint, type != .polygon else { continue }
                keys.append(key.descending ? "\(column) DESC" : column)
            case .json(let expression):
                keys.append(key.descending ? "\(expression) DESC" : expression)
            case .missing, .relation: continue
            }
            if endsUnique { break }
        }
        if keys.isEmpty, let near = try near() { keys.append(near) }
        if keys.isEmpty {
            guard alwaysOrdered else { return "" }
            keys.append(table.column("createdAt"))
        }
        if !endsUnique { keys.append(table.column("objectId")) }
        return " ORDER BY \(keys)"
    }
}

/// `LIMIT` and `OFFSET`.
struct Page {
    let limit: Int?
    let skip: Int

    var sql: SQL {
        var sql: SQL = ""
        if let limit { sql += " LIMIT \(SQL.bind(.int(Int64(limit)), "bigint"))" }
        if skip > 0 { sql += " OFFSET \(SQL.bind(.int(Int64(skip)), "bigint"))" }
        return sql
    }
}
