import Wire

/// How a class stands in the catalogue: `{"fields": {…}, "permissions": {…} or absent}`; and its indexes as they are
/// read with it: `[[name, definition, relation, isUnique, [field, …]], …]`.
enum CatalogueCoding {
    static func encode(_ schema: ClassSchema) -> JSON {
        var object = JSONObject([("fields", .object(schema.fieldsShown))])
        if let given = schema.permissions.given { object["permissions"] = .object(given) }
        return .object(object)
    }

    static func decode(
        _ json: JSON, name: String, version: Int64, stamp: Int64, serverProtectedFields: JSONObject?
    ) throws -> ClassSchema {
        guard case .object(let entry) = json, case .object(let object)? = entry["class"],
            case .object(let definitions)? = object["fields"]
        else {
            throw ParseError(1, "The catalogue's entry of \(name) cannot be read.")
        }
        var fields: [String: ClassSchema.Field] = [:]
        for (field, definition) in definitions.members {
            guard case .object(let definition) = definition else { continue }
            fields[field] = try FieldDefinition.read(definition)
        }
        for (field, type) in DefaultFields.of(name) where fields[field] == nil {
            fields[field] = ClassSchema.Field(type)
        }
        var permissions: JSONObject?
        if case .object(let given)? = object["permissions"] { permissions = given }
        var indexes: [ClassIndex] = []
        if case .array(let rows)? = entry["indexes"] { indexes = rows.compactMap(index) }
        return ClassSchema(
            name: name, version: version, stamp: stamp, fields: fields,
            permissions: ClassPermissions(given: permissions, serverProtectedFields: serverProtectedFields),
            indexes: indexes)
    }

    private static func index(_ row: JSON) -> ClassIndex? {
        guard case .array(let row) = row, row.count == 5, let name = row[0].string, let relation = row[2].string,
            case .array(let fields) = row[4]
        else { return nil }
        return ClassIndex(
            name: name, definition: row[1], relation: relation, isUnique: row[3] == .bool(true),
            fields: fields.compactMap(\.string))
    }
}

extension ClassSchema {
    /// The indexes as the schema API shows them, with the entry that dashboards know from MongoDB.
    public var indexesShown: JSONObject {
        JSONObject(
            [("_id_", .object(JSONObject([("_id", .number(1))])))] + indexes.map { ($0.name, $0.definition) })
    }

    /// The fields as the schema API shows them.
    public var fieldsShown: JSONObject {
        JSONObject(fields.sorted { $0.key < $1.key }.map { ($0.key, .object(FieldDefinition.json($0.value))) })
    }
}

/// One field as the schema API and the catalogue write it.
enum FieldDefinition {
    /// Reads what a client declares, with all checks.
    static func parse(_ json: JSON, name: String, className: String) throws(ParseError) -> ClassSchema.Field {
        guard case .object(let definition) = json else { throw ParseError(107, "invalid JSON") }
        if case .string("ACL")? = definition["type"] { throw ParseError(111, "invalid field type: ACL") }
        let field = try read(definition)
        if case .relation = field.type {
            // Parse-Swift says `"required": false` of every field.
            for (shown, isSet) in [("required", field.required), ("default value", field.defaultValue != nil)]
            where isSet {
                throw ParseError(111, "The '\(shown)' option is not applicable for \(field.type)")
            }
        }
        if let required = field.options["required"] {
            guard case .bool = required else {
                throw ParseError(111, "The option required of \(name) must be true or false.")
            }
        }
        if let given = field.defaultValue {
            let implied = try Value.parse(given).fieldType
            guard implied == field.type else {
                throw ParseError(
                    111,
                    "schema mismatch for \(className).\(name) default value; expected \(field.type) "
                        + "but got \(implied?.description ?? "null")")
            }
        }
        return field
    }

    /// Reads what the catalogue holds.
    static func read(_ definition: JSONObject) throws(ParseError) -> ClassSchema.Field {
        var field = ClassSchema.Field(try FieldType(json: definition))
        for (key, value) in definition.members where key != "type" && key != "targetClass" {
            if key == "required" { field.required = value == .bool(true) }
            if key == "defaultValue", value != .null { field.defaultValue = value }
            field.options[key] = value
        }
        return field
    }

    static func json(_ field: ClassSchema.Field) -> JSONObject {
        var object = field.type.json
        for (key, value) in field.options.members { object[key] = value }
        return object
    }
}
