import Core
import Postgres
import Schema
import Wire

/// The import of one file.
///
/// Objects go straight into the class's table. Where PostgreSQL refuses a batch (an id or a unique value that is there
/// already), the batch is undone and read again by way of a temporary table, in which each object that can't be is found.
final class FileLoad {
    /// A batch ends after so many objects, or bytes of COPY.
    private static let batchObjects = 50_000
    private static let batchBytes = 64 << 20
    /// Bytes that are handed to PostgreSQL at a time.
    private static let pieceBytes = 256 << 10
    /// A new class with a larger file than this gets its indexes when the objects are there.
    private static let largeFile = 32 << 20

    private let source: ImportSource
    private let file: ObjectFile
    private let fingerprint: String
    private var state: ImportState
    private let database: Database
    private let catalogue: Catalogue
    private let report: RefusalReport
    private let hashesTokens: Bool
    /// The import's moment, by the database's clock.
    private let now: Wire.Timestamp

    private var rows: any RowSource
    /// Fields that a class can't get, and why.
    private var impossible: [String: String] = [:]
    private var failure: String?
    private var remarks: [String] = []

    init(
        source: ImportSource, file: ObjectFile, fingerprint: String, state: ImportState, database: Database,
        catalogue: Catalogue, report: RefusalReport, now: Wire.Timestamp, hashesTokens: Bool
    ) {
        self.now = now
        self.source = source
        self.file = file
        self.fingerprint = fingerprint
        self.state = state
        self.database = database
        self.catalogue = catalogue
        self.report = report
        self.hashesTokens = hashesTokens
        rows = RelationRows(table: source.name)
    }

    func run(_ progress: Progress) async throws -> Import.Outcome {
        guard !state.isDone else { return outcome }
        progress.begin(source.name, total: file.size, unit: .bytes, from: state.place?.offset ?? 0)
        switch source.content {
        case .objects: try await look()
        case .relation(let field, let className):
            guard case .relation? = try await catalogue.reload()[className]?.fields[field]?.type else {
                failure = "\(className) has no relation \(field): import \(className) first"
                return outcome
            }
        case .schemas: return outcome
        }
        try await postponeIndexes()
        var isCareful = false
        while !state.isDone {
            try Task.checkCancellation()
            isCareful = try await batch(isCareful, progress)
        }
        try await buildIndexes(progress)
        return outcome
    }

    private var outcome: Import.Outcome {
        Import.Outcome(
            name: source.name, path: source.path, imported: state.imported, refused: state.refused, failure: failure,
            remarks: remarks)
    }

    // MARK: batches

    /// What one pass over a part of the file brought.
    private struct Pass {
        var objects = 0
        var bytes = 0
        var refused: [RefusalReport.Entry] = []
        var end: ObjectFile.Place
        var isLast = false
        /// The class must get these before the next object.
        var missing: [String: FieldType]?
        var failure: String?
    }

    /// Imports the next batch. Answers whether the next one should go the careful way.
    private func batch(_ isCareful: Bool, _ progress: Progress) async throws -> Bool {
        let begin = try state.place ?? file.first()
        var pass = Pass(end: begin)
        var carefully = isCareful
        var collisions = 0
        while true {
            do {
                pass = Pass(end: begin)
                try file.go(to: begin)
                let isTemporary = carefully
                try await database.transaction(retries: 0) { transaction in
                    var next = state
                    let copied = try await copy(&pass, carefully: isTemporary, transaction, progress)
                    if isTemporary {
                        let found = try await rows.settle(transaction)
                        pass.refused += found
                        collisions = found.count
                        next.imported += copied - found.count
                    } else {
                        next.imported += copied
                    }
                    next.refused += pass.refused.count
                    next.place = pass.end
                    next.isDone = pass.isLast
                    try await next.save(source.name, fingerprint, transaction)
                    pending = next
                }
                break
            } catch let error as PostgresError where !carefully && FileLoad.isOfOneObject(error) {
                carefully = true
            }
        }
        if let pending { state = pending }
        failure = pass.failure
        try report.add(pass.refused.sorted { $0.line < $1.line }, of: source)
        if let missing = pass.missing { try await grow(missing) }
        return collisions > 0
    }

    private var pending: ImportState?

    /// Errors that lie in the data.
    private static func isOfOneObject(_ error: PostgresError) -> Bool {
        ["22", "23", "54"].contains { error.sqlState.hasPrefix($0) }
    }

    private func copy(
        _ pass: inout Pass, carefully: Bool, _ transaction: Transaction, _ progress: Progress
    ) async throws -> Int {
        if carefully { try await rows.prepare(transaction) }
        let table = carefully ? "\"hermes_import\"" : quoted(source.name)
        let columns = carefully ? rows.columns + ", \"_line\"" : rows.columns
        var isOver = false
        // A class that is not there yet has no table to copy into.
        guard rows.isReady else {
            _ = read(&pass, carefully: carefully, &isOver)
            return 0
        }
        var current = pass
        let copied = try await transaction.copyIn("COPY \(table) (\(columns)) FROM STDIN") {
            guard !isOver else { return nil }
            try Task.checkCancellation()
            let piece = read(&current, carefully: carefully, &isOver)
            progress.reach(file.place.offset)
            return piece
        }
        pass = current
        return copied
    }

    /// Reads objects until there is a piece of COPY, or the batch is over.
    private func read(_ pass: inout Pass, carefully: Bool, _ isOver: inout Bool) -> [UInt8] {
        var text = CopyText()
        while text.bytes.count < FileLoad.pieceBytes {
            if pass.objects >= FileLoad.batchObjects || pass.bytes + text.bytes.count > FileLoad.batchBytes
                || pass.refused.count >= FileLoad.batchObjects
            {
                isOver = true
                break
            }
            let found: (bytes: UnsafeRawBufferPointer, place: ObjectFile.Place)?
            do { found = try file.next() } catch {
                pass.failure = error.description
                found = nil
            }
            guard let (bytes, place) = found else {
                (isOver, pass.isLast, pass.end) = (true, true, file.place)
                break
            }
            var objectId: String?
            do {
                let json: JSON
                do { json = try JSONParser.parse(bytes) } catch { throw Refusal("it is not valid JSON") }
                objectId = json.object?["objectId"]?.string ?? json.object?["_id"]?.string
                try rows.append(json, line: carefully ? place.line : nil, to: &text)
                pass.objects += 1
            } catch let missing as RowEncoder.Missing {
                let reasons = missing.fields.compactMap { impossible["\($0.key) \($0.value)"] }
                if let reason = reasons.first {
                    pass.refused.append(.init(line: place.line, objectId: objectId, reason: reason))
                } else {
                    // It comes again when the class has grown.
                    (isOver, pass.end, pass.missing) = (true, place, missing.fields)
                    pass.bytes += text.bytes.count
                    return text.take()
                }
            } catch {
                let reason = (error as? Refusal)?.reason ?? "\(error)"
                pass.refused.append(.init(line: place.line, objectId: objectId, reason: reason))
            }
            pass.end = file.place
        }
        pass.bytes += text.bytes.count
        return text.take()
    }

    // MARK: the class

    private func look() async throws {
        let schema = try await catalogue.reload()[source.name]
        rows = ObjectRows(className: source.name, schema, now: now, hashesTokens: hashesTokens)
    }

    /// Makes the class have these fields; those that can't be are remembered.
    private func grow(_ fields: [String: FieldType]) async throws {
        do { try await ensure(fields) } catch let error as ParseError where error.status != 503 {
            for (name, type) in fields {
                do { try await ensure([name: type]) } catch let error as ParseError where error.status != 503 {
                    impossible["\(name) \(type)"] = "\(name): \(error.message)"
                }
            }
        }
        try await look()
    }

    private func ensure(_ fields: [String: FieldType]) async throws {
        var tries = 0
        while true {
            do {
                _ = try await catalogue.ensure(source.name, fields: fields)
                return
            } catch let error as ParseError where error.status == 503 && tries < 20 {
                tries += 1
                try await database.loop.sleep(nanoseconds: 250_000_000)
            }
        }
    }

    // MARK: indexes

    private static let plainIndexes = Statement(
        """
        SELECT "id", "relation", "recipe" FROM "_Index" WHERE "className" = $1 AND "state" = $2
            AND NOT "isUnique" AND "replaces" IS NULL ORDER BY "id" FOR UPDATE
        """)
    private static let postpone = Statement(
        """
        UPDATE "_Index" SET "state" = 'building', "notBefore" = now() + interval '1 day' WHERE "id" = $1
        """)
    private static let built = Statement(
        "UPDATE \"_Index\" SET \"state\" = 'valid', \"notBefore\" = now() WHERE \"id\" = $1")
    private static let hurry = Statement(
        "UPDATE \"_Index\" SET \"notBefore\" = now() WHERE \"className\" = $1 AND \"state\" = 'building'")

    /// A large file into an empty class: its indexes are made at the end, which takes a fraction of the time. Where the
    /// import never ends, a server makes them a day later.
    private func postponeIndexes() async throws {
        guard case .objects = source.content, file.size > FileLoad.largeFile, state.place == nil else { return }
        // The first object says what the class is like.
        if !rows.isReady { _ = try await batch(false, Progress.silent) }
        let className = source.name
        guard rows.isReady, state.imported == 0 else { return }
        try await database.transaction { transaction in
            guard try await transaction.run("SELECT NOT EXISTS (SELECT FROM \(quoted(className)))").bool(0, 0) else {
                return
            }
            let indexes = try await transaction.execute(FileLoad.plainIndexes, [.text(className), .text("valid")])
            for row in 0..<indexes.count {
                _ = try await transaction.run("DROP INDEX IF EXISTS \(quoted(indexes.string(row, 1)))")
                _ = try await transaction.execute(FileLoad.postpone, [.int(indexes.int(row, 0))])
            }
        }
    }

    private func buildIndexes(_ progress: Progress) async throws {
        guard case .objects(let className) = source.content else { return }
        do {
            while try await buildIndex(of: className, progress) { try Task.checkCancellation() }
        } catch let error as PostgresError where !error.isUnavailable {
            // A server's builder says what is wrong with it, and goes on with the others.
            _ = try await database.write(FileLoad.hurry, [.text(className)])
            try await database.notify(channel: IndexBuilder.channel)
            remarks.append("an index could not be built, which a server tries again: \(error.message)")
        }
        _ = try await database.run("ANALYZE \(quoted(className))")
    }

    /// Builds an index that is to be; answers whether there was one.
    private func buildIndex(of className: String, _ progress: Progress) async throws -> Bool {
        try await database.transaction { transaction in
            let indexes = try await transaction.execute(FileLoad.plainIndexes, [.text(className), .text("building")])
            guard indexes.count > 0 else { return false }
            let name = quoted(indexes.string(0, 1))
            progress.begin("\(className), indexes: \(indexes.count) left", total: nil, unit: .rows)
            progress.reach(state.imported)
            _ = try await transaction.run("DROP INDEX IF EXISTS \(name)")
            _ = try await transaction.run("CREATE INDEX \(name) ON \(quoted(className)) \(indexes.string(0, 2))")
            _ = try await transaction.execute(FileLoad.built, [.int(indexes.int(0, 0))])
            return true
        }
    }
}
