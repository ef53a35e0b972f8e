import Schema
import Wire

/// `ORDER BY`: the keys that the class has, then objectId, so that pages never overlap.
struct OrderSQL {
    let sql: SQLContext

    /// `alwaysOrdered`: by creation where the query says nothing, because it takes a part of the rows.
    /// `relevance` stands for the key `$score`; `near` sorts where nothing else does. Both are asked for only where
    /// they are used, since they bind parameters.
    func clause(
        _ order: [Order], on table: TableReference, alwaysOrdered: Bool,
        relevance: () throws(ParseError) -> String? = { () throws(ParseError) in nil },
        near: () throws(ParseError) -> String? = { () throws(ParseError) in nil }
    ) throws(ParseError) -> String {
        var keys: [String] = []
        var endsUnique = false
        for key in order {
            if key.path.field == "$score" {
                if let relevance = try relevance() { keys.append(relevance) }
                continue
            }
            if !key.path.isDotted, key.path.field == "objectId" { endsUnique = true }
            switch Operand(key.path, of: table, sql) {
            case .column(let column, let type):
                guard type != .geoPoint, type != .polygon else { continue }
                keys.append(column + (key.descending ? " DESC" : ""))
            case .json(let expression):
                keys.append(expression + (key.descending ? " DESC" : ""))
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
        return " ORDER BY " + keys.joined(separator: ", ")
    }
}
