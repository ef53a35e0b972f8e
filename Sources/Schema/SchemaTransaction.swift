import Postgres
import Wire

/// The DDL of one change of the schema.
struct SchemaTransaction {
    private let transaction: Transaction

    init(_ transaction: Transaction) { self.transaction = transaction }

    private func run(_ sql: String) async throws { _ = try await transaction.execute(Statement(sql), []) }

    func createTable(_ className: String, _ fields: [String: ClassSchema.Field]) async throws {
        let table = quoted(className)
        try await run(
            """
            CREATE TABLE \(table) (
                "objectId" text COLLATE "C" PRIMARY KEY,
                "createdAt" timestamp(3) with time zone NOT NULL,
                "updatedAt" timestamp(3) with time zone NOT NULL,
                "_rperm" text[],
                "_wperm" text[]
            )
            """)
        try await run("CREATE INDEX ON \(table) (\"createdAt\", \"objectId\")")
        try await addColumns(
            className,
            fields.filter { DefaultFields.everywhere[$0.key] == nil }.sorted { $0.key < $1.key }
                .map { ($0.key, $0.value) })
    }

    func addColumns(_ className: String, _ fields: [(String, ClassSchema.Field)]) async throws {
        let table = quoted(className)
        for (name, field) in fields {
            if case .relation = field.type {
                try await createJoinTable(field: name, of: className)
                continue
            }
            guard let type = field.type.columnType else { continue }
            try await run("ALTER TABLE \(table) ADD COLUMN \(quoted(name)) \(type)")
            switch field.type {
            case .pointer: try await run("CREATE INDEX ON \(table) (\(quoted(name)))")
            case .geoPoint: try await run("CREATE INDEX ON \(table) USING gist (\(quoted(name)))")
            default: break
            }
        }
    }

    func dropColumns(_ className: String, _ fields: [(String, ClassSchema.Field)]) async throws {
        for (name, field) in fields {
            if case .relation = field.type {
                try await run("DROP TABLE IF EXISTS \(quoted(ClassSchema.joinTable(field: name, of: className)))")
            } else {
                try await run("ALTER TABLE \(quoted(className)) DROP COLUMN \(quoted(name))")
            }
        }
    }

    func dropTable(_ schema: ClassSchema) async throws {
        let table = quoted(schema.name)
        // Nobody may add an object between the look and the drop.
        try await run("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
        let rows = try await transaction.execute(Statement("SELECT count(*) FROM \(table)"), [])
        let count = rows.int(0, 0)
        guard count == 0 else {
            throw ParseError(
                255, "Class \(schema.name) is not empty, contains \(count) objects, cannot drop schema.")
        }
        try await dropColumns(
            schema.name,
            schema.fields.filter { if case .relation = $0.value.type { true } else { false } }
                .map { ($0.key, $0.value) })
        try await run("DROP TABLE \(table)")
    }

    private func createJoinTable(field: String, of className: String) async throws {
        let name = ClassSchema.joinTable(field: field, of: className)
        guard name.utf8.count <= Names.maximumBytes else {
            throw ParseError(
                105,
                "Invalid field name: \(field). The names of a class and of its relation together may have "
                    + "at most \(Names.maximumBytes - 7) bytes.")
        }
        let table = quoted(name)
        try await run(
            """
            CREATE TABLE IF NOT EXISTS \(table) (
                "owningId" text COLLATE "C" NOT NULL,
                "relatedId" text COLLATE "C" NOT NULL,
                PRIMARY KEY ("owningId", "relatedId")
            )
            """)
        try await run("CREATE INDEX ON \(table) (\"relatedId\", \"owningId\")")
    }

    /// Makes and drops indexes; answers those that the class has then.
    func changeIndexes(
        _ className: String, _ fields: [String: ClassSchema.Field], existing: JSONObject, _ request: JSONObject
    ) async throws -> JSONObject {
        var indexes = existing
        for (name, definition) in request.members {
            guard case .object(let keys) = definition else {
                throw ParseError(102, "Index \(name) must be an object of fields and directions.")
            }
            if keys["__op"] == .string("Delete") {
                guard indexes[name] != nil else {
                    throw ParseError(102, "Index \(name) does not exist, cannot delete.")
                }
                try await run("DROP INDEX IF EXISTS \(quoted(indexName(name, className)))")
                indexes[name] = nil
                continue
            }
            guard indexes[name] == nil else { throw ParseError(102, "Index \(name) exists, cannot update.") }
            var columns: [String] = []
            for (key, direction) in keys.members {
                guard fields[key] != nil, key != "ACL" || fields[key]?.hasColumn == true else {
                    throw ParseError(102, "Field \(key) does not exist, cannot add index.")
                }
                columns.append(quoted(key) + (direction == .number(-1) ? " DESC" : ""))
            }
            guard !columns.isEmpty else { throw ParseError(102, "Index \(name) names no field.") }
            try await run(
                "CREATE INDEX \(quoted(indexName(name, className))) ON \(quoted(className)) "
                    + "(\(columns.joined(separator: ", ")))")
            indexes[name] = definition
        }
        // As dashboards know it from MongoDB: the primary key's own entry appears with the first change.
        if !existing.isEmpty, !request.isEmpty, indexes["_id_"] == nil {
            indexes["_id_"] = .object(JSONObject([("_id", .number(1))]))
        }
        return indexes
    }

    /// Index names are global in PostgreSQL, per class in Parse: the class goes into the name, shortened by a digest
    /// where it would be cut.
    private func indexName(_ name: String, _ className: String) -> String {
        let full = "\(className).\(name)"
        guard full.utf8.count > Names.maximumBytes else { return full }
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in full.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(decoding: full.utf8.prefix(46), as: UTF8.self).filter(\.isASCII) + "." + String(digest, radix: 36)
    }
}
