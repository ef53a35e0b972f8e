import Schema
import Wire

/// What a field path of a query stands for in SQL.
enum Operand {
    case column(SQL, FieldType)
    /// Within an Object (or Array) field: a jsonb expression.
    case json(SQL)
    /// The relation of an object: the join table's name and the target's class.
    case relation(joinTable: String, target: String)
    /// No such field: missing in every object.
    case missing

    init(_ path: FieldPath, of table: TableReference) {
        let isCredential =
            table.schema.name == "_User"
            && (path.field == "password" || path.field == "authData" && table.hidesCredentials)
        guard let field = table.schema.fields[path.field], !isCredential else {
            self = Operand.hidden(path, of: table) ?? .missing
            return
        }
        switch field.type {
        case .relation(let target):
            self =
                path.isDotted
                ? .missing
                : .relation(joinTable: ClassSchema.joinTable(field: path.field, of: table.schema.name), target: target)
        case .acl:
            self = .missing
        case .object where path.isDotted:
            self = .json(Operand.within(table.column(path.field), path.rest))
        case .array where path.isDotted:
            self = .json(Operand.acrossLists(table.column(path.field), path.rest))
        case .pointer where path.rest == ["objectId"]:
            self = .column(table.column(path.field), .string)
        default:
            self = path.isDotted ? .missing : .column(table.column(path.field), field.type)
        }
    }

    /// What lies at a path of an Object: there, or across the lists that stand on the way.
    private static func within(_ column: SQL, _ path: [String]) -> SQL {
        let there: SQL = "(\(column) #> \(SQL.texts(path)))"
        return path.count == 1 ? there : "coalesce(\(there), \(acrossLists(column, path)))"
    }

    /// The list of what lies at `path` in the elements of the lists on the way; NULL where there is nothing.
    private static func acrossLists(_ column: SQL, _ path: [String]) -> SQL {
        var steps = "$"
        for name in path {
            // Nine digits fit into the integer that PostgreSQL takes for an index.
            let isIndex = name.utf8.count < 10 && name.utf8.allSatisfy { $0 >= 48 && $0 <= 57 }
            steps += isIndex ? "[\(name)]" : ".\(JSON.string(name))"
        }
        // A list at the end counts element by element.
        steps += "[*]"
        return "nullif(jsonb_path_query_array(\(column), \(SQL.bind(.text(steps), "jsonpath"))), '[]'::jsonb)"
    }

    /// What the server keeps beside a user's fields, for those who may query it.
    private static func hidden(_ path: FieldPath, of table: TableReference) -> Operand? {
        guard table.schema.name == "_User", !table.hidesCredentials, !path.isDotted,
            let field = DefaultFields.hiddenUserFields.first(where: { $0.name == path.field })
        else { return nil }
        return .column(table.column(field.name), field.type)
    }
}
