import Core
import Glibc
import Postgres
import Schema
import Store
import Wire

/// Writes objects as the hosted Parse exported them: a file for each class, one for each relation, one of the schemas.
/// All of it is of one moment. Files are for their owner's eyes only, and appear when they are whole.
public struct Export: Sendable {
    public enum Form: String, Sendable {
        /// `{"results": […]}`
        case results = "json"
        /// An object a line.
        case lines = "jsonl"
    }

    public var place: DatabasePlace
    public var form = Form.results

    public init(place: DatabasePlace) { self.place = place }

    /// A file that was written, and how many objects are in it.
    public struct Written: Sendable {
        public let name: String
        public let path: String
        public let count: Int
        /// It was there already.
        public let wasThere: Bool
    }

    private static let pageRows = 2000

    /// Writes all classes into a folder, which is made where it is missing.
    ///
    /// - Parameter goesOn: leaves files that are there, of an export that was interrupted; else the folder must be empty.
    public func write(toFolder folder: String, goesOn: Bool, _ progress: Progress) async throws -> [Written] {
        try await work("What was written stays: go on with --continue.", progress) { catalogue, transaction in
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw ArchiveFailure("\(folder) can't be made: \(reason())")
            }
            guard goesOn || rmdir(folder) == 0 && mkdir(folder, 0o700) == 0 else {
                throw ArchiveFailure(
                    "\(folder) is not empty: take another folder, or --continue an export that was interrupted")
            }
            let classes = try await catalogue.reload().classes.values.sorted { $0.name < $1.name }.filter {
                !$0.isSystem || DefaultFields.openSystemClasses.contains($0.name)
            }
            var written: [Written] = []
            func file(_ name: String, _ body: (String) async throws -> Int) async throws {
                let path = "\(folder)/\(name).\(form.rawValue)"
                if Paths.exists(path) {
                    return written.append(Written(name: name, path: path, count: 0, wasThere: true))
                }
                written.append(Written(name: name, path: path, count: try await body(path), wasThere: false))
            }
            try await file("_SCHEMA") { path in
                let file = try ExportFile(path, form)
                for schema in classes { try file.add { $0.json(Self.json(schema)) } }
                try file.commit()
                return file.count
            }
            for schema in classes {
                try await file(schema.name) { try await write(schema, to: $0, transaction, progress) }
                for relation in schema.relations {
                    let name = ClassSchema.joinTable(field: relation.name, of: schema.name)
                    try await file(name) { try await write(join: name, to: $0, transaction, progress) }
                }
            }
            return written
        }
    }

    /// Writes one class into one file.
    public func write(_ className: String, to path: String, _ progress: Progress) async throws -> Written {
        guard !Paths.exists(path) else {
            throw ArchiveFailure("\(path) is there already: take another name, or remove it")
        }
        return try await work("Nothing was written; run it again.", progress) { catalogue, transaction in
            guard let schema = try await catalogue.reload()[className] else {
                throw ArchiveFailure("There is no class \(className).")
            }
            let count = try await write(schema, to: path, transaction, progress)
            return Written(name: className, path: path, count: count, wasThere: false)
        }
    }

    private func work<Result: Sendable>(
        _ advice: String, _ progress: Progress,
        _ body: @escaping @Sendable (Catalogue, Transaction) async throws -> Result
    ) async throws -> Result {
        try await LongWork.run(advice) { _, loop in
            let opened = try place.open()
            defer { opened.close() }
            let database = Database(loop: loop, configuration: .forLongWork(opened.conninfo, name: "export"))
            do {
                let result = try await database.transaction(isolation: .repeatableRead, readOnly: true, retries: 0) {
                    transaction in
                    guard try await Survey.isOfHermes(transaction) else {
                        throw ArchiveFailure(
                            "This is no database of Hermes: tell another one with --data or --database-url.")
                    }
                    return try await body(Catalogue(database: database, cache: SchemaCache()), transaction)
                }
                await database.close()
                progress.end()
                return result
            } catch {
                await database.close()
                progress.end()
                throw error
            }
        }
    }

    private func write(
        _ schema: ClassSchema, to path: String, _ transaction: Transaction, _ progress: Progress
    ) async throws -> Int {
        let export = ObjectExport(schema)
        return try await write(export.sql, schema.name, to: path, transaction, progress) { rows, file in
            try file.add(rows.count) { out, before in export.write(rows, before: before, to: &out) }
        }
    }

    private func write(
        join name: String, to path: String, _ transaction: Transaction, _ progress: Progress
    ) async throws -> Int {
        let sql = "SELECT \"owningId\", \"relatedId\" FROM \(quoted(name)) ORDER BY 1, 2"
        return try await write(sql, name, to: path, transaction, progress) { rows, file in
            try file.add(rows.count) { out, before in
                for row in 0..<rows.count {
                    before(&out)
                    out.raw("{\"owningId\":")
                    out.string(rows.bytes(row, 0))
                    out.raw(",\"relatedId\":")
                    out.string(rows.bytes(row, 1))
                    out.raw("}")
                }
            }
        }
    }

    private func write(
        _ sql: String, _ table: String, to path: String, _ transaction: Transaction, _ progress: Progress,
        _ add: (Rows, ExportFile) throws -> Void
    ) async throws -> Int {
        let file = try ExportFile(path, form)
        let total = Int(try await transaction.run("SELECT count(*) FROM \(quoted(table))").int(0, 0))
        progress.begin(table, total: total, unit: .objects)
        _ = try await transaction.run("DECLARE hermes_export NO SCROLL CURSOR FOR \(sql)")
        while true {
            try Task.checkCancellation()
            let rows = try await transaction.run("FETCH \(Export.pageRows) FROM hermes_export")
            guard rows.count > 0 else { break }
            try add(rows, file)
            progress.reach(file.count)
        }
        _ = try await transaction.run("CLOSE hermes_export")
        try file.commit()
        return file.count
    }

    private static func json(_ schema: ClassSchema) -> JSON {
        var members: [(key: String, value: JSON)] = [
            ("className", .string(schema.name)), ("fields", .object(schema.fieldsShown)),
        ]
        if let given = schema.permissions.given { members.append(("classLevelPermissions", .object(given))) }
        if !schema.indexes.isEmpty { members.append(("indexes", .object(schema.indexesShown))) }
        return .object(JSONObject(members))
    }
}

/// A file of objects that appears under its name when it is whole.
final class ExportFile {
    private let path: String
    private let draft: String
    private let form: Export.Form
    private let descriptor: Int32
    private var out = JSONWriter(room: 1 << 20)
    private(set) var count = 0
    private var isCommitted = false

    init(_ path: String, _ form: Export.Form) throws(ArchiveFailure) {
        (self.path, self.form) = (path, form)
        draft = "\(path).partial-\(getpid())"
        descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | Int32(O_CLOEXEC), 0o600)
        guard descriptor >= 0 else { throw ArchiveFailure("\(draft) can't be made: \(reason())") }
        if form == .results { out.raw("{\"results\":[") }
    }

    deinit {
        close(descriptor)
        if !isCommitted { unlink(draft) }
    }

    /// Adds objects: `write` calls what it is given before each of them.
    func add(_ count: Int, _ write: (inout JSONWriter, (inout JSONWriter) -> Void) -> Void) throws(ArchiveFailure) {
        var isFirst = self.count == 0
        let isList = form == .results
        write(&out) { out in
            if isFirst { out.raw(isList ? "\n" : "") } else { out.raw(isList ? ",\n" : "\n") }
            isFirst = false
        }
        self.count += count
        if out.count > 1 << 19 { try flush() }
    }

    func add(_ write: (inout JSONWriter) -> Void) throws(ArchiveFailure) {
        try add(1) { out, before in
            before(&out)
            write(&out)
        }
    }

    private func flush() throws(ArchiveFailure) {
        let bytes = out.bytes
        guard bytes.withUnsafeBytes({ Descriptor.write(descriptor, $0) }) else {
            throw ArchiveFailure("\(draft) can't be written: \(reason())")
        }
        out.removeAll()
    }

    func commit() throws(ArchiveFailure) {
        if form == .results { out.raw("\n]}\n") } else if count > 0 { out.raw("\n") }
        try flush()
        guard fsync(descriptor) == 0, rename(draft, path) == 0 else {
            throw ArchiveFailure("\(path) can't be written: \(reason())")
        }
        isCommitted = true
    }
}
