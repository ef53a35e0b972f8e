import Core
import Postgres
import Synchronization
import Wire

/// The schema as all workers of this process share it.
public final class SchemaCache: Sendable {
    private struct State {
        var snapshot = SchemaSnapshot.empty
        /// The newest version that is known to exist.
        var newest: Int64 = 0
        /// Counts the gaps in what was heard of other nodes.
        var gaps: UInt64 = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// The schema as last read; nil when a newer one is known to exist.
    var snapshot: SchemaSnapshot? {
        state.withLock { $0.snapshot.version >= $0.newest && $0.snapshot.version >= 0 ? $0.snapshot : nil }
    }

    var gaps: UInt64 { state.withLock { $0.gaps } }

    /// A node has made this version.
    func heard(of version: Int64) { state.withLock { $0.newest = max($0.newest, version) } }

    /// Changes may have gone unheard: what was read before tells nothing any more.
    func missedSome() {
        state.withLock { state in
            state.gaps += 1
            state.snapshot = SchemaSnapshot.empty
        }
    }

    /// Takes over what was read, unless something newer is there, or something was missed since the reading began.
    func install(_ snapshot: SchemaSnapshot, readAfter gaps: UInt64) {
        state.withLock { state in
            guard state.gaps == gaps, snapshot.version > state.snapshot.version else { return }
            state.snapshot = snapshot
            state.newest = max(state.newest, snapshot.version)
        }
    }
}

/// The catalogue of classes as one worker reads and changes it.
///
/// Changes of the schema run one after another on the whole database: each begins by taking the row of
/// `"_SCHEMA_VERSION"`, and reads the catalogue again behind it. Two clients that add the same field at once thus have
/// one outcome.
public final class Catalogue {
    /// The channel on which nodes tell each other that the schema has changed.
    public static let channel = "hermes_schema"

    public let database: Database
    public let cache: SchemaCache
    /// Protected fields that the configuration adds, by class.
    private let serverProtectedFields: [String: JSONObject]
    private let allowsCustomObjectIds: Bool

    public init(
        database: Database, cache: SchemaCache, serverProtectedFields: [String: JSONObject] = [:],
        allowsCustomObjectIds: Bool = false
    ) {
        self.database = database
        self.cache = cache
        self.serverProtectedFields = serverProtectedFields
        self.allowsCustomObjectIds = allowsCustomObjectIds
    }

    // MARK: reading

    private static let readVersion = Statement("SELECT version FROM \"_SCHEMA_VERSION\"")
    private static let readAll = Statement(
        """
        SELECT v.version, s."className", s."schema" FROM "_SCHEMA_VERSION" v LEFT JOIN "_SCHEMA" s ON true
        """)

    /// Follows the changes that other nodes make.
    public func follow() {
        let cache = cache
        database.listen(channel: Catalogue.channel) { payload in
            if let version = Int64(payload) { cache.heard(of: version) }
        } onConnected: {
            cache.missedSome()
        }
    }

    /// The schema: the cached one while it is sure that no other node has changed it, else the database's.
    public func snapshot() async throws -> SchemaSnapshot {
        if let cached = cache.snapshot {
            if database.isListening { return cached }
            let version = try await database.read(Catalogue.readVersion, []).int(0, 0)
            if version == cached.version { return cached }
        }
        return try await reload()
    }

    /// Reads the schema from the database into the cache.
    @discardableResult
    public func reload() async throws -> SchemaSnapshot {
        let gaps = cache.gaps
        let rows = try await database.read(Catalogue.readAll, [])
        var classes: [String: ClassSchema] = [:]
        for row in 0..<rows.count where !rows.isNull(row, 1) {
            let name = rows.string(row, 1)
            let json = try JSONParser.parse(rows.json(row, 2))
            classes[name] = try CatalogueCoding.decode(
                json, name: name, serverProtectedFields: serverProtectedFields[name])
        }
        let snapshot = SchemaSnapshot(version: rows.int(0, 0), classes: classes)
        cache.install(snapshot, readAfter: gaps)
        return snapshot
    }

    // MARK: changing

    private static let takeVersion = Statement(
        "UPDATE \"_SCHEMA_VERSION\" SET version = version + 1 RETURNING version")
    private static let readOne = Statement("SELECT \"schema\" FROM \"_SCHEMA\" WHERE \"className\" = $1")
    private static let store = Statement(
        """
        INSERT INTO "_SCHEMA" ("className", "schema") VALUES ($1, $2::jsonb)
        ON CONFLICT ("className") DO UPDATE SET "schema" = excluded."schema"
        """)
    private static let forget = Statement("DELETE FROM \"_SCHEMA\" WHERE \"className\" = $1")
    private static let tell = Statement("SELECT pg_notify('\(channel)', $1)")

    /// Changes one class within a transaction that no other change of the schema overlaps.
    ///
    /// `body` gets the class as it is (nil: there is none) and answers what it becomes: nil for no change at all.
    private func change(
        _ className: String, _ body: (ClassSchema?, SchemaTransaction) async throws -> SchemaChange
    ) async throws -> SchemaSnapshot {
        try await database.transaction { transaction in
            // A table's lock may be held by a long read; better a clear error than a queue behind us.
            _ = try await transaction.execute(Statement("SET LOCAL lock_timeout = '5s'"), [])
            let version = try await transaction.execute(Catalogue.takeVersion, []).int(0, 0)
            let rows = try await transaction.execute(Catalogue.readOne, [.text(className)])
            var existing: ClassSchema?
            if rows.count > 0 {
                existing = try CatalogueCoding.decode(
                    try JSONParser.parse(rows.json(0, 0)), name: className,
                    serverProtectedFields: serverProtectedFields[className])
            }
            switch try await body(existing, SchemaTransaction(transaction)) {
            case .nothing:
                return
            case .becomes(let schema):
                let encoded = CatalogueCoding.encode(schema).bytes
                _ = try await transaction.execute(Catalogue.store, [.text(className), .utf8(encoded)])
            case .disappears:
                _ = try await transaction.execute(Catalogue.forget, [.text(className)])
            }
            _ = try await transaction.execute(Catalogue.tell, [.text(String(version))])
        }
        return try await reload()
    }

    private enum SchemaChange {
        case nothing
        case becomes(ClassSchema)
        case disappears
    }

    /// Makes sure that a class has these fields, making it and them where they are missing; answers the schema then.
    ///
    /// Throws 111 when a field is there with another type.
    public func ensure(_ className: String, fields: [String: FieldType]) async throws -> SchemaSnapshot {
        try await change(className) { existing, transaction in
            var all = existing?.fields ?? DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
            var added: [(String, ClassSchema.Field)] = []
            for (name, type) in fields.sorted(by: { $0.key < $1.key }) {
                if let field = all[name] {
                    guard field.type == type else { throw SchemaMismatch.error(className, name, field.type, type) }
                } else {
                    let field = ClassSchema.Field(type)
                    all[name] = field
                    added.append((name, field))
                }
            }
            if existing == nil {
                try CatalogueChecks.isNoJoinTable(className)
                try await transaction.createTable(className, all)
            } else if added.isEmpty {
                return .nothing
            } else {
                try await transaction.addColumns(className, added)
            }
            try CatalogueChecks.oneGeoPoint(className, all, added: added.map(\.0))
            return .becomes(
                ClassSchema(
                    name: className, fields: all, permissions: existing?.permissions ?? .open,
                    indexes: existing?.indexes ?? JSONObject()))
        }
    }

    /// `POST /schemas`: makes a class. Throws 103 when it is there.
    public func create(_ className: String, _ request: SchemaRequest) async throws -> ClassSchema {
        try Names.checkClass(className)
        let changed = try await change(className) { existing, transaction in
            guard existing == nil else { throw ParseError(103, "Class \(className) already exists.") }
            try CatalogueChecks.isNoJoinTable(className)
            var fields = DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
            for (name, definition) in request.fields.members {
                try CatalogueChecks.newFieldName(name, of: className)
                fields[name] = try FieldDefinition.parse(definition, name: name, className: className)
            }
            try CatalogueChecks.oneGeoPoint(className, fields, added: request.fields.members.map(\.key))
            if let given = request.permissions {
                try PermissionsCheck.check(given, fields: fields, objectIdIsCustom: allowsCustomObjectIds)
            }
            try await transaction.createTable(className, fields)
            let indexes = try await transaction.changeIndexes(
                className, fields, existing: JSONObject(), request.indexes)
            return .becomes(
                ClassSchema(
                    name: className, fields: fields, permissions: ClassPermissions(given: request.permissions),
                    indexes: indexes))
        }
        return try find(className, in: changed)
    }

    /// `PUT /schemas/:class`: adds, changes and deletes fields, permissions, indexes.
    public func update(_ className: String, _ request: SchemaRequest) async throws -> ClassSchema {
        let changed = try await change(className) { existing, transaction in
            guard let existing else { throw ParseError(103, "Class \(className) does not exist.") }
            var fields = existing.fields
            var added: [(String, ClassSchema.Field)] = []
            var deleted: [(String, ClassSchema.Field)] = []
            for (name, definition) in request.fields.members {
                if isDelete(definition) {
                    guard let field = fields[name] else {
                        throw ParseError(255, "Field \(name) does not exist, cannot delete.")
                    }
                    try CatalogueChecks.mayDelete(name, of: className)
                    fields[name] = nil
                    deleted.append((name, field))
                } else if let field = fields[name] {
                    guard case .object(let object) = definition else { throw ParseError(107, "invalid JSON") }
                    let type = try FieldDefinition.read(object).type
                    guard type.name == field.type.name else {
                        throw ParseError(255, "Field \(name) exists, cannot update.")
                    }
                    guard type == field.type else {
                        throw SchemaMismatch.error(className, name, field.type, type)
                    }
                    // No client can declare such a field, but those that read a schema send it back whole.
                    guard type != .acl else { continue }
                    fields[name] = try FieldDefinition.parse(definition, name: name, className: className)
                } else {
                    try CatalogueChecks.newFieldName(name, of: className)
                    let field = try FieldDefinition.parse(definition, name: name, className: className)
                    fields[name] = field
                    added.append((name, field))
                }
            }
            try CatalogueChecks.oneGeoPoint(className, fields, added: added.map(\.0))
            var permissions = existing.permissions
            if let given = request.permissions {
                try PermissionsCheck.check(given, fields: fields, objectIdIsCustom: allowsCustomObjectIds)
                permissions = ClassPermissions(given: given)
            }
            try await transaction.dropColumns(className, deleted)
            try await transaction.addColumns(className, added)
            let indexes = try await transaction.changeIndexes(
                className, fields, existing: existing.indexes, request.indexes)
            return .becomes(
                ClassSchema(name: className, fields: fields, permissions: permissions, indexes: indexes))
        }
        return try find(className, in: changed)
    }

    /// `DELETE /schemas/:class`. Throws 255 while it has objects; a class that is not there is no error.
    public func delete(_ className: String) async throws {
        guard Names.isClass(className) else {
            throw ParseError(
                103, "Invalid classname: \(className), classnames can only have alphanumeric characters and _")
        }
        _ = try await change(className) { existing, transaction in
            guard let existing else { return .nothing }
            guard DefaultFields.byClass[className] == nil else {
                throw ParseError(103, "Class \(className) belongs to the server and cannot be deleted.")
            }
            try await transaction.dropTable(existing)
            return .disappears
        }
    }

    private func find(_ className: String, in snapshot: SchemaSnapshot) throws -> ClassSchema {
        guard let schema = snapshot[className] else {
            throw ParseError(103, "Class \(className) does not exist.")
        }
        return schema
    }

    private func isDelete(_ json: JSON) -> Bool {
        if case .object(let object) = json, object["__op"] == .string("Delete") { return true }
        return false
    }
}

/// What a schema request asks for.
public struct SchemaRequest: Sendable {
    public var fields: JSONObject
    /// nil: the permissions stay as they are.
    public var permissions: JSONObject?
    public var indexes: JSONObject

    public init(fields: JSONObject = .init(), permissions: JSONObject? = nil, indexes: JSONObject = .init()) {
        self.fields = fields
        self.permissions = permissions
        self.indexes = indexes
    }
}

/// A value of one type meets a field of another.
public enum SchemaMismatch {
    public static func error(_ className: String, _ field: String, _ expected: FieldType, _ got: FieldType)
        -> ParseError
    {
        ParseError(111, "schema mismatch for \(className).\(field); expected \(expected) but got \(got)")
    }
}

enum CatalogueChecks {
    /// The table of a relation is made and filled by writes to the relation, never as a class of its own.
    static func isNoJoinTable(_ className: String) throws(ParseError) {
        guard Names.isJoinClass(className) else { return }
        throw ParseError(103, "\(className) cannot be written to. Add to the relation, or remove from it, instead.")
    }

    static func newFieldName(_ name: String, of className: String) throws(ParseError) {
        if DefaultFields.of(className)[name] != nil {
            throw ParseError(136, "field \(name) cannot be added")
        }
        try Names.checkField(name)
    }

    static func mayDelete(_ name: String, of className: String) throws(ParseError) {
        if DefaultFields.of(className)[name] != nil { throw ParseError(136, "field \(name) cannot be changed") }
    }

    static func oneGeoPoint(
        _ className: String, _ fields: [String: ClassSchema.Field], added: [String]
    ) throws(ParseError) {
        let points = fields.filter { $0.value.type == .geoPoint }.map(\.key)
        guard points.count > 1 else { return }
        let newest = added.last { points.contains($0) } ?? points[0]
        let other = points.sorted().first { $0 != newest } ?? newest
        throw ParseError(
            111,
            "currently, only one GeoPoint field may exist in an object. Adding \(newest) when \(other) already exists.")
    }
}
