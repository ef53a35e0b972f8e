import Postgres
import Schema
import Wire

extension Store {
    /// What came of making an object for each one that a query finds.
    public struct MadeForEach: Sendable {
        public let found: Int
        public let made: Int
        /// The greatest objectId that was found; nil where nothing was.
        public let last: String?
    }

    /// Makes an object for each one that a query finds, 10,000 at most, by one statement within the database: all
    /// alike, but for one field. By the master's rights, and no hook of the application is asked.
    ///
    /// - Parameters:
    ///   - body: what they have in common.
    ///   - field: of the new objects: gets the value that `source` has in the found one, which brings none without it.
    ///   - isOwned: the user whom that value names may read and change the new object, beside those whom its ACL names.
    ///   - skippingDuplicates: leaves out those that a unique index refuses.
    /// - Throws: 102 for a larger limit, 111 where the two fields are of different types, and what `createAll` does.
    public func createAll(
        _ className: String, _ body: JSONObject, forEach query: Query, setting field: String, to source: String,
        isOwned: Bool, skippingDuplicates: Bool, in operation: Operation
    ) async throws -> MadeForEach {
        let table = try await table(className, operation)
        guard let origin = try await operation.schema(having: query.className)[query.className] else {
            throw ParseError(103, "There is no class \(query.className).")
        }
        guard let type = origin.fields[source]?.type, table.fields[field]?.type == type else {
            throw ParseError(111, "\(className).\(field) and \(query.className).\(source) are not of one type.")
        }
        let limit = query.limit ?? Store.mostAtOnce
        guard limit <= Store.mostAtOnce else {
            throw ParseError(102, "At most \(Store.mostAtOnce) objects are made at once.")
        }
        let update = try Update.parse(body, creating: true) { table.fields[$0]?.type }
        let row = try row(update, table, setElsewhere: field)
        var columns: [SQL] = []
        var values: [SQL] = []
        // A list of columns may not be empty.
        var definitions: [SQL] = ["\"objectId\" text"]
        for (name, _) in row.members where name != "objectId" && name != field {
            guard let type = Store.types[name] ?? table.fields[name]?.type.sqlType else { continue }
            definitions.append("\(name: name) \(word: type)")
            if isOwned, name == "_rperm" || name == "_wperm" { continue }
            columns.append("\(name: name)")
            values.append("r.\(name: name)")
        }
        if isOwned {
            for name in ["_rperm", "_wperm"] {
                let others: SQL = row[name] == nil ? "'{}'::text[]" : "r.\(name: name)"
                columns.append("\(name: name)")
                values.append("\(others) || found.value")
            }
        }
        columns.append("\(name: field)")
        values.append("found.value")
        let aliases = Aliases()
        let access = access(.master)
        let reference = access.table(origin, aliases.next())
        let predicates = PredicateSQL(
            aliases: aliases, access: access, schema: try await operation.schema(), subqueryLimit: nil)
        let condition = Condition.clause([
            try predicates.condition(query.predicate, on: reference),
            .when("\(reference.column(source)) IS NOT NULL"),
        ])
        let conflict: SQL = skippingDuplicates ? " ON CONFLICT DO NOTHING" : ""
        let now: SQL = "date_trunc('milliseconds', now())"
        let sql: SQL = """
            WITH found AS MATERIALIZED (
                SELECT \(reference.column("objectId")) AS id, \(reference.column(source)) AS value
                FROM \(reference.source)\(condition)\(try OrderSQL(query.order, on: reference).clause)\
                \(Page(limit: limit, skip: query.skip).sql)
            ), made AS (
                INSERT INTO \(name: table.name) ("objectId", "createdAt", "updatedAt", \(columns))
                SELECT \(Store.newId(options.objectIdSize)), \(now), \(now), \(values)
                FROM found CROSS JOIN jsonb_to_recordset(\(SQL.json(.array([.object(row)])))) AS r (\(definitions))\(conflict)
                RETURNING 1
            )
            SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM made), (SELECT max(id) FROM found)
            """
        let (statement, parameters) = sql.rendered()
        let rows = try await operation.write(statement, parameters)
        return MadeForEach(
            found: Int(rows.int(0, 0)), made: Int(rows.int(0, 1)), last: rows.isNull(0, 2) ? nil : rows.string(0, 2))
    }

    /// An objectId that PostgreSQL makes: letters and digits of a digest of 122 random bits.
    private static func newId(_ size: Int) -> SQL {
        "left(translate(encode(sha256(uuid_send(gen_random_uuid())), 'base64'), '+/=', ''), \(number: size))"
    }
}
