import Wire

/// The order in which objects are shown.
public struct Sorting: Sendable, Equatable {
    /// A field whose values the server orders: String, Number, Boolean, Date, Pointer, File.
    public var field: String
    public var isDescending: Bool
    /// Whether every object has it.
    public var isEverywhere: Bool

    public init(field: String, isDescending: Bool, isEverywhere: Bool) {
        self.field = field
        self.isDescending = isDescending
        self.isEverywhere = isEverywhere
    }

    public static let newest = Sorting(field: "createdAt", isDescending: true, isEverywhere: true)

    /// By a field of a class; nil where the server has no order for it.
    public init?(_ name: String, descending: Bool, of shape: ClassShape) {
        guard let field = shape[name] else { return nil }
        switch field.type {
        case .string, .number, .boolean, .date, .pointer, .file: break
        default: return nil
        }
        self.init(
            field: name, isDescending: descending, isEverywhere: ["objectId", "createdAt", "updatedAt"].contains(name))
    }

    public var reversed: Sorting {
        Sorting(field: field, isDescending: !isDescending, isEverywhere: isEverywhere)
    }

    /// As `order=` has it.
    public var order: String {
        let sign = isDescending ? "-" : ""
        return field == "objectId" ? sign + field : "\(sign)\(field),\(sign)objectId"
    }
}

/// A place between two objects of a sorted list, and what to ask for to get those that follow: never by counting off
/// (`skip`), which takes the longer the further down one is.
///
/// Only the server compares values. After a row with value D and id X it is asked for `field <= D and (field < D or
/// objectId < X)`: the first part bounds the walk along the index, the second leaves out what was there. After a page
/// that held one single value (an import), for `field = D and objectId < X` until that is dry, then for `field < D`.
/// Rows without the field come as a run of their own, last when ascending.
public struct Cursor: Sendable, Equatable {
    private enum Run: Sendable, Equatable { case valued, missing }
    private enum Place: Sendable, Equatable {
        case start
        case after(JSON, id: String)
        /// Within the objects of one value.
        case among(JSON, id: String)
        case past(JSON)
        case afterMissing(id: String)
    }

    public let sorting: Sorting
    private var run: Run
    private var place = Place.start
    /// No further row follows.
    public private(set) var isAtEnd = false

    /// Before the first row.
    public init(_ sorting: Sorting) {
        self.sorting = sorting
        run = !sorting.isEverywhere && sorting.isDescending ? .missing : .valued
    }

    /// After a row that is shown.
    public init(_ sorting: Sorting, after row: JSONObject) {
        self.sorting = sorting
        let id = row["objectId"]?.string ?? ""
        if let value = Cursor.value(of: row, sorting.field) {
            run = .valued
            place = .after(value, id: id)
        } else {
            run = .missing
            place = .afterMissing(id: id)
        }
    }

    /// What the page that follows is asked by: to be joined with the filter. nil at the end.
    public var condition: JSONObject? {
        guard !isAtEnd else { return nil }
        let field = sorting.field
        let beyond = sorting.isDescending ? "$lt" : "$gt"
        func idBeyond(_ id: String) -> JSONObject { JSONObject([("objectId", [beyond: .string(id)])]) }
        if run == .missing {
            var condition = JSONObject([(field, ["$exists": false])])
            if case .afterMissing(let id) = place { condition["objectId"] = [beyond: .string(id)] }
            return condition
        }
        switch place {
        case .start, .afterMissing:
            return sorting.isEverywhere ? JSONObject() : JSONObject([(field, ["$exists": true])])
        case .after(let value, let id):
            if field == "objectId" { return idBeyond(id) }
            return JSONObject([
                (field, [beyond + "e": value]),
                ("$or", [.object(JSONObject([(field, [beyond: value])])), .object(idBeyond(id))]),
            ])
        case .among(let value, let id):
            var condition = idBeyond(id)
            condition[field] = value
            return condition
        case .past(let value): return JSONObject([(field, [beyond: value])])
        }
    }

    /// The order of the page that follows.
    public var order: String { run == .missing ? (sorting.isDescending ? "-objectId" : "objectId") : sorting.order }

    /// Moves behind a page.
    ///
    /// - Returns: whether it was empty and another is to be asked for at once.
    public mutating func take(_ page: [JSONObject]) -> Bool {
        guard let last = page.last, let id = last["objectId"]?.string else { return moveOn() }
        if run == .missing {
            place = .afterMissing(id: id)
        } else if let value = Cursor.value(of: last, sorting.field) {
            let isOneValue = page.count > 1 && page.allSatisfy { Cursor.value(of: $0, sorting.field) == value }
            if case .among = place {
                place = .among(value, id: id)
            } else {
                place = isOneValue && sorting.field != "objectId" ? .among(value, id: id) : .after(value, id: id)
            }
        }
        return false
    }

    private mutating func moveOn() -> Bool {
        if run == .valued, case .among(let value, _) = place {
            place = .past(value)
            return true
        }
        let isLastRun = sorting.isEverywhere || (run == .valued) == sorting.isDescending
        if isLastRun {
            isAtEnd = true
            return false
        }
        run = run == .valued ? .missing : .valued
        place = .start
        return true
    }

    /// As a query compares with it: the server shows createdAt and updatedAt as bare texts.
    private static func value(of row: JSONObject, _ field: String) -> JSON? {
        guard let value = row[field], value != .null else { return nil }
        switch (field, value) {
        case ("createdAt", .string(let text)), ("updatedAt", .string(let text)):
            return ["__type": "Date", "iso": .string(text)]
        default:
            guard let object = value.object, let id = object["objectId"], object["className"] != nil else {
                return value
            }
            // A pointer's object may have come along.
            return ["__type": "Pointer", "className": object["className"] ?? .null, "objectId": id]
        }
    }
}
