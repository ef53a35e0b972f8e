import Postgres
import Schema
import Wire

/// What of the classes is one user's own.
extension Store {
    /// Blocks of a table that one statement looks through: 64 MB at most, since no index knows whom ACLs name.
    private static let blocksOfStep: Int64 = 8_192
    private static let objectsOfStep = 200

    /// The objects of one class that are the viewer's: a pointer names its user, or the ACL names him, and he may read
    /// them. The eldest first. What is written while this runs may be missing.
    ///
    /// - Parameters:
    ///   - hidden: fields that are left out.
    ///   - limit: bytes of JSON that may still come.
    /// - Throws: 102 past the limit.
    public func ownedObjects(
        _ className: String, hiding hidden: Set<String> = [], limit: inout Int, in operation: Operation
    ) async throws -> [JSONObject] {
        guard let userId = operation.viewer.userId, let table = try await operation.schema()[className] else {
            return []
        }
        let access = access(operation.viewer)
        // Who may find nothing in a class may still get what he knows of.
        guard
            let rows = (try? access.decide(.get, on: table, byRule: true))
                ?? (try? access.decide(.find, on: table, byRule: true))
        else { return [] }
        let ids = try await idsNaming(userId, table, in: operation)
        var selection = FieldSelection.everything
        selection.excluded = hidden
        var objects: [JSONObject] = []
        for start in stride(from: 0, to: ids.count, by: Store.objectsOfStep) {
            let plan = ReadSQL(schema: try await operation.schema(), access: access, options: options).get(
                table, ids: Array(ids[start..<min(start + Store.objectsOfStep, ids.count)]), selection: selection,
                rows: rows)
            let set = ResultSet(
                className: table.name, columns: plan.columns, relations: plan.relations,
                rows: try await operation.read(plan.statement, plan.parameters))
            limit -= set.rows.memorySize
            guard limit >= 0 else { throw ParseError.exportTooLarge }
            objects += try Found(resultSet: set, count: nil, fileURLPrefix: options.fileURLPrefix).json()
                .compactMap(\.object)
        }
        let age = { (object: JSONObject) in (object["createdAt"]?.string ?? "", object["objectId"]?.string ?? "") }
        return objects.sorted { age($0) < age($1) }
    }

    /// The classes in which an application keeps objects, and the devices.
    public func classesOfObjects(in operation: Operation) async throws -> [String] {
        try await operation.schema().classes.keys.filter { !$0.hasPrefix("_") || $0 == "_Installation" }.sorted()
    }

    /// What the relations of a user lead to, by their fields.
    public func relationsOfUser(_ userId: String, in operation: Operation) async throws -> JSONObject {
        var relations = JSONObject()
        for relation in try await operation.schema()["_User"]?.relations ?? [] {
            let join = ClassSchema.joinTable(field: relation.name, of: "_User")
            let sql: SQL = """
                SELECT "relatedId" FROM \(name: join) WHERE "owningId" = \(SQL.text(userId)) ORDER BY 1
                """
            let (statement, parameters) = sql.rendered()
            let rows = try await operation.read(statement, parameters)
            let pointers = (0..<rows.count).map { row -> JSON in
                [
                    "__type": "Pointer", "className": .string(relation.target),
                    "objectId": .string(rows.string(row, 0)),
                ]
            }
            relations[relation.name] = .array(pointers)
        }
        return relations
    }

    private func idsNaming(_ userId: String, _ table: ClassSchema, in operation: Operation) async throws -> [String] {
        var ids: Set<String> = []
        for column in table.columns where column.field.type == .pointer("_User") {
            let sql: SQL = """
                SELECT "objectId" FROM \(name: table.name) WHERE \(column: column) = \(SQL.text(userId))
                """
            let (statement, parameters) = sql.rendered()
            let rows = try await operation.read(statement, parameters)
            for row in 0..<rows.count { ids.insert(rows.string(row, 0)) }
        }
        // Sessions carry no ACL.
        if table.name != "_Session" {
            let own = SQL.texts([userId])
            ids.formUnion(try await walk(table, "t.\"_rperm\" && \(own) OR t.\"_wperm\" && \(own)", in: operation))
        }
        return ids.sorted()
    }

    /// The ids of the objects that a user alone may read and change: of no use to anybody without him.
    public func privateIds(of userId: String, _ className: String, in operation: Operation) async throws -> [String] {
        guard let table = try await operation.schema()[className] else { return [] }
        return try await walk(table, WriteSQL.isPrivate(to: userId), in: operation)
    }

    /// The ids of the rows that a condition on `t` holds for, looked for from the table's first block to its last, by
    /// statements that take a fraction of a second each.
    private func walk(_ table: ClassSchema, _ condition: SQL, in operation: Operation) async throws -> [String] {
        let size: SQL = """
            SELECT pg_relation_size(\(SQL.text(quoted(table.name)))::regclass) / current_setting('block_size')::int8
            """
        let (statement, parameters) = size.rendered()
        let blocks = try await operation.read(statement, parameters).int(0, 0)
        var ids: [String] = []
        for block in stride(from: 0, through: blocks, by: Int64.Stride(Store.blocksOfStep)) {
            let (from, to) = (SQL.text("(\(block),0)"), SQL.text("(\(block + Store.blocksOfStep),0)"))
            let sql: SQL = """
                SELECT t."objectId" FROM \(name: table.name) t \
                WHERE t.ctid >= \(from)::tid AND t.ctid < \(to)::tid AND (\(condition))
                """
            let (statement, parameters) = sql.rendered()
            let rows = try await operation.read(statement, parameters)
            ids += (0..<rows.count).map { rows.string($0, 0) }
            try Task.checkCancellation()
        }
        return ids
    }
}

extension Operation {
    /// Deletes those of the objects that are still a user's alone. A rule of the server's own, which asks no hook.
    public func deletePrivate(_ ids: [String], of userId: String, _ className: String) async throws {
        guard !ids.isEmpty, let table = try await schema()[className] else { return }
        let plan = WriteSQL(table: table, access: store.access(.master)).deletePrivate(ids, of: userId)
        _ = try await write(plan.statement, plan.parameters)
    }
}

extension WriteSQL {
    /// Of a row of `t`: its ACL names this user and nobody else.
    static func isPrivate(to userId: String) -> SQL {
        let own = SQL.texts([userId])
        return "t.\"_rperm\" <@ \(own) AND t.\"_wperm\" <@ \(own) AND t.\"_rperm\" || t.\"_wperm\" && \(own)"
    }
}

extension ParseError {
    static let exportTooLarge = ParseError(
        102, "There is more to export than accountExport.maxSize allows. Ask the server's operator.")
}
