import Postgres
import Schema
import Wire

/// How the objects of one file become rows of one table.
protocol RowSource: AnyObject {
    /// The columns that are copied, as SQL.
    var columns: String { get }
    /// Whether there is a table to copy into.
    var isReady: Bool { get }

    /// Appends a row, with its line as the last field where it is told.
    ///
    /// - Throws: `Refusal`, or `RowEncoder.Missing`.
    func append(_ json: JSON, line: Int?, to out: inout CopyText) throws

    /// Makes the temporary table `hermes_import`: the table's columns, and `_line`.
    func prepare(_ transaction: Transaction) async throws

    /// Takes over from the temporary table what can be; answers what can't, and why.
    func settle(_ transaction: Transaction) async throws -> [RefusalReport.Entry]
}

/// Objects of a class.
final class ObjectRows: RowSource {
    let className: String
    private let schema: ClassSchema?
    private var encoder: RowEncoder
    var columns: String { encoder.columns }
    var isReady: Bool { schema != nil }

    init(className: String, _ schema: ClassSchema?, now: Timestamp, hashesTokens: Bool) {
        self.schema = schema
        let fields = DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
        self.className = className
        encoder = RowEncoder(
            schema ?? ClassSchema(name: className, fields: fields, permissions: .open), isNew: schema == nil, now: now,
            hashesTokens: hashesTokens)
    }

    func append(_ json: JSON, line: Int?, to out: inout CopyText) throws {
        let object = try ImportedObject(json, className: className)
        try encoder.append(object, line: line, to: &out)
    }

    func prepare(_ transaction: Transaction) async throws {
        _ = try await transaction.run(
            """
            CREATE TEMP TABLE "hermes_import" ON COMMIT DROP AS
                SELECT \(columns), 0::bigint AS "_line" FROM \(quoted(className)) WHERE false
            """)
    }

    func settle(_ transaction: Transaction) async throws -> [RefusalReport.Entry] {
        let table = quoted(className)
        var refused: [RefusalReport.Entry] = []
        func refuse(_ rows: Rows, _ reason: String) {
            for row in 0..<rows.count {
                refused.append(.init(line: Int(rows.int(row, 0)), objectId: rows.string(row, 1), reason: reason))
            }
        }
        refuse(
            try await transaction.run(
                """
                DELETE FROM "hermes_import" t USING (
                    SELECT ctid, row_number() OVER (PARTITION BY "objectId" ORDER BY "_line") AS n FROM "hermes_import"
                ) AS d WHERE t.ctid = d.ctid AND d.n > 1 RETURNING t."_line", t."objectId"
                """), "its objectId stands twice in the file")
        _ = try await transaction.run("ANALYZE \"hermes_import\"")
        refuse(
            try await transaction.run(
                """
                DELETE FROM "hermes_import" t USING \(table) c WHERE c."objectId" = t."objectId"
                RETURNING t."_line", t."objectId"
                """), "an object with this objectId is there already")
        let insert = "INSERT INTO \(table) (\(columns)) SELECT \(columns) FROM \"hermes_import\""
        do {
            let left = try await transaction.savepoint {
                try await transaction.run(
                    """
                    WITH done AS (\(insert) ORDER BY "_line" ON CONFLICT DO NOTHING RETURNING "objectId")
                    SELECT t."_line", t."objectId" FROM "hermes_import" t LEFT JOIN done USING ("objectId")
                    WHERE done."objectId" IS NULL
                    """)
            }
            for row in 0..<left.count {
                let line = Int(left.int(row, 0))
                // Each of them tells what it collides with; past a thousand, it is all the same.
                let reason =
                    row < 1000 ? try await attempt(line, insert, transaction) : "a value must be unique, and is not"
                if let reason { refused.append(.init(line: line, objectId: left.string(row, 1), reason: reason)) }
            }
        } catch let error as PostgresError where error.sqlState.hasPrefix("54") {
            // A value is too long for an index: which one, only trying tells.
            let all = try await transaction.run("SELECT \"_line\", \"objectId\" FROM \"hermes_import\" ORDER BY 1")
            for row in 0..<all.count {
                let line = Int(all.int(row, 0))
                if let reason = try await attempt(line, insert, transaction) {
                    refused.append(.init(line: line, objectId: all.string(row, 1), reason: reason))
                }
            }
        }
        return refused.sorted { $0.line < $1.line }
    }

    /// Inserts one object; answers why that can't be.
    private func attempt(_ line: Int, _ insert: String, _ transaction: Transaction) async throws -> String? {
        do {
            try await transaction.savepoint { _ = try await transaction.run("\(insert) WHERE \"_line\" = \(line)") }
            return nil
        } catch let error as PostgresError where error.sqlState.hasPrefix("23") {
            guard error.isUniqueViolation, let name = error.constraint else { return error.message }
            let fields = schema?.fields(ofIndex: name)?.joined(separator: ", ") ?? ObjectRows.field(ofOwnIndex: name)
            return "another object has the same \(fields)"
        } catch let error as PostgresError where error.sqlState.hasPrefix("54") {
            return "a value is too long for an index: \(error.message)"
        }
    }

    /// `_User_username` is the server's own index of `username`.
    private static func field(ofOwnIndex name: String) -> String {
        for className in ["_User_", "_Session_", "_Role_"] where name.hasPrefix(className) {
            return String(name.dropFirst(className.count))
        }
        return "value in \(name)"
    }
}

/// The rows of a relation. One that is there already is no fault.
final class RelationRows: RowSource {
    let table: String
    let columns = "\"owningId\", \"relatedId\""
    let isReady = true

    init(table: String) { self.table = table }

    func append(_ json: JSON, line: Int?, to out: inout CopyText) throws {
        guard case .object(let object) = json, let owner = object["owningId"]?.string,
            let related = object["relatedId"]?.string, !owner.isEmpty, !related.isEmpty, !owner.utf8.contains(0),
            !related.utf8.contains(0)
        else { throw Refusal("it has no owningId or no relatedId") }
        out.field(owner)
        out.field(related)
        if let line { out.field(String(line)) }
        out.endRow()
    }

    func prepare(_ transaction: Transaction) async throws {
        _ = try await transaction.run(
            """
            CREATE TEMP TABLE "hermes_import" ON COMMIT DROP AS
                SELECT \(columns), 0::bigint AS "_line" FROM \(quoted(table)) WHERE false
            """)
    }

    func settle(_ transaction: Transaction) async throws -> [RefusalReport.Entry] {
        _ = try await transaction.run(
            "INSERT INTO \(quoted(table)) (\(columns)) SELECT \(columns) FROM \"hermes_import\" ON CONFLICT DO NOTHING")
        return []
    }
}
