import Wire

/// One class as the catalogue has it: an immutable value, shared by all workers.
public final class ClassSchema: Sendable {
    public let name: String
    /// Grows with each change of the class; no two changes have the same one. 0: not stored yet.
    public let version: Int64
    /// The version's hash, as the database works it out.
    let stamp: Int64
    /// All fields but the hidden ones, the default fields included.
    public let fields: [String: Field]
    public let permissions: ClassPermissions
    /// The indexes that were asked for, whether they are built already or not.
    public let indexes: [ClassIndex]
    /// The fields that have a column, in a stable order: default fields first, then by name.
    public let columns: [Column]
    /// The Relation fields, with each one's member name as it is written.
    public let relations: [(name: String, label: [UInt8], target: String)]
    /// The values that new objects get where they say nothing of a field.
    public let defaults: [(field: String, value: Value)]
    /// The fields that no object may lack.
    public let requiredFields: [String]

    public convenience init(name: String, fields: [String: Field], permissions: ClassPermissions) {
        self.init(name: name, version: 0, stamp: 0, fields: fields, permissions: permissions, indexes: [])
    }

    init(
        name: String, version: Int64, stamp: Int64, fields: [String: Field], permissions: ClassPermissions,
        indexes: [ClassIndex]
    ) {
        self.name = name
        self.version = version
        self.stamp = stamp
        self.fields = fields
        self.permissions = permissions
        self.indexes = indexes
        columns = fields.filter {
            $0.value.hasColumn && !ClassSchema.rowFields.contains($0.key) && !(name == "_User" && $0.key == "password")
        }.sorted { $0.key < $1.key }.map { Column($0.key, $0.value) }
        relations = fields.sorted { $0.key < $1.key }.compactMap { name, field in
            guard case .relation(let target) = field.type else { return nil }
            return (name, Array(",\"\(name)\":".utf8), target)
        }
        // Checked when they were declared.
        defaults = fields.sorted { $0.key < $1.key }.compactMap { name, field in
            field.defaultValue.flatMap { try? Value.parse($0) }.map { (name, $0) }
        }
        requiredFields = fields.filter(\.value.required).map(\.key).sorted()
    }

    /// The fields of an index that PostgreSQL names in an error; nil where it is none that was asked for.
    public func fields(ofIndex relation: String) -> [String]? {
        indexes.first { $0.relation == relation }?.fields
    }

    /// The fields that every row has; `columns` leaves them out.
    public static let rowFields: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// A field that has a column, with the forms of its name that every read needs.
    public struct Column: Sendable {
        public let name: String
        public let field: Field
        /// The name as an identifier in SQL.
        public let identifier: String
        /// The name as a member in JSON: `,"titulo":`
        public let label: [UInt8]

        init(_ name: String, _ field: Field) {
            self.name = name
            self.field = field
            identifier = quoted(name)
            label = Array(",\"\(name)\":".utf8)
        }
    }

    /// One field of a class.
    public struct Field: Sendable, Equatable {
        public var type: FieldType
        public var required: Bool
        public var defaultValue: JSON?
        /// The options as they were given (`required`, `defaultValue`), for the schema API to show.
        public var options: JSONObject

        public init(_ type: FieldType, required: Bool = false, defaultValue: JSON? = nil, options: JSONObject = .init())
        {
            self.type = type
            self.required = required
            self.defaultValue = defaultValue
            self.options = options
        }

        /// Relations live in join tables; the ACL in two columns of its own.
        public var hasColumn: Bool {
            switch type {
            case .relation, .acl: false
            default: true
            }
        }
    }

    /// Whether the class belongs to the server: its name begins with `_`.
    public var isSystem: Bool { name.hasPrefix("_") }

    /// The join table of a Relation field.
    public static func joinTable(field: String, of className: String) -> String { "_Join:\(field):\(className)" }
}

/// All classes at one moment. Replaced as a whole.
public final class SchemaSnapshot: Sendable {
    public let classes: [String: ClassSchema]
    /// What the database answers as long as no class has changed.
    let fingerprint: Int64

    public init(classes: [String: ClassSchema]) {
        self.classes = classes
        fingerprint = classes.values.reduce(0) { $0 ^ $1.stamp }
    }

    public subscript(name: String) -> ClassSchema? { classes[name] }

    static let empty = SchemaSnapshot(classes: [:])

    func replacing(_ changes: [SchemaChange]) -> SchemaSnapshot {
        var classes = classes
        for change in changes { classes[change.className] = change.schema }
        return SchemaSnapshot(classes: classes)
    }
}
