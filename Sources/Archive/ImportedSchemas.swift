import Schema
import Wire

/// What a file `_SCHEMA.json` says of classes: as the schema API shows them, or as Parse Server keeps them in MongoDB.
/// What is there already stays as it is, and gets what it lacks.
struct ImportedSchemas {
    private struct Entry {
        var className: String
        var fields = JSONObject()
        var permissions: JSONObject?
        var indexes = JSONObject()
    }

    private var entries: [Entry] = []
    /// What could not be made, and why.
    private(set) var remarks: [String] = []
    var count: Int { entries.count }

    init() {}

    init(_ file: ObjectFile) throws {
        while let (bytes, place) = try file.next() {
            guard case .object(let object)? = try? JSONParser.parse(bytes) else {
                throw ArchiveFailure("\(file.path), line \(place.line): it is not valid JSON")
            }
            let entry = object["className"] == nil ? Self.ofMongo(object) : Self.ofAPI(object)
            guard var entry, Names.isClass(entry.className),
                !entry.className.hasPrefix("_") || DefaultFields.openSystemClasses.contains(entry.className)
            else { continue }
            let usual = DefaultFields.of(entry.className)
            entry.fields = JSONObject(entry.fields.members.filter { usual[$0.key] == nil })
            entry.indexes = JSONObject(entry.indexes.members.filter { $0.key != "_id_" })
            entries.append(entry)
        }
    }

    private static func ofAPI(_ object: JSONObject) -> Entry? {
        guard let name = object["className"]?.string else { return nil }
        return Entry(
            className: name, fields: object["fields"]?.object ?? JSONObject(),
            permissions: object["classLevelPermissions"]?.object, indexes: object["indexes"]?.object ?? JSONObject())
    }

    /// `{"_id": "Temas", "titulo": "string", "autor": "*_User", "_metadata": {"class_permissions": …}}`
    private static func ofMongo(_ object: JSONObject) -> Entry? {
        guard let name = object["_id"]?.string else { return nil }
        let metadata = object["_metadata"]?.object
        let options = metadata?["fields_options"]?.object
        var entry = Entry(
            className: name, permissions: metadata?["class_permissions"]?.object,
            indexes: metadata?["indexes"]?.object ?? JSONObject())
        for (field, type) in object.members where !field.hasPrefix("_") {
            guard let type = type.string.flatMap(Self.type) else { continue }
            var definition = type.json
            for (option, value) in options?[field]?.object?.members ?? [] { definition[option] = value }
            entry.fields[field] = .object(definition)
        }
        return entry
    }

    private static func type(_ text: String) -> FieldType? {
        switch text {
        case "string": return .string
        case "number": return .number
        case "boolean": return .boolean
        case "date": return .date
        case "map", "object": return .object
        case "array": return .array
        case "file": return .file
        case "geopoint": return .geoPoint
        case "polygon": return .polygon
        case "bytes": return .bytes
        default:
            if text.hasPrefix("*") { return .pointer(String(text.dropFirst())) }
            guard text.hasPrefix("relation<"), text.hasSuffix(">") else { return nil }
            return .relation(String(text.dropFirst(9).dropLast()))
        }
    }

    /// Makes classes and fields.
    mutating func make(_ catalogue: Catalogue) async throws {
        for entry in entries {
            let name = entry.className
            let existing = try await catalogue.reload()[name]
            var request = SchemaRequest(fields: entry.fields)
            // Somebody has said who may do what: that holds.
            if existing?.permissions.given == nil { request.permissions = entry.permissions }
            if let existing {
                request.fields = JSONObject()
                for (field, definition) in entry.fields.members {
                    guard let known = existing.fields[field] else {
                        request.fields[field] = definition
                        continue
                    }
                    if let type = definition.object.flatMap({ try? FieldType(json: $0) }), type != known.type {
                        remarks.append("\(name).\(field) is \(known.type) here, and \(type) in the export")
                    }
                }
            }
            if existing != nil, request.fields.isEmpty, request.permissions == nil { continue }
            do {
                try await apply(name, request, existing == nil, catalogue)
            } catch let error as ParseError where error.status != 503 && request.permissions != nil {
                // Closed rather than open: nobody is given what they must not have.
                remarks.append(
                    "\(name): its permissions can't be, so that the master key alone may use it: \(error.message)")
                request.permissions = JSONObject()
                do { try await apply(name, request, existing == nil, catalogue) } catch let error as ParseError
                    where error.status != 503
                { remarks.append("\(name): \(error.message)") }
            } catch let error as ParseError where error.status != 503 {
                remarks.append("\(name): \(error.message)")
            }
        }
    }

    private func apply(
        _ name: String, _ request: SchemaRequest, _ isNew: Bool, _ catalogue: Catalogue
    ) async throws {
        if isNew {
            _ = try await catalogue.create(name, request)
        } else {
            _ = try await catalogue.update(name, request)
        }
    }

    /// Makes the indexes that are not there, when the objects are.
    mutating func makeIndexes(_ catalogue: Catalogue) async throws {
        for entry in entries where !entry.indexes.isEmpty {
            guard let existing = try await catalogue.reload()[entry.className] else { continue }
            let known = Set(existing.indexes.map(\.name))
            for (name, definition) in entry.indexes.members where !known.contains(name) {
                let request = SchemaRequest(indexes: JSONObject([(name, definition)]))
                do { _ = try await catalogue.update(entry.className, request) } catch let error as ParseError
                    where error.status != 503
                { remarks.append("\(entry.className): the index \(name) is left out: \(error.message)") }
            }
        }
    }
}
