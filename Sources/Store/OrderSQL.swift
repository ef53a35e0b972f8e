import Schema
import Wire

/// `ORDER BY`: the keys that the class has, then objectId, so that pages never overlap.
struct OrderSQL {
    let sql: SQLContext

    /// `alwaysOrdered`: by creation where the query says nothing, because it takes a part of the rows.
    func clause(_ order: [Order], on table: TableReference, alwaysOrdered: Bool, near: String? = nil) throws(ParseError)
        -> String
    {
        var keys: [String] = []
        var endsUnique = false
        for key in order {
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
        if let near, keys.isEmpty { keys.append(near) }
        if keys.isEmpty {
            guard alwaysOrdered else { return "" }
            keys.append(table.column("createdAt"))
        }
        if !endsUnique { keys.append(table.column("objectId")) }
        return " ORDER BY " + keys.joined(separator: ", ")
    }
}
