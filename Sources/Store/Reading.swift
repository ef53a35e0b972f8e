import Postgres
import Schema
import Wire

/// What a find brought.
public struct Found {
    let resultSet: ResultSet?
    /// What hooks have made of it.
    var objects: [JSON]?
    public let count: Int?
    let fileURLPrefix: String
    /// Where the next page begins, where that was asked for.
    var cursor: Cursor?

    enum Cursor {
        case next(String)
        case end
    }

    init(resultSet: ResultSet?, count: Int?, fileURLPrefix: String) {
        self.resultSet = resultSet
        self.count = count
        self.fileURLPrefix = fileURLPrefix
    }

    /// What a hook brings instead.
    init(objects: [JSON]) {
        resultSet = nil
        count = nil
        fileURLPrefix = ""
        self.objects = objects
    }

    /// Not a count alone.
    var hasObjects: Bool { resultSet != nil || objects != nil }

    /// The classes of all that was included.
    var includedClassNames: Set<String> { resultSet?.includedClassNames ?? [] }

    /// The objects as the answer tells them.
    public func json() throws -> [JSON] {
        if let objects { return objects }
        var out = JSONWriter()
        writeResults(to: &out)
        return try JSONParser.parse(out.bytes).array ?? []
    }

    /// `{"results":[…],"count":n,"cursor":"…"}`
    public func write(to out: inout JSONWriter) {
        out.raw("{\"results\":")
        if let objects { out.json(.array(objects)) } else { writeResults(to: &out) }
        if let count {
            out.raw(",\"count\":")
            out.number(Double(count))
        }
        switch cursor {
        case .next(let text): out.member("cursor", .string(text))
        case .end: out.member("cursor", .null)
        case nil: break
        }
        out.raw("}")
    }

    private func writeResults(to out: inout JSONWriter) {
        out.raw("[")
        if let set = resultSet { ObjectWriter.write(set, fileURLPrefix, to: &out) }
        out.raw("]")
    }
}

/// One object that was got.
public struct FoundObject {
    private enum Source {
        case row(ResultSet, Int, fileURLPrefix: String)
        /// What hooks have made of it.
        case json(JSONObject)
    }
    private let source: Source

    init(set: ResultSet, row: Int, fileURLPrefix: String) { source = .row(set, row, fileURLPrefix: fileURLPrefix) }

    init(_ object: JSONObject) { source = .json(object) }

    var includedClassNames: Set<String> {
        if case .row(let set, _, _) = source { return set.includedClassNames }
        return []
    }

    public var objectId: String {
        switch source {
        case .row(let set, let row, _): set.objectId(row)
        case .json(let object): object["objectId"]?.string ?? ""
        }
    }

    /// Writes the object, and whatever `extra` adds before its closing brace.
    public func write(to out: inout JSONWriter, extra: ((inout JSONWriter) -> Void)? = nil) {
        switch source {
        case .row(let set, let row, let fileURLPrefix):
            ObjectWriter.write(set, row, fileURLPrefix, extra: extra, to: &out)
        case .json(let object):
            out.raw("{\"objectId\":")
            out.string(objectId)
            for (name, value) in object.members where name != "objectId" { out.member(name, value) }
            extra?(&out)
            out.raw("}")
        }
    }

    public func json() throws -> JSON {
        var out = JSONWriter()
        write(to: &out)
        return try JSONParser.parse(out.bytes)
    }
}

extension Store {
    /// Finds objects by the rights of the operation's viewer, past all hooks.
    /// - Parameter showsClassName: Each object tells its class, which is not the one that was asked for.
    func findRows(_ query: Query, in operation: Operation, showsClassName: Bool = false) async throws -> Found {
        try await withSchema(of: query.className, operation) { schema in
            try await findRows(query, in: operation, schema, showsClassName: showsClassName)
        }
    }

    private func findRows(
        _ asked: Query, in operation: Operation, _ schema: SchemaSnapshot, showsClassName isRedirected: Bool
    ) async throws -> Found {
        let viewer = operation.viewer
        var query = asked
        try access(viewer).checkReachable(query.className)
        // A hook may have asked for it too: a plan tells of rows that the viewer may not see.
        if query.explain, !viewer.isMaster {
            throw ParseError(102, "Cannot explain queries without the master key.")
        }
        var showsClassName = isRedirected
        if let key = query.redirectClassNameForKey {
            if case .relation(let target)? = schema[query.className]?.fields[key]?.type { query.className = target }
            try access(viewer).checkReachable(query.className)
            showsClassName = true
        }
        let limit = limit(query.limit)
        var cursor: Found.Cursor? = query.cursor == nil ? nil : .end
        let nothing = { (count: Int?) in
            var found = Found(resultSet: nil, count: count, fileURLPrefix: self.options.fileURLPrefix)
            found.cursor = cursor
            return found
        }
        guard let table = schema[query.className] else {
            try checkMayAsk(query.className, viewer)
            return nothing(query.count ? 0 : nil)
        }
        let access = access(viewer)
        if table.name == "_Session", viewer.userId == nil, !viewer.isAboveAccess {
            throw ParseError(209, access.refusal("Session token required."))
        }
        try QueryableFields(access: access, schema: schema).check(query.predicate, query.order, on: table)
        for name in query.relativeTimeFields where !(table.fields[name].map { $0.type == .date } ?? true) {
            throw ParseError(107, "$relativeTime can only be used with Date field")
        }
        var set: ResultSet?
        var explanation: JSON?
        if limit != 0 {
            let right: ClassPermissions.Operation = query.predicate.asksForOneId ? .get : .find
            let rows = try access.decide(right, on: table)
            let selection = try selection(query, table)
            let inclusion = Inclusion(schema: schema, access: access, options: options)
            let isPage = limit <= Inclusion.joinedRows || query.predicate.asksForOneId
            let joins = isPage ? inclusion.joins(selection.tree, selection.fields, of: table) : []
            let plan = try ReadSQL(schema: schema, access: access, options: options).find(
                table, query, selection: selection.fields, rows: rows, limit: limit, joins: joins)
            if query.explain {
                explanation = try await explain(plan, operation)
            } else {
                let found = try await run(plan, className: table.name, operation)
                if let pages = plan.cursor, found.rows.count > limit {
                    found.shown = limit
                    cursor = .next(
                        pages.text(found.rows, limit - 1, from: ResultSet.firstColumn + plan.columns.count))
                }
                try await inclusion.include(
                    selection.tree, selection.fields, in: found, joined: plan.joined, operation)
                found.showsClassName = showsClassName
                set = found
            }
        }
        var count: Int?
        if query.count {
            let rows = try access.decide(.count, on: table)
            let plan = try ReadSQL(schema: schema, access: access, options: options).count(
                table, query.predicate, rows: rows)
            count = Int(try await operation.read(plan.statement, plan.parameters).int(0, 0))
        }
        var found = Found(resultSet: set, count: count, fileURLPrefix: options.fileURLPrefix)
        found.cursor = cursor
        if let explanation { found.objects = [explanation] }
        return found
    }

    /// How PostgreSQL means to find what is asked, as Parse Server answers it.
    private func explain(_ plan: ReadSQL.Plan, _ operation: Operation) async throws -> JSON {
        let rows = try await operation.read(
            Statement("EXPLAIN (FORMAT JSON) \(plan.statement.text)"), plan.parameters)
        return ["QUERY PLAN": try JSONParser.parse(rows.string(0, 0))]
    }

    /// Gets one object by the rights of the operation's viewer, past all hooks: what the server itself looks up.
    public func getRow(_ query: Query, objectId: String, in operation: Operation) async throws -> FoundObject {
        try access(operation.viewer).checkReachable(query.className)
        return try await withSchema(of: query.className, operation) { schema in
            try await getRow(query, objectId: objectId, in: operation, schema)
        }
    }

    private func getRow(
        _ query: Query, objectId: String, in operation: Operation, _ schema: SchemaSnapshot
    ) async throws -> FoundObject {
        let viewer = operation.viewer
        guard let table = schema[query.className] else {
            try checkMayAsk(query.className, viewer)
            throw ParseError.objectNotFound
        }
        let access = access(viewer)
        if table.name == "_Session", viewer.userId == nil, !viewer.isAboveAccess {
            throw ParseError(209, access.refusal("Session token required."))
        }
        let rows = try access.decide(.get, on: table)
        let selection = try selection(query, table)
        let inclusion = Inclusion(schema: schema, access: access, options: options)
        let plan = getPlans.plan(
            ReadSQL(schema: schema, access: access, options: options), table, objectId, selection: selection.fields,
            rows: rows, joins: inclusion.joins(selection.tree, selection.fields, of: table))
        let set = try await run(plan, className: table.name, operation)
        guard set.count > 0 else { throw ParseError.objectNotFound }
        try await inclusion.include(selection.tree, selection.fields, in: set, joined: plan.joined, operation)
        return FoundObject(set: set, row: 0, fileURLPrefix: options.fileURLPrefix)
    }

    /// Runs `body` with the schema for a query about one class, and once more with what the database has then where the
    /// statements did not suit its tables: another node may have changed them a moment ago.
    func withSchema<Result>(
        of className: String, _ operation: Operation, _ body: (SchemaSnapshot) async throws -> Result
    ) async throws -> Result {
        do {
            return try await body(try await operation.schema(having: className))
        } catch let error as PostgresError where error.meansSchemaChanged && !operation.isInTransaction {
            return try await body(try await catalogue.reload())
        }
    }

    private func run(
        _ plan: ReadSQL.Plan, className: String, _ operation: Operation
    ) async throws -> ResultSet {
        let set = ResultSet(
            className: className, columns: plan.columns, relations: plan.relations,
            rows: try await operation.read(plan.statement, plan.parameters))
        set.tokenSeal = options.tokenSeal
        return set
    }

    /// The bound on a find's objects: what it asks for, the default, the server's maximum.
    private func limit(_ asked: Int?) -> Int {
        let limit = asked ?? options.defaultLimit
        return options.maxLimit.map { min($0, limit) } ?? limit
    }

    private func selection(_ query: Query, _ table: ClassSchema) throws(ParseError) -> (
        fields: FieldSelection, tree: IncludeTree
    ) {
        var tree = IncludeTree(query.include)
        tree.all = query.includeAll || tree.all
        var fields = FieldSelection(
            keys: query.keys?.map { [$0.field] + $0.rest }, excluded: query.excludeKeys.map { [$0.field] + $0.rest })
        for path in query.narrowed {
            fields.nested[path.field, default: FieldSelection(keys: [])].keys?.insert(path.rest[0])
        }
        if tree.all, fields.keys != nil {
            // What is included is shown, whatever the keys say.
            fields.keys?.formUnion(table.columns.filter { $0.field.type.canHoldPointers }.map(\.name))
        }
        return (fields, tree)
    }
}

extension ParseError {
    public static let objectNotFound = ParseError(101, "Object not found.")
}

/// Something that runs statements that read: an operation, or a worker's connections.
public protocol StatementReader {
    func read(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows
}

extension Database: StatementReader {}
