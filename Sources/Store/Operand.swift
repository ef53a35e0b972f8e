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
            self = .missing
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
        case .object, .array:
            let column = table.column(path.field)
            self =
                path.isDotted ? .json("(\(column) #> \(SQL.texts(path.rest)))") : .column(column, field.type)
        default:
            self = path.isDotted ? .missing : .column(table.column(path.field), field.type)
        }
    }
}
