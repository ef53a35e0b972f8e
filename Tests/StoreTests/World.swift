import Wire

/// Everything that a differential test writes before it asks: as data, so that it can be generated and shrunk.
struct World {
    struct Class {
        var name: String
        var fields: [(name: String, type: FieldType)]
        /// nil: the class is made without permissions.
        var permissions: JSONObject?
        /// `required` and `defaultValue`, by field.
        var options: [String: JSONObject] = [:]

        /// Not one of the server's own.
        var isPlain: Bool { !name.hasPrefix("_") }

        func type(_ field: String) -> FieldType? {
            if field == "objectId" { return .string }
            return fields.first { $0.name == field }?.type
        }
    }

    struct Row {
        var className: String
        var id: String
        /// As clients write them; Relation fields apart.
        var fields: [(name: String, value: JSON)]
        /// The members of Relation fields, whether those objects are there or not.
        var related: [(field: String, ids: [String])] = []
        /// nil: public.
        var acl: JSONObject?

        func value(_ field: String) -> JSON? {
            if field == "objectId" { return .string(id) }
            return fields.first { $0.name == field }?.value
        }

        func members(_ field: String) -> [String] { related.first { $0.field == field }?.ids ?? [] }
    }

    var classes: [Class]
    var rows: [Row]

    /// The classes that are not the server's own.
    var plain: [Class] { classes.filter(\.isPlain) }

    subscript(name: String) -> Class? { classes.first { $0.name == name } }
    func rows(of className: String) -> [Row] { rows.filter { $0.className == className } }

    static let users = ["anaanaanaa", "betobetobe", "carocaroca", "davedaveda"]
    static let roleNames = ["mods", "socios", "jefes"]
    /// `_User`, with what the server's configuration protects by default.
    static let userClass = Class(
        name: "_User", fields: [("username", .string), ("email", .string), ("emailVerified", .boolean)],
        permissions: nil)
    static let roleClass = Class(
        name: "_Role", fields: [("name", .string), ("users", .relation("_User")), ("roles", .relation("_Role"))],
        permissions: nil)

    static func pointer(_ className: String, _ id: String) -> JSON {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(id)]
    }
}

/// Who asks.
enum Asker: Equatable {
    case anonymous, master
    case user(String)
}

/// One request to read.
struct Question {
    enum Kind: Equatable {
        case find
        case get(String)
        case distinct(String)
    }

    var kind: Kind
    var className: String
    /// where, order, limit, skip, count, keys, excludeKeys, include, includeAll: as a client sends them.
    var parameters: JSONObject

    var condition: JSONObject { parameters["where"]?.object ?? JSONObject() }
}

/// One request to write.
struct Change {
    enum Kind: Equatable {
        case create
        case update(String)
        case delete(String)
    }

    var kind: Kind
    var className: String
    /// As a client sends it.
    var body = JSONObject()
}

/// What one viewer asks for in one go.
struct Script {
    enum Part {
        case ask(Question)
        case write(Change)
    }

    var asker: Asker
    var parts: [Part]
    /// All or nothing; else each part stands or falls by itself.
    var isTransaction = false

    /// What stands for the id of the object that a part makes, in the parts behind it.
    static func made(by part: Int) -> String { "made\(part)" }
}

extension World: CustomStringConvertible {
    var description: String {
        var lines: [String] = []
        for table in classes {
            let fields = table.fields.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
            lines.append("class \(table.name) (\(fields))")
            if let permissions = table.permissions { lines.append("  \(JSON.object(permissions))") }
            for (name, options) in table.options { lines.append("  \(name): \(JSON.object(options))") }
        }
        for row in rows {
            let fields = row.fields.map { "\($0.name): \($0.value)" } + row.related.map { "\($0.field) → \($0.ids)" }
            lines.append(
                "\(row.className) \(row.id) {\(fields.joined(separator: ", "))} "
                    + (row.acl.map { "ACL \(JSON.object($0))" } ?? "public"))
        }
        return lines.joined(separator: "\n")
    }
}

extension Question: CustomStringConvertible {
    var description: String { "\(kind) \(className) \(JSON.object(parameters))" }
}

extension Change: CustomStringConvertible {
    var description: String { "\(kind) \(className) \(JSON.object(body))" }
}

extension Script: CustomStringConvertible {
    var description: String {
        let lines = parts.map { part in
            switch part {
            case .ask(let question): "  asks: \(question)"
            case .write(let change): "  writes: \(change)"
            }
        }
        return "\(asker)\(isTransaction ? ", in a transaction," : "")\n\(lines.joined(separator: "\n"))"
    }
}
