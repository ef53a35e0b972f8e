import Postgres
import Wire

/// The DDL of one change of the schema, within one attempt at it.
struct SchemaTransaction {
    /// A table up to this size, in bytes, gets an index within the change that asks for it: some 10,000 objects, a few
    /// hundredths of a second. A larger one's is left to the index builder.
    static let smallTable: Int64 = 4 << 20

    let transaction: Transaction

    init(_ transaction: Transaction) { self.transaction = transaction }

    private func run(_ sql: String) async throws { _ = try await transaction.execute(Statement(sql), []) }

    // MARK: tables and columns

    func createTable(_ className: String, _ fields: [String: ClassSchema.Field]) async throws {
        guard !DefaultFields.serverTables.contains(className) else {
            throw ParseError(119, "\(className) is kept by the server itself, by way of other routes.")
        }
        let table = quoted(className)
        do {
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
        } catch let error as PostgresError where ["42P07", "42710"].contains(error.sqlState) {
            throw ParseError(
                103,
                "The class \(className) cannot be made: the database has a table, a view or a type of that name which is "
                    + "no class. Give the class another name, or rename what is there.")
        }
        try await run("CREATE INDEX ON \(table) (\"createdAt\", \"objectId\")")
        try await addColumns(
            className,
            fields.filter { DefaultFields.everywhere[$0.key] == nil }.sorted { $0.key < $1.key }
                .map { ($0.key, $0.value) })
    }

    func addColumns(_ className: String, _ fields: [(String, ClassSchema.Field)]) async throws {
        let columns = fields.compactMap { name, field in
            field.type.columnType.map { "ADD COLUMN \(quoted(name)) \($0)" }
        }
        if !columns.isEmpty {
            do {
                try await run("ALTER TABLE \(quoted(className)) \(columns.joined(separator: ", "))")
            } catch let error as PostgresError where error.sqlState == "54011" {
                throw ParseError(
                    105,
                    "The class \(className) cannot get another field: PostgreSQL keeps those that were deleted, and "
                        + "has room for 1600 in all.")
            } catch let error as PostgresError where error.sqlState == "42701" {
                throw ParseError(
                    105,
                    "The table of \(className) has a column already that is no field: \(error.message). Give the field "
                        + "another name, or drop the column.")
            }
        }
        for (name, field) in fields {
            if case .relation = field.type { try await createJoinTable(field: name, of: className) }
            if let plan = IndexPlan(field: name, field.type, of: className) { try await addIndex(plan, className) }
        }
    }

    func dropColumns(_ className: String, _ fields: [(String, ClassSchema.Field)]) async throws {
        guard !fields.isEmpty else { return }
        _ = try await transaction.execute(
            SchemaTransaction.forgetFields, [.text(className), .textArray(fields.map(\.0))])
        var columns: [String] = []
        for (name, field) in fields {
            if case .relation = field.type {
                try await run("DROP TABLE IF EXISTS \(quoted(ClassSchema.joinTable(field: name, of: className)))")
            } else {
                columns.append("DROP COLUMN \(quoted(name))")
            }
        }
        if !columns.isEmpty {
            try await run("ALTER TABLE \(quoted(className)) \(columns.joined(separator: ", "))")
        }
    }

    /// Throws 255 while there are objects.
    func checkEmpty(_ className: String) async throws {
        // A large class need not be counted to be refused.
        let count = try await transaction.execute(
            Statement("SELECT count(*) FROM (SELECT FROM \(quoted(className)) LIMIT 1000) AS first"), []
        ).int(0, 0)
        guard count > 0 else { return }
        throw ParseError(
            255,
            "Class \(className) is not empty, contains \(count)\(count == 1000 ? " or more" : "") objects, "
                + "cannot drop schema.")
    }

    func dropTable(_ schema: ClassSchema) async throws {
        let table = quoted(schema.name)
        // Nobody may add an object between the look and the drop.
        try await run("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
        try await checkEmpty(schema.name)
        for relation in schema.relations {
            try await run(
                "DROP TABLE IF EXISTS \(quoted(ClassSchema.joinTable(field: relation.name, of: schema.name)))")
        }
        try await run("DROP TABLE \(table)")
        _ = try await transaction.execute(SchemaTransaction.forgetClass, [.text(schema.name)])
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

    // MARK: indexes

    private static let forgetFields = Statement(
        "DELETE FROM \"_Index\" WHERE \"className\" = $1 AND \"fields\" && $2::text[]")
    private static let forgetClass = Statement("DELETE FROM \"_Index\" WHERE \"className\" = $1")
    private static let forgetIndex = Statement("DELETE FROM \"_Index\" WHERE \"relation\" = $1")
    private static let size = Statement("SELECT pg_relation_size(to_regclass($1))")
    private static let record = Statement(
        """
        INSERT INTO "_Index" ("className", "name", "definition", "relation", "isUnique", "recipe", "fields", "state",
            "reason")
        VALUES ($1, $2, $3::json, $4, $5::bool, $6, $7::text[], $8, $9)
        """)

    /// Makes an index: at once in a small table, else by telling the builder to.
    func addIndex(_ plan: IndexPlan, _ className: String) async throws {
        var state = "building"
        var reason: String?
        if try await transaction.execute(SchemaTransaction.size, [.text(quoted(className))]).int(0, 0)
            <= SchemaTransaction.smallTable
        {
            do {
                try await transaction.savepoint {
                    try await run(
                        "CREATE \(plan.isUnique ? "UNIQUE " : "")INDEX \(quoted(plan.relation)) "
                            + "ON \(quoted(className)) \(plan.recipe)")
                }
                state = "valid"
            } catch let error as PostgresError {
                guard let why = IndexBuilder.reason(error, fields: plan.fields) else { throw error }
                (state, reason) = ("failed", why)
            }
        } else {
            try await transaction.notify(channel: IndexBuilder.channel)
        }
        _ = try await transaction.execute(
            SchemaTransaction.record,
            [
                .text(className), plan.name.map { .text($0) } ?? .null,
                plan.definition.map { .utf8($0.bytes) } ?? .null, .text(plan.relation), .bool(plan.isUnique),
                .text(plan.recipe), .textArray(plan.fields), .text(state), reason.map { .text($0) } ?? .null,
            ])
    }

    func dropIndex(_ index: ClassIndex) async throws {
        _ = try await transaction.execute(SchemaTransaction.forgetIndex, [.text(index.relation)])
        try await run("DROP INDEX IF EXISTS \(quoted(index.relation))")
    }
}
