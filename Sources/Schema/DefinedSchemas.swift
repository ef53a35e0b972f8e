import Core
import Postgres
import Wire

/// Classes as a configuration defines them, and how far the database is made to follow.
public struct DefinedSchemas: Sendable {
    struct Definition: Sendable {
        var className: String
        var fields: JSONObject
        var permissions: JSONObject
        var indexes: JSONObject
    }

    /// Whether what is there and not defined is told of.
    public var isStrict = false
    /// Whether fields that are not defined are deleted with their values.
    public var deletesExtraFields = false
    /// Whether a field of another type than defined is deleted with its values and made anew.
    public var recreatesModifiedFields = false
    /// Whether indexes that are not defined stay.
    public var keepsUnknownIndexes = false
    let definitions: [Definition]

    public var isEmpty: Bool { definitions.isEmpty }

    /// Reads a list of `{className, fields, classLevelPermissions, indexes}`.
    ///
    /// A class without permissions is closed to clients, and no client adds fields to a defined one: both as in Parse
    /// Server. Throws 107 for another shape, 103 for a class that cannot be or is defined twice.
    public init(_ json: JSON) throws(ParseError) {
        guard case .array(let list) = json else { throw ParseError(107, "It must be a list of classes.") }
        var definitions: [Definition] = []
        for entry in list {
            guard case .object(let entry) = entry, case .string(let name)? = entry["className"] else {
                throw ParseError(107, "Each class must be an object with a className.")
            }
            try Names.checkClass(name)
            guard !definitions.contains(where: { $0.className == name }) else {
                throw ParseError(103, "The class \(name) is defined twice.")
            }
            var permissions = try DefinedSchemas.object("classLevelPermissions", entry, name)
            permissions["addField"] = .object(JSONObject())
            definitions.append(
                Definition(
                    className: name, fields: try DefinedSchemas.object("fields", entry, name),
                    permissions: permissions, indexes: try DefinedSchemas.object("indexes", entry, name)))
        }
        self.definitions = definitions
    }

    private static func object(_ member: String, _ entry: JSONObject, _ name: String) throws(ParseError) -> JSONObject {
        switch entry[member] {
        case nil, .null: return JSONObject()
        case .object(let object): return object
        default: throw ParseError(107, "\(member) of the class \(name) must be an object.")
        }
    }

    /// What leads from a class as it is to its definition: first what goes, then what comes.
    struct Steps {
        var deletions = SchemaRequest()
        var additions = SchemaRequest()
        /// What is there beside the definition, and stays.
        var remarks: [String] = []

        var deletesNothing: Bool { deletions.fields.isEmpty && deletions.indexes.isEmpty }
        var addsNothing: Bool {
            additions.fields.isEmpty && additions.indexes.isEmpty && additions.permissions == nil
        }
    }

    func steps(from existing: ClassSchema, to definition: Definition) throws(ParseError) -> Steps {
        var steps = Steps()
        let delete = JSON.object(JSONObject([("__op", .string("Delete"))]))
        let usual = DefaultFields.of(definition.className)
        for (name, given) in definition.fields.members where usual[name] == nil {
            let defined = try FieldDefinition.parse(given, name: name, className: definition.className)
            guard let field = existing.fields[name] else {
                steps.additions.fields[name] = given
                continue
            }
            if field == defined { continue }
            if field.type != defined.type {
                guard recreatesModifiedFields else {
                    steps.remarks.append("\(name) is of the type \(field.type), and defined as \(defined.type)")
                    continue
                }
                steps.deletions.fields[name] = delete
            }
            steps.additions.fields[name] = given
        }
        for name in existing.fields.keys.sorted() where usual[name] == nil && definition.fields[name] == nil {
            if deletesExtraFields {
                steps.deletions.fields[name] = delete
            } else {
                steps.remarks.append("\(name) is not defined")
            }
        }
        for (name, given) in definition.indexes.members where name != "_id_" {
            let known = existing.indexes.first { $0.name == name }
            if let known, known.definition != given { steps.deletions.indexes[name] = delete }
            // It goes with a field that is made anew.
            let isLost = known?.fields.contains { steps.deletions.fields[$0] != nil } ?? false
            if known?.definition != given || isLost { steps.additions.indexes[name] = given }
        }
        for index in existing.indexes where definition.indexes[index.name] == nil && !keepsUnknownIndexes {
            steps.deletions.indexes[index.name] = delete
        }
        if existing.permissions.given != definition.permissions {
            steps.additions.permissions = definition.permissions
        }
        return steps
    }
}

extension Catalogue {
    /// Brings the classes to what is defined. Several nodes may do so at once, and one may end in the middle: each
    /// step stands by itself, and whoever comes next does what is left.
    ///
    /// Throws what `create` and `update` throw.
    public func apply(_ defined: DefinedSchemas) async throws {
        for definition in defined.definitions {
            var tries = 0
            while true {
                do {
                    try await apply(definition, defined)
                    break
                } catch let error as ParseError where error.status == 503 || [102, 103, 255].contains(error.code) {
                    // The class is busy, or another node was faster with one of the steps.
                    tries += 1
                    guard tries < 10 else { throw error }
                    try await database.loop.sleep(nanoseconds: UInt64.random(in: 50_000_000...500_000_000))
                }
            }
        }
        guard defined.isStrict else { return }
        let names = Set(defined.definitions.map(\.className))
        let others = try await reload().classes.keys.filter { !names.contains($0) && !$0.hasPrefix("_") }.sorted()
        if !others.isEmpty {
            Log.shared.warning("classes are not defined", ["classes": .text(others.joined(separator: ", "))])
        }
    }

    private func apply(_ definition: DefinedSchemas.Definition, _ defined: DefinedSchemas) async throws {
        let name = definition.className
        guard let existing = try await reload()[name] else {
            let usual = DefaultFields.of(name)
            let fields = JSONObject(definition.fields.members.filter { usual[$0.key] == nil })
            _ = try await create(
                name, SchemaRequest(fields: fields, permissions: definition.permissions, indexes: definition.indexes))
            return
        }
        let steps = try defined.steps(from: existing, to: definition)
        if defined.isStrict {
            for remark in steps.remarks {
                Log.shared.warning("a class is not as defined", ["class": .text(name), "field": .text(remark)])
            }
        }
        if !steps.deletesNothing { _ = try await update(name, steps.deletions) }
        if !steps.addsNothing { _ = try await update(name, steps.additions) }
    }
}
