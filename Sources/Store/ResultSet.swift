import Postgres
import Schema
import Wire

/// Objects of one class as the database returned them, with what was included: read where it lies when written.
final class ResultSet {
    struct Column {
        let name: String
        let type: FieldType
        /// The member's name as it is written: `,"titulo":`
        let label: [UInt8]
        let index: Int

        init(name: String, type: FieldType, index: Int) {
            self.name = name
            self.type = type
            self.index = index
            label = Array(",\"\(name)\":".utf8)
        }

        init(_ column: ClassSchema.Column, index: Int) {
            name = column.name
            type = column.field.type
            label = column.label
            self.index = index
        }
    }

    let className: String
    let columns: [Column]
    let relations: [(label: [UInt8], target: String)]
    let rows: Rows
    /// Where objectId stands; createdAt, updatedAt, _rperm and _wperm follow it.
    let first: Int
    /// The included objects, by field.
    var included: [String: Included] = [:]
    /// The same for each of the columns, once all are there: looking one up by its name for each row takes its time.
    private(set) lazy var inclusions = columns.map { included[$0.name] }
    /// The reference's objects of this class tell no `updatedAt`.
    private(set) lazy var showsUpdate = className != "_JobStatus"
    /// What opens the tokens of sessions.
    var tokenSeal: Seal?
    private(set) lazy var holdsTokens = className == "_Session"
    /// Writes `className` into each object (`redirectClassNameForKey`).
    var showsClassName = false

    /// objectId, createdAt, updatedAt, _rperm, _wperm come first in every statement.
    static let firstColumn = 5

    init(
        className: String, columns: [Column], relations: [(label: [UInt8], target: String)], rows: Rows, first: Int = 0
    ) {
        self.first = first
        self.className = className
        self.columns = columns
        self.relations = relations
        self.rows = rows
    }

    /// How many of the rows are objects of the answer; nil: all. One more was read to know whether there are others.
    var shown: Int?
    var count: Int { shown.map { min($0, rows.count) } ?? rows.count }

    /// Its own class, and those of all that was included.
    var classNames: Set<String> { includedClassNames.union([className]) }
    var includedClassNames: Set<String> { included.values.reduce(into: []) { $0.formUnion($1.classNames) } }

    func objectId(_ row: Int) -> String { rows.string(row, first) }

    func column(_ name: String) -> Column? { columns.first { $0.name == name } }

    /// Where each object stands.
    lazy var rowsById: [String: Int] = {
        var rowsById: [String: Int] = [:]
        rowsById.reserveCapacity(count)
        for row in 0..<count { rowsById[objectId(row)] = row }
        return rowsById
    }()
}

/// What lies behind one field that is included: the objects that its pointers lead to, by class, and, where the field
/// is an Object, what is included within it.
final class Included {
    var objects: [String: ResultSet] = [:]
    var within: [String: Included] = [:]
    /// The objects that stand in the rows of the pointers themselves: each pointer's in its own row.
    var joined: ResultSet?

    var classNames: Set<String> {
        var names = objects.values.reduce(into: joined?.classNames ?? []) { $0.formUnion($1.classNames) }
        for inner in within.values { names.formUnion(inner.classNames) }
        return names
    }

    func find(_ pointer: Pointer) -> (ResultSet, Int)? {
        guard let set = objects[pointer.className], let row = set.rowsById[pointer.objectId] else { return nil }
        return (set, row)
    }
}
