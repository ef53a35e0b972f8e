import Wire

/// A class as `GET /schemas` shows it.
public struct ClassShape: Sendable, Equatable {
    public var name: String
    /// In the order in which they are shown: the protocol's own last.
    public var fields: [Field]
    /// Names of the indexes, and the fields of each.
    public var indexes: [(name: String, fields: [String])]
    public var permissions: JSONObject

    public struct Field: Sendable, Equatable {
        public var name: String
        public var type: FieldType
        public var isRequired: Bool
        public var defaultValue: JSON?
    }

    public init(name: String, fields: [Field], indexes: [(name: String, fields: [String])] = []) {
        self.name = name
        self.fields = fields
        self.indexes = indexes
        permissions = JSONObject()
    }

    public static func == (one: ClassShape, other: ClassShape) -> Bool {
        one.name == other.name && one.fields == other.fields && one.permissions == other.permissions
            && one.indexes.map(\.name) == other.indexes.map(\.name)
    }

    public subscript(name: String) -> Field? { fields.first { $0.name == name } }

    /// - Parameter json: an element of `results`; nil where it is none. Fields of a type that this program does not
    ///   know are left out.
    public init?(json: JSONObject) {
        guard let name = json["className"]?.string, let members = json["fields"]?.object else { return nil }
        self.name = name
        var fields: [Field] = []
        for (field, value) in members.members {
            guard let described = value.object, let type = try? FieldType(json: described) else { continue }
            fields.append(
                Field(
                    name: field, type: type, isRequired: described["required"] == true,
                    defaultValue: described["defaultValue"]))
        }
        self.fields = fields.sorted { ClassShape.rank($0, name) < ClassShape.rank($1, name) }
        indexes = (json["indexes"]?.object?.members ?? []).map { index, fields in
            (index, fields.object?.members.map(\.key) ?? [])
        }
        permissions = json["classLevelPermissions"]?.object ?? JSONObject()
    }

    /// What the protocol gives to every class comes last; within the rest, short types before long ones.
    private static func rank(_ field: Field, _ className: String) -> (Int, Int, String) {
        if let place = ["objectId", "createdAt", "updatedAt", "ACL"].firstIndex(of: field.name) {
            return (2, place, "")
        }
        let first = ["_User": "username", "_Role": "name"][className]
        let weight =
            switch field.type {
            case _ where field.name == first: 0
            case .string: 1
            case .pointer: 2
            case .number, .boolean, .date: 3
            case .file, .geoPoint: 4
            default: 5
            }
        return (1, weight, field.name)
    }

    /// The field that a person would know an object by: the user's name, else the first required text, else the first
    /// text that is no secret.
    public var labelField: String? {
        if name == "_User" { return "username" }
        if name == "_Role" { return "name" }
        let texts = fields.filter { $0.type == .string && $0.name != "objectId" && !isSecret($0.name) }
        return (texts.first(where: \.isRequired) ?? texts.first)?.name
    }

    /// Whether objects are found and sorted by a field without reading the whole class. Pointers have an index without
    /// being asked for one, which `GET /schemas` does not list.
    public func isIndexed(_ field: String) -> Bool {
        if case .pointer? = self[field]?.type { return true }
        return ["objectId", "createdAt"].contains(field) || indexes.contains { $0.fields.first == field }
    }

    /// Whether what is in the field is shown as `****` and not even asked for.
    public func isSecret(_ field: String) -> Bool {
        let lower = field.lowercased()
        return lower.hasSuffix("token") || lower.hasSuffix("secret") || lower.hasPrefix("_hashed")
            || lower == "authdata" || (name == "_User" && lower.hasPrefix("password")) || lower == "password"
    }
}

/// All classes of a server.
public struct Classes: Sendable, Equatable {
    public var all: [ClassShape]

    public init(_ all: [ClassShape]) { self.all = all.sorted { Classes.rank($0.name) < Classes.rank($1.name) } }

    /// - Parameter answer: that of `GET /schemas`.
    public init?(answer: JSON) {
        guard let results = answer.object?["results"]?.array else { return nil }
        self.init(results.compactMap { $0.object.flatMap(ClassShape.init) })
    }

    public subscript(name: String) -> ClassShape? { all.first { $0.name == name } }

    private static func rank(_ name: String) -> (Int, String) { (name.hasPrefix("_") ? 1 : 0, name) }

    /// The fields that point to a class, or relate to it.
    public func referrers(of className: String) -> [(className: String, field: ClassShape.Field)] {
        all.flatMap { shape in
            shape.fields.filter { $0.type.targetClass == className }.map { (shape.name, $0) }
        }
    }
}
