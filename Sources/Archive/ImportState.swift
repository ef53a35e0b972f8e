import Glibc
import Postgres
import Wire

/// How far each file is, in the database that it is imported into: written in the transaction that imports, so that an
/// import which ended in the middle, however it ended, goes on behind the last object that is there.
struct ImportState {
    var place: ObjectFile.Place?
    var imported = 0
    var refused = 0
    var isDone = false

    private static let table = """
        CREATE TABLE IF NOT EXISTS public."_hermes_import" (
            name text NOT NULL, fingerprint text NOT NULL, "offset" bigint NOT NULL, line bigint NOT NULL,
            imported bigint NOT NULL, refused bigint NOT NULL, done boolean NOT NULL, PRIMARY KEY (name, fingerprint)
        )
        """
    private static let find = Statement(
        """
        SELECT "offset", line, imported, refused, done FROM "_hermes_import" WHERE name = $1 AND fingerprint = $2
        """)
    private static let store = Statement(
        """
        INSERT INTO "_hermes_import" VALUES ($1, $2, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bool)
        ON CONFLICT (name, fingerprint) DO UPDATE SET "offset" = excluded."offset", line = excluded.line,
            imported = excluded.imported, refused = excluded.refused, done = excluded.done
        """)
    private static let forget = Statement("DELETE FROM \"_hermes_import\" WHERE name = $1 AND fingerprint = $2")

    /// What is remembered of files, made at the first import.
    static func prepare(_ database: Database) async throws { _ = try await database.run(table) }

    static func load(_ name: String, _ fingerprint: String, _ database: Database) async throws -> ImportState {
        let rows = try await database.write(find, [.text(name), .text(fingerprint)])
        guard rows.count > 0 else { return ImportState() }
        return ImportState(
            place: ObjectFile.Place(offset: Int(rows.int(0, 0)), line: Int(rows.int(0, 1))),
            imported: Int(rows.int(0, 2)), refused: Int(rows.int(0, 3)), isDone: rows.bool(0, 4))
    }

    func save(_ name: String, _ fingerprint: String, _ transaction: Transaction) async throws {
        let place = place ?? ObjectFile.Place(offset: 0, line: 1)
        _ = try await transaction.execute(
            Self.store,
            [
                .text(name), .text(fingerprint), .int(Int64(place.offset)), .int(Int64(place.line)),
                .int(Int64(imported)), .int(Int64(refused)), .bool(isDone),
            ])
    }

    static func forget(_ name: String, _ fingerprint: String, _ database: Database) async throws {
        _ = try await database.write(forget, [.text(name), .text(fingerprint)])
    }

    /// Takes the table away where nothing is remembered any more.
    static func tidy(_ database: Database) async throws {
        try await database.transaction { transaction in
            _ = try await transaction.run("LOCK TABLE \"_hermes_import\" IN ACCESS EXCLUSIVE MODE")
            let isEmpty = try await transaction.run("SELECT NOT EXISTS (SELECT FROM \"_hermes_import\")").bool(0, 0)
            if isEmpty { _ = try await transaction.run("DROP TABLE \"_hermes_import\"") }
        }
    }
}

/// What was refused: counted by reason, and object by object in a file of JSON lines.
final class RefusalReport {
    struct Entry {
        let line: Int
        let objectId: String?
        let reason: String
    }

    let path: String
    private var descriptor: Int32 = -1
    private let isContinued: Bool
    private(set) var count = 0

    /// - Parameter isContinued: an earlier import goes on, and so does its report.
    init(_ path: String, isContinued: Bool) { (self.path, self.isContinued) = (path, isContinued) }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func add(_ entries: [Entry], of source: ImportSource) throws(ArchiveFailure) {
        guard !entries.isEmpty else { return }
        count += entries.count
        if descriptor < 0 {
            descriptor = open(
                path, O_WRONLY | O_CREAT | Int32(O_CLOEXEC) | (isContinued ? O_APPEND : O_TRUNC), 0o600)
            guard descriptor >= 0 else { throw ArchiveFailure("\(path) can't be written: \(reason())") }
        }
        var text = JSONWriter(room: 4096)
        for entry in entries {
            var members: [(key: String, value: JSON)] = [
                ("file", .string(source.path)), ("line", .number(Double(entry.line))),
            ]
            if let id = entry.objectId { members.append(("objectId", .string(id))) }
            members.append(("reason", .string(entry.reason)))
            text.json(.object(JSONObject(members)))
            text.raw("\n")
        }
        guard text.bytes.withUnsafeBytes({ Descriptor.write(descriptor, $0) }) else {
            throw ArchiveFailure("\(path) can't be written: \(reason())")
        }
    }
}
