import Postgres
import Schema
import Wire

/// What a find brought.
public struct Found {
    let resultSet: ResultSet?
    public let count: Int?
    let fileURLPrefix: String

    /// `{"results":[…],"count":n}`
    public func write(to out: inout JSONWriter) {
        out.raw("{\"results\":[")
        if let set = resultSet {
            out.reserve(set.rows.memorySize)
            let writer = ObjectWriter(fileURLPrefix: fileURLPrefix)
            for row in 0..<set.count {
                if row > 0 { out.raw(",") }
                writer.write(set, row, to: &out)
            }
        }
        out.raw("]")
        if let count {
            out.raw(",\"count\":")
            out.number(Double(count))
        }
        out.raw("}")
    }
}

/// One object that was got.
public struct FoundObject {
    let set: ResultSet
    let row: Int
    let fileURLPrefix: String

    public var objectId: String { self.set.objectId(row) }

    /// Writes the object, and whatever `extra` adds before its closing brace.
    public func write(to out: inout JSONWriter, extra: ((inout JSONWriter) -> Void)? = nil) {
        ObjectWriter(fileURLPrefix: fileURLPrefix).write(set, row, extra: extra, to: &out)
    }
}

extension Store {
    /// Finds objects.
    public func find(_ query: Query, as viewer: Viewer) async throws -> Found {
        try await find(query, in: operation(as: viewer))
    }

    /// The same within a transaction, or on shared connections.
    public func find(_ query: Query, in operation: Operation) async throws -> Found {
        let viewer = operation.viewer
        let reader = operation
        try access(viewer).checkReachable(query.className)
        let schema = try await operation.schema()
        var query = query
        var showsClassName = false
        if let key = query.redirectClassNameForKey {
            if case .relation(let target)? = schema[query.className]?.fields[key]?.type { query.className = target }
            showsClassName = true
        }
        let limit = limit(query.limit)
        let nothing = { (count: Int?) in
            Found(resultSet: nil, count: count, fileURLPrefix: self.options.fileURLPrefix)
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
        for name in query.relativeTimeFields where table.fields[name]?.type != .date {
            throw ParseError(107, "$relativeTime can only be used with Date field")
        }
        var set: ResultSet?
        if limit != 0 {
            let operation: ClassPermissions.Operation = query.predicate.asksForOneId ? .get : .find
            let rows = try access.decide(operation, on: table)
            let selection = try selection(query, table)
            let plan = try ReadSQL(schema: schema, access: access, options: options).find(
                table, query, selection: selection.fields, rows: rows, limit: limit)
            let found = try await run(plan, className: table.name, reader)
            try await include(selection.tree, selection.fields, in: found, table, schema, access, reader)
            found.showsClassName = showsClassName
            set = found
        }
        var count: Int?
        if query.count {
            let rows = try access.decide(.count, on: table)
            let plan = try ReadSQL(schema: schema, access: access, options: options).count(
                table, query.predicate, rows: rows)
            count = Int(try await reader.read(plan.statement, plan.parameters).int(0, 0))
        }
        return Found(resultSet: set, count: count, fileURLPrefix: options.fileURLPrefix)
    }

    /// Gets one object. Throws 101 when there is none that the viewer may read.
    public func get(_ query: Query, objectId: String, as viewer: Viewer) async throws -> FoundObject {
        try await get(query, objectId: objectId, in: operation(as: viewer))
    }

    public func get(_ query: Query, objectId: String, in operation: Operation) async throws -> FoundObject {
        let viewer = operation.viewer
        let reader = operation
        try access(viewer).checkReachable(query.className)
        let schema = try await operation.schema()
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
        let plan = ReadSQL(schema: schema, access: access, options: options).get(
            table, ids: [objectId], selection: selection.fields, rows: rows)
        let set = try await run(plan, className: table.name, reader)
        guard set.count > 0 else { throw ParseError.objectNotFound }
        try await include(selection.tree, selection.fields, in: set, table, schema, access, reader)
        return FoundObject(set: set, row: 0, fileURLPrefix: options.fileURLPrefix)
    }

    private func run(
        _ plan: ReadSQL.Plan, className: String, _ reader: some StatementReader
    ) async throws -> ResultSet {
        ResultSet(
            className: className, columns: plan.columns, relations: plan.relations,
            rows: try await reader.read(plan.statement, plan.parameters))
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
        let keys = tree.all ? nil : query.keys?.map { [$0.field] + $0.rest }
        let fields = FieldSelection(keys: keys, excluded: query.excludeKeys.map { [$0.field] + $0.rest })
        return (fields, tree)
    }

    // MARK: include

    /// Reads what `tree` names, one statement for each class of each level.
    private func include(
        _ tree: IncludeTree, _ selection: FieldSelection, in set: ResultSet, _ table: ClassSchema,
        _ schema: SchemaSnapshot, _ access: Access, _ reader: some StatementReader
    ) async throws {
        guard !tree.isEmpty, set.count > 0 else { return }
        var branches = tree.children
        if tree.all {
            for column in set.columns {
                if case .pointer = column.type, branches[column.name] == nil { branches[column.name] = IncludeTree() }
                if column.type == .array, branches[column.name] == nil { branches[column.name] = IncludeTree() }
            }
        }
        for (field, branch) in branches.sorted(by: { $0.key < $1.key }) {
            guard let column = set.column(field) else { continue }
            var collector = PointerCollector()
            switch column.type {
            case .pointer(let target):
                for row in 0..<set.count where !set.rows.isNull(row, column.index) {
                    collector.add(Pointer(className: target, objectId: set.rows.string(row, column.index)), at: [])
                }
            case .array, .object:
                for row in 0..<set.count where !set.rows.isNull(row, column.index) {
                    collector.collect(try JSONParser.parse(set.rows.json(row, column.index)), branch)
                }
            default: continue
            }
            let included = Included()
            set.included[field] = included
            let nested = selection.nested[field] ?? .everything
            for (path, byClass) in collector.found.sorted(by: { $0.key.count < $1.key.count }) {
                var place = included
                var branch = branch
                var nested = nested
                for step in path {
                    if place.within[step] == nil { place.within[step] = Included() }
                    place = place.within[step] ?? place
                    branch = branch.children[step] ?? IncludeTree()
                    nested = nested.nested[step] ?? .everything
                }
                for (className, ids) in byClass.sorted(by: { $0.key < $1.key }) {
                    place.objects[className] = try await includedObjects(
                        className, ids.sorted(), branch, nested, schema, access, reader)
                }
            }
        }
    }

    private func includedObjects(
        _ className: String, _ ids: [String], _ branch: IncludeTree, _ selection: FieldSelection,
        _ schema: SchemaSnapshot, _ access: Access, _ reader: some StatementReader
    ) async throws -> ResultSet? {
        guard let target = schema[className], (try? access.checkReachable(className)) != nil else { return nil }
        if target.name == "_Session", access.viewer.userId == nil, !access.viewer.isAboveAccess { return nil }
        let rows = try access.decide(ids.count == 1 ? .get : .find, on: target)
        let plan = ReadSQL(schema: schema, access: access, options: options).get(
            target, ids: ids, selection: selection, rows: rows)
        let found = try await run(plan, className: className, reader)
        try await include(branch, selection, in: found, target, schema, access, reader)
        return found
    }
}

extension ParseError {
    public static let objectNotFound = ParseError(101, "Object not found.")
}

/// The pointers within JSON values, by the path that leads to them and their class.
struct PointerCollector {
    private(set) var found: [[String]: [String: Set<String>]] = [:]

    mutating func add(_ pointer: Pointer, at path: [String]) {
        found[path, default: [:]][pointer.className, default: []].insert(pointer.objectId)
    }

    /// `json` is what stands at `path`; `tree` what is to be included behind it.
    mutating func collect(_ json: JSON, _ tree: IncludeTree, at path: [String] = []) {
        switch json {
        case .array(let elements):
            for element in elements { collect(element, tree, at: path) }
        case .object(let object):
            if let pointer = ObjectWriter.pointer(json) {
                add(pointer, at: path)
            } else {
                for (key, inner) in tree.children {
                    if let value = object[key] { collect(value, inner, at: path + [key]) }
                }
            }
        default: break
        }
    }
}

/// Something that runs statements that read: an operation, or a worker's connections.
public protocol StatementReader {
    func read(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows
}

extension Database: StatementReader {}
