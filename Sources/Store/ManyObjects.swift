import Postgres
import Schema
import Wire

/// Writes of many objects by one statement each, for an application's own rules: by the master's rights, and no hook of
/// the application is asked.
extension Store {
    /// Objects that one statement makes at most.
    public static let mostAtOnce = 10_000

    /// Makes objects of a class. `skippingDuplicates`: leaves out those that a unique index refuses.
    ///
    /// - Returns: how many were made.
    /// - Throws: 111 for a value of another type than its field's, 105 for a field that the class has not, 142 where a
    ///   required one is missing.
    public func createAll(
        _ className: String, _ bodies: [JSONObject], skippingDuplicates: Bool, in operation: Operation
    ) async throws -> Int {
        let table = try await table(className, operation)
        guard bodies.count <= Store.mostAtOnce else {
            throw ParseError(102, "At most \(Store.mostAtOnce) objects are made at once.")
        }
        guard !bodies.isEmpty else { return 0 }
        var rows: [JSON] = []
        var fields: Set<String> = []
        for body in bodies {
            let update = try Update.parse(body, creating: true) { table.fields[$0]?.type }
            let row = try row(update, table)
            for (name, _) in row.members { fields.insert(name) }
            rows.append(.object(row))
        }
        var columns: [SQL] = []
        var definitions: [SQL] = []
        for name in fields.sorted() {
            guard let type = Store.types[name] ?? table.fields[name]?.type.sqlType else { continue }
            columns.append("\(name: name)")
            definitions.append("\(name: name) \(word: type)")
        }
        let conflict: SQL = skippingDuplicates ? " ON CONFLICT DO NOTHING" : ""
        let now: SQL = "date_trunc('milliseconds', now())"
        let sql: SQL =
            """
            INSERT INTO \(name: table.name) ("createdAt", "updatedAt", \(columns)) \
            SELECT \(now), \(now), \(columns) FROM jsonb_to_recordset(\(SQL.json(.array(rows)))) AS r (\(definitions))\
            \(conflict) RETURNING "objectId"
            """
        let (statement, parameters) = sql.rendered()
        return try await operation.write(statement, parameters).count
    }

    static let types: [String: StaticString] = ["objectId": "text", "_rperm": "text[]", "_wperm": "text[]"]

    /// An object as `jsonb_to_recordset` reads it into columns.
    ///
    /// - Parameter setElsewhere: a field that the statement itself brings.
    func row(
        _ update: Update, _ table: ClassSchema, setElsewhere: String? = nil
    ) throws(ParseError) -> JSONObject {
        var row = JSONObject([("objectId", .string(ObjectIdentifiers.make(options.objectIdSize)))])
        for (name, value) in table.defaults { row[name] = try Store.column(value, table, name) }
        for change in update.changes {
            guard !change.path.isDotted, case .set(let value) = change.operation else {
                throw ParseError(107, "Objects that are made together take plain values only.")
            }
            guard table.fields[change.path.field] != nil else {
                throw ParseError(105, "\(table.name) has no field \(change.path.field).")
            }
            if value == .null { continue }
            row[change.path.field] = try Store.column(value, table, change.path.field)
        }
        for name in table.requiredFields where row[name] == nil && name != setElsewhere {
            throw ParseError(142, "\(name) is required")
        }
        if case .set(let acl)? = update.acl {
            row["_rperm"] = .array(acl.entries.filter(\.read).map { .string($0.principal) })
            row["_wperm"] = .array(acl.entries.filter(\.write).map { .string($0.principal) })
        }
        return row
    }

    private static func column(_ value: Value, _ table: ClassSchema, _ field: String) throws(ParseError) -> JSON {
        let type = table.fields[field]?.type
        switch (type, value) {
        case (.string?, .string(let text)): return .string(text)
        case (.number?, .number(let number)): return .number(number)
        case (.boolean?, .bool(let bool)): return .bool(bool)
        case (.date?, .date(let date)): return .string("\(date)")
        case (.object?, .object), (.array?, .array): return value.json
        case (.file?, .file(let file)): return .string(file.name)
        case (.pointer(let target)?, .pointer(let pointer)) where pointer.className == target:
            return .string(pointer.objectId)
        default:
            let expected = type.map { "\($0)" } ?? "nothing"
            throw ParseError(111, "schema mismatch for \(table.name).\(field); expected \(expected)")
        }
    }

    /// Who is to read what is changed, beside or without those who do.
    public struct ReaderChange: Sendable {
        public var allowed: [String] = []
        public var forbidden: [String] = []
        public init() {}
    }

    /// Changes all objects of a class that a predicate holds for, all in the same way.
    ///
    /// - Returns: how many were changed.
    public func updateAll(
        _ className: String, where predicate: Predicate, _ body: JSONObject, readers: ReaderChange = ReaderChange(),
        in operation: Operation
    ) async throws -> Int {
        let table = try await table(className, operation)
        let update = try Update.parse(body, creating: false) { table.fields[$0]?.type }
        for change in update.changes where table.fields[change.path.field] == nil {
            throw ParseError(105, "\(className) has no field \(change.path.field).")
        }
        let access = access(.master)
        let target = access.table(table, "t")
        let condition = try await self.predicates(access, operation).condition(predicate, on: target)
        let sql = try WriteSQL(table: table, access: access).updateAll(
            target, update.changes, readers, where: condition)
        let (statement, parameters) = sql.rendered()
        return Int(try await operation.write(statement, parameters).int(0, 0))
    }

    /// Deletes all objects of a class that a predicate holds for.
    ///
    /// - Returns: how many there were.
    public func deleteAll(_ className: String, where predicate: Predicate, in operation: Operation) async throws -> Int
    {
        let table = try await table(className, operation)
        let access = access(.master)
        let condition = try await predicates(access, operation).condition(predicate, on: access.table(table, "t"))
        let sql = WriteSQL(table: table, access: access).deleteAll(where: condition)
        let (statement, parameters) = sql.rendered()
        return Int(try await operation.write(statement, parameters).int(0, 0))
    }

    /// An object as it is, locked against changes until the end of the transaction.
    ///
    /// - Throws: 101 where there is none.
    public func lock(_ className: String, objectId: String, in operation: Operation) async throws -> JSONObject {
        guard operation.isInTransaction else {
            throw ParseError(141, "An object can be locked in a transaction only.")
        }
        let write = Write(.update, className, objectId, Update(), in: try operation.nested(as: .master))
        do { return try await readOriginal(write) } catch let error as ParseError where error.code == 119 {
            throw ParseError.objectNotFound
        }
    }

    /// Locks objects of a class against changes until the end of the transaction, in one order for all transactions.
    ///
    /// - Returns: how many of them there are.
    public func lockAll(_ className: String, _ ids: [String], in operation: Operation) async throws -> Int {
        guard operation.isInTransaction else {
            throw ParseError(141, "An object can be locked in a transaction only.")
        }
        let access = access(.master)
        guard let table = try await operation.schema(having: className)[className] else { return 0 }
        let target = access.table(table, "t")
        let id = target.column("objectId")
        let sql: SQL =
            """
            SELECT count(*)::int8 FROM (\
            SELECT FROM \(target.source) WHERE \(id) = ANY (\(SQL.texts(ids))) ORDER BY \(id) FOR UPDATE) AS held
            """
        let (statement, parameters) = sql.rendered()
        return Int(try await operation.write(statement, parameters).int(0, 0))
    }

    private static let name: Statement = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 7522544566771344237))"

    /// Locks a name that says nothing to the database: others who lock the same one wait until the end of the
    /// transaction.
    public func lock(name: String, in operation: Operation) async throws {
        guard operation.isInTransaction else {
            throw ParseError(141, "A name can be locked in a transaction only.")
        }
        _ = try await operation.write(Store.name, [.text(name)])
    }

    func table(_ className: String, _ operation: Operation) async throws -> ClassSchema {
        try Names.checkClass(className)
        guard operation.viewer.key == .master else {
            throw ParseError(
                119, access(operation.viewer).refusal("Only the master key may write many objects at once."))
        }
        // Their own rules would not be heeded.
        guard !className.hasPrefix("_") else {
            throw ParseError(119, "Objects of \(className) are written one by one.")
        }
        guard let table = try await operation.schema(having: className)[className] else {
            throw ParseError(103, "There is no class \(className).")
        }
        return table
    }

    private func predicates(_ access: Access, _ operation: Operation) async throws -> PredicateSQL {
        PredicateSQL(aliases: Aliases(), access: access, schema: try await operation.schema(), subqueryLimit: nil)
    }
}
