import Wire

/// What a backup says of itself: its member `manifest.json`.
public struct BackupManifest: Sendable, Equatable {
    static let name = "manifest.json"
    static let dump = "database.dump"
    static let keys = "keys.json"
    static let format = "hermes-backup"
    /// This form of backups. A reader refuses newer ones.
    static let formatVersion = 1

    public var createdAt: Timestamp
    /// Hermes' version.
    public var hermes: String
    /// The last migration of the database.
    public var migration: Int
    /// Of the server that it was taken from, such as "15.14".
    public var postgres: String
    public var pgDump: String
    /// Bytes that the database took on disk.
    public var databaseSize: Int
    /// How many objects each class has.
    public var classes: [String: Int]
    /// How many rows the other tables have: relations, the queue of jobs, what the server keeps.
    public var tables: [String: Int]
    /// How many indexes a restore builds.
    public var indexes: Int

    /// Objects of all classes.
    public var objects: Int { classes.values.reduce(0, +) }
    var rows: Int { objects + tables.values.reduce(0, +) }
    var serverMajor: Int { Int(postgres.prefix { $0.isNumber }) ?? 0 }

    /// Its JSON.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    var bytes: [UInt8] {
        let counts = { (counts: [String: Int]) in
            JSON.object(JSONObject(counts.sorted { $0.key < $1.key }.map { ($0.key, JSON.number(Double($0.value))) }))
        }
        let members: [(String, JSON)] = [
            ("format", .string(Self.format)), ("version", .number(Double(Self.formatVersion))),
            ("createdAt", .string(createdAt.description)), ("hermes", .string(hermes)),
            ("migration", .number(Double(migration))), ("postgres", .string(postgres)), ("pgDump", .string(pgDump)),
            ("databaseSize", .number(Double(databaseSize))), ("classes", counts(classes)), ("tables", counts(tables)),
            ("indexes", .number(Double(indexes))),
        ]
        let lines = members.map { "  \(JSON.string($0.0)): \($0.1)" }.joined(separator: ",\n")
        return Array("{\n\(lines)\n}\n".utf8)
    }

    init(
        createdAt: Timestamp, hermes: String, migration: Int, postgres: String, pgDump: String, databaseSize: Int,
        classes: [String: Int], tables: [String: Int], indexes: Int
    ) {
        self.createdAt = createdAt
        self.hermes = hermes
        self.migration = migration
        self.postgres = postgres
        self.pgDump = pgDump
        self.databaseSize = databaseSize
        self.classes = classes
        self.tables = tables
        self.indexes = indexes
    }

    /// - Throws: a sentence where it is none, or of a newer form.
    init(_ bytes: [UInt8], of path: String) throws(ArchiveFailure) {
        let unreadable = ArchiveFailure("\(path) is not a backup made by hermes backup")
        func whole(_ json: JSON?) -> Int? { json?.number.flatMap { Int(exactly: $0) } }
        guard let json = try? JSONParser.parse(bytes).object, json["format"] == .string(Self.format),
            let version = whole(json["version"])
        else { throw unreadable }
        guard version <= Self.formatVersion else {
            throw ArchiveFailure("\(path) was made by a newer Hermes: restore it with that one")
        }
        func counts(_ member: String) -> [String: Int]? {
            json[member]?.object.map { object in
                Dictionary(
                    object.members.map { ($0.key, whole($0.value) ?? -1) }, uniquingKeysWith: { _, last in last })
            }
        }
        guard let createdAt = json["createdAt"]?.string.flatMap({ Timestamp(iso: $0) }),
            let hermes = json["hermes"]?.string, let migration = whole(json["migration"]),
            let postgres = json["postgres"]?.string, let pgDump = json["pgDump"]?.string,
            let databaseSize = whole(json["databaseSize"]), let classes = counts("classes"),
            let tables = counts("tables"), let indexes = whole(json["indexes"])
        else { throw unreadable }
        self.init(
            createdAt: createdAt, hermes: hermes, migration: migration, postgres: postgres, pgDump: pgDump,
            databaseSize: databaseSize, classes: classes, tables: tables, indexes: indexes)
    }
}
