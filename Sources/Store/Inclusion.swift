import Postgres
import Schema
import Wire

/// Reads the objects that `include` names. Those that the pointers of a page or of one object lead to come in its own
/// rows; all others level by level, and all statements of a level together.
struct Inclusion {
    let schema: SchemaSnapshot
    let access: Access
    let options: StoreOptions

    /// How many objects a page has at most whose pointers are joined. An object that many rows lead to is looked up as
    /// often: where there are more rows, it is read once for all of them (measured with 64 clients: 20 comments with
    /// their authors are answered an eighth faster in one statement, 100 of them an eighth faster in two).
    static let joinedRows = 50
    private static let joinLimit = 4
    /// PostgreSQL's rows have at most 1,664 columns; the keys of order and cursor need some hundred of them at worst.
    private static let widthLimit = 1200

    /// The fields of a class that are joined to its rows, where `tree` is to be included.
    func joins(_ tree: IncludeTree, _ selection: FieldSelection, of table: ClassSchema) -> [ReadSQL.Join] {
        guard !tree.isEmpty else { return [] }
        var joins: [ReadSQL.Join] = []
        var width = table.columns.count
        for column in table.columns where tree.all || tree.children[column.name] != nil {
            // What the viewer may not get is refused only where a pointer leads to it.
            guard joins.count < Inclusion.joinLimit, case .pointer(let className) = column.field.type,
                let (target, rows) = try? self.target(className),
                width + target.columns.count <= Inclusion.widthLimit
            else { continue }
            width += target.columns.count
            joins.append(
                ReadSQL.Join(
                    field: column.name, target: target, rows: rows,
                    selection: selection.nested[column.name] ?? .everything))
        }
        return joins
    }

    /// Objects that were read, and what is to be included of them.
    private struct Branch {
        let set: ResultSet
        /// How often each of them stands in the answer; nil: once.
        var times: [Double]?
        let tree: IncludeTree
        let selection: FieldSelection
    }

    /// Objects of one class that are to be read.
    private struct Step {
        let place: Included
        let className: String
        let plan: ReadSQL.Plan
        /// How often the answer has each of them, by id.
        let times: [String: Double]
        let tree: IncludeTree
        let selection: FieldSelection
    }

    /// - Throws: `resultTooLarge` where few rows would make a huge answer: what many pointers lead to is read once and
    ///   written for each of them, and lists of pointers multiply from depth to depth.
    /// - Parameter joined: what came in the set's own rows.
    func include(
        _ tree: IncludeTree, _ selection: FieldSelection, in set: ResultSet, joined: [ReadSQL.Joined],
        _ operation: Operation
    ) async throws {
        var level = [Branch(set: set, tree: tree, selection: selection)]
        for join in joined {
            let included = Included()
            let objects = ResultSet(
                className: join.className, columns: join.columns, relations: join.relations, rows: set.rows,
                first: join.first)
            objects.shown = set.shown
            included.joined = objects
            set.included[join.field] = included
            level.append(
                Branch(
                    set: objects, tree: tree.children[join.field] ?? IncludeTree(),
                    selection: selection.nested[join.field] ?? .everything))
        }
        var size = AnswerSize(limit: operation.store.database.configuration.resultBudget.share)
        while true {
            var steps: [Step] = []
            for branch in level where !branch.tree.isEmpty && branch.set.count > 0 { steps += try self.steps(branch) }
            guard !steps.isEmpty else { return }
            let found = try await operation.readAll(steps.map { ($0.plan.statement, $0.plan.parameters) })
            level = []
            for (step, rows) in zip(steps, found) {
                let set = ResultSet(
                    className: step.className, columns: step.plan.columns, relations: step.plan.relations, rows: rows)
                step.place.objects[step.className] = set
                let times = (0..<rows.count).map { step.times[set.objectId($0)] ?? 1 }
                try size.add(set, times)
                level.append(Branch(set: set, times: times, tree: step.tree, selection: step.selection))
            }
        }
    }

    private func steps(_ branch: Branch) throws -> [Step] {
        var steps: [Step] = []
        for (field, tree) in branches(branch).sorted(by: { $0.key < $1.key }) where branch.set.included[field] == nil {
            guard let column = branch.set.column(field), let collector = try pointers(branch, column, tree) else {
                continue
            }
            let included = Included()
            branch.set.included[field] = included
            let selection = branch.selection.nested[field] ?? .everything
            for (path, byClass) in collector.found.sorted(by: { $0.key.count < $1.key.count }) {
                var place = included
                var tree = tree
                var selection = selection
                for step in path {
                    let inner = place.within[step] ?? Included()
                    place.within[step] = inner
                    place = inner
                    tree = tree.children[step] ?? IncludeTree()
                    selection = selection.nested[step] ?? .everything
                }
                for (className, times) in byClass.sorted(by: { $0.key < $1.key }) {
                    guard let plan = try plan(className, times.keys.sorted(), selection) else { continue }
                    steps.append(
                        Step(
                            place: place, className: className, plan: plan, times: times, tree: tree,
                            selection: selection))
                }
            }
        }
        return steps
    }

    private func branches(_ branch: Branch) -> [String: IncludeTree] {
        var branches = branch.tree.children
        guard branch.tree.all else { return branches }
        for column in branch.set.columns where column.type.canHoldPointers && branches[column.name] == nil {
            branches[column.name] = IncludeTree()
        }
        return branches
    }

    /// nil for a field of a type that holds none.
    private func pointers(
        _ branch: Branch, _ column: ResultSet.Column, _ tree: IncludeTree
    ) throws -> PointerCollector? {
        let set = branch.set
        var collector = PointerCollector()
        switch column.type {
        case .pointer(let target):
            for row in 0..<set.count where !set.rows.isNull(row, column.index) {
                collector.times = branch.times?[row] ?? 1
                collector.add(Pointer(className: target, objectId: set.rows.string(row, column.index)), at: [])
            }
        case .array, .object:
            for row in 0..<set.count where !set.rows.isNull(row, column.index) {
                collector.times = branch.times?[row] ?? 1
                collector.collect(try JSONParser.parse(set.rows.json(row, column.index)), tree)
            }
        default: return nil
        }
        return collector
    }

    /// Included objects are got, one or many.
    private func plan(
        _ className: String, _ ids: [String], _ selection: FieldSelection
    ) throws(ParseError) -> ReadSQL.Plan? {
        guard let (target, rows) = try target(className) else { return nil }
        return ReadSQL(schema: schema, access: access, options: options).get(
            target, ids: ids, selection: selection, rows: rows)
    }

    /// nil for a class that is not there, or whose objects this viewer can't see whatever the rows.
    private func target(_ className: String) throws(ParseError) -> (ClassSchema, Access.Rows)? {
        try access.checkReachable(className)
        guard let target = schema[className] else { return nil }
        if target.name == "_Session", access.viewer.userId == nil, !access.viewer.isAboveAccess { return nil }
        return (target, try access.decide(.get, on: target))
    }
}

extension FieldType {
    /// Whether `include=*` looks into such a field.
    var canHoldPointers: Bool {
        switch self {
        case .pointer, .array: true
        default: false
        }
    }
}

/// How many bytes an answer has of objects that stand in it several times; the rows themselves have a budget already.
private struct AnswerSize {
    let limit: Int
    private var bytes = 0.0

    init(limit: Int) { self.limit = limit }

    mutating func add(_ set: ResultSet, _ times: [Double]) throws {
        for (row, times) in times.enumerated() where times > 1 {
            var size = 0
            for column in 0..<set.rows.columnCount { size += set.rows.bytes(row, column).count }
            for column in set.columns { size += column.label.count }
            bytes += times * Double(size)
        }
        guard bytes <= Double(limit) else {
            throw PostgresError(.resultTooLarge, "what is included would make more than \(limit >> 20) MB of text")
        }
    }
}

/// The pointers within JSON values, by the path that leads to them and their class.
struct PointerCollector {
    /// How often the answer has each object that they lead to.
    private(set) var found: [[String]: [String: [String: Double]]] = [:]
    /// How often it has the values that are looked through.
    var times = 1.0

    mutating func add(_ pointer: Pointer, at path: [String]) {
        found[path, default: [:]][pointer.className, default: [:]][pointer.objectId, default: 0] += times
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
