import Wire

/// Objects of a class, of which a window is held, as they come page by page.
struct ObjectList: Sendable {
    let className: String
    /// As it was typed.
    var filter = ""
    /// The filter, and what else they are chosen by.
    var condition = JSONObject()
    /// Those that a relation of an object links.
    var relation: (className: String, id: String, field: String)?
    var sorting = Sorting.newest
    /// Names of fields; the first one is objectId.
    var columns: [String]
    var column = 1
    var list = Browser.ListView()
    private(set) var rows: [JSONObject] = []
    /// How many rows stand before the first one that is held; nil: nobody knows, since one came from the end.
    private(set) var before: Int? = 0
    private var forward: Cursor
    private var backward: Cursor?
    var isRead = false
    var marks: Set<String> = []
    var pageSize = 200
    var lastRead: (rows: Int, milliseconds: Int)?

    /// Rows that are held at most.
    static let most = 5000

    init(_ shape: ClassShape) {
        className = shape.name
        columns = CommandContext.columns(shape).prefix(20).map(\.name)
        if columns.first != "objectId" { columns.insert("objectId", at: 0) }
        forward = Cursor(.newest)
        column = min(1, columns.count - 1)
    }

    var selected: JSONObject? { rows.indices.contains(list.selected) ? rows[list.selected] : nil }
    var isAtEnd: Bool { forward.isAtEnd }
    var isAtStart: Bool { backward == nil }

    /// What all its pages are chosen by.
    var base: JSONObject {
        guard let relation else { return condition }
        let related: JSON = [
            "$relatedTo": [
                "object": FilterValues.pointer(relation.className, relation.id), "key": .string(relation.field),
            ]
        ]
        return Filter.all([condition, record(related)])
    }

    /// Forgets its rows and stands before the first, or behind the last one.
    mutating func restart(atEnd: Bool) {
        forward = Cursor(atEnd ? sorting.reversed : sorting)
        backward = nil
        isRead = false
    }

    /// Behind a moment.
    mutating func restart(at date: String) {
        sorting = .newest
        let row = JSONObject([("createdAt", .string(date)), ("objectId", "~")])
        forward = Cursor(.newest, after: row)
        backward = Cursor(Sorting.newest.reversed, after: row)
        rows = []
        before = nil
        isRead = false
    }

    /// The condition and the order of the page that follows, or of the one before; nil where there is none.
    func next(backward isBackward: Bool) -> (condition: JSONObject, order: String)? {
        guard let cursor = isBackward ? backward : forward, let condition = cursor.condition else { return nil }
        return (Filter.all([base, condition]), cursor.order)
    }

    /// - Parameters:
    ///   - isFirst: the page takes the place of all rows.
    ///   - isFromEnd: it came in the opposite order, from the last row on.
    /// - Returns: whether another one is to be asked for at once.
    mutating func take(_ page: [JSONObject], backward isBackward: Bool, first isFirst: Bool, fromEnd: Bool) -> Bool {
        if isFirst {
            rows = []
            list = Browser.ListView()
            isRead = true
        }
        if isFirst, fromEnd {
            var cursor = Cursor(sorting.reversed)
            let again = cursor.take(page)
            rows = page.reversed()
            before = nil
            backward = cursor.isAtEnd ? nil : cursor
            forward = atEnd(rows.last)
            list.selected = max(0, rows.count - 1)
            return again
        }
        if isBackward {
            guard var cursor = backward else { return false }
            let again = cursor.take(page)
            backward = cursor.isAtEnd ? nil : cursor
            if cursor.isAtEnd { before = 0 }
            if let known = before, known > 0 { before = max(0, known - page.count) }
            rows.insert(contentsOf: page.reversed(), at: 0)
            list.selected += page.count
            list.top += page.count
            trimEnd()
            return again
        }
        let again = forward.take(page)
        if isFirst, before == nil, backward == nil { before = 0 }
        rows += page
        trimStart()
        return again
    }

    /// Nothing follows the last row of the reversed order's first page.
    private func atEnd(_ last: JSONObject?) -> Cursor {
        var cursor = last.map { Cursor(sorting, after: $0) } ?? Cursor(sorting)
        // What came since is asked for once more, so that the end is found where it is.
        if last == nil { _ = cursor.take([]) }
        return cursor
    }

    private mutating func trimStart() {
        let extra = rows.count - ObjectList.most
        guard extra > 0 else { return }
        rows.removeFirst(extra)
        before = before.map { $0 + extra }
        list.selected = max(0, list.selected - extra)
        list.top = max(0, list.top - extra)
        if let first = rows.first { backward = Cursor(sorting.reversed, after: first) }
    }

    private mutating func trimEnd() {
        let extra = rows.count - ObjectList.most
        guard extra > 0 else { return }
        rows.removeLast(extra)
        if let last = rows.last { forward = Cursor(sorting, after: last) }
    }

    mutating func remove(_ id: String) {
        guard let index = rows.firstIndex(where: { $0["objectId"]?.string == id }) else { return }
        rows.remove(at: index)
        marks.remove(id)
        if list.selected > index || list.selected >= rows.count { list.selected = max(0, list.selected - 1) }
    }

    /// Puts pointers into rows that have none: what they lead to is not there.
    mutating func fill(_ found: [JSONObject]) {
        for object in found {
            guard let index = rows.firstIndex(where: { $0["objectId"] == object["objectId"] }) else { continue }
            for (name, value) in object.members where rows[index][name] == nil { rows[index][name] = value }
        }
    }

    mutating func replace(_ object: JSONObject) {
        guard let id = object["objectId"], let index = rows.firstIndex(where: { $0["objectId"] == id }) else { return }
        for (name, value) in object.members { rows[index][name] = value }
        for (name, _) in rows[index].members where object[name] == nil { rows[index][name] = nil }
    }
}

/// One object with all its fields.
struct ObjectView: Sendable {
    let className: String
    let objectId: String
    var object: JSONObject?
    var isGone = false
    /// A key that waits for the object to be there.
    var followUp: Key?
    var list = Browser.ListView()
    /// Secrets that are shown for a while.
    var revealed: [String: JSON] = [:]
}

/// Fields of an object that are being changed, or of one that is to be made.
struct EditForm: Sendable {
    let className: String
    /// nil: a new one.
    let objectId: String?
    /// As it was read when the form was opened.
    var original: JSONObject
    /// What fields are to become; nil: missing.
    var drafts: [String: JSON?] = [:]
    var list = Browser.ListView()
    var isSaving = false
    /// The server was lost while it was being saved.
    var isUnknown = false

    /// In the order of the class.
    func changes(_ shape: ClassShape) -> [Browser.Change] {
        shape.fields.compactMap { field in
            guard let draft = drafts[field.name], draft != original[field.name] else { return nil }
            return Browser.Change(field: field.name, old: original[field.name], new: draft)
        }
    }
}

/// Who may read and write an object.
struct AccessView: Sendable {
    let className: String
    let objectId: String
    struct Entry: Sendable, Equatable {
        /// `*`, `role:moderadores`, or a user's id.
        var key: String
        var name: String
        var reads: Bool
        var writes: Bool
    }
    var entries: [Entry] = []
    var original: JSON?
    var isOnWrite = false
    var list = Browser.ListView()

    init(className: String, objectId: String, acl: JSON?) {
        self.className = className
        self.objectId = objectId
        original = acl
        guard let acl = acl?.object else {
            entries = [Entry(key: "*", name: "everybody", reads: true, writes: true)]
            return
        }
        entries = acl.members.map { key, rights in
            let name = key == "*" ? "everybody" : key.hasPrefix("role:") ? "role " + key.dropFirst(5) : key
            return Entry(
                key: key, name: name, reads: rights.object?["read"] == true, writes: rights.object?["write"] == true)
        }
    }

    /// As the server stores it.
    var json: JSON {
        .object(
            JSONObject(
                entries.filter { $0.reads || $0.writes }.map { entry in
                    var rights = JSONObject()
                    if entry.reads { rights["read"] = true }
                    if entry.writes { rights["write"] = true }
                    return (entry.key, .object(rights))
                }))
    }

    var isChanged: Bool { original != json && !(original == nil && json == ["*": ["read": true, "write": true]]) }
}
