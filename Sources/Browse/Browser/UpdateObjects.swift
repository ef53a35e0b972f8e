import Wire

extension Browser {
    // MARK: pages

    /// Remembers a list before what it shows is changed.
    mutating func keep(_ view: Int) {
        guard fallbacks[view] == nil, let index = index(of: view), case .objects(let list) = layers[index].view,
            list.isRead
        else { return }
        fallbacks[view] = list
    }

    mutating func readFirst(_ view: Int, fromEnd: Bool) { readPage(view, backward: fromEnd, first: true) }

    /// Asks for the page that follows, or the one before, unless it is on its way already.
    mutating func readPage(_ view: Int, backward: Bool, first: Bool = false) {
        guard let index = index(of: view), case .objects(let list) = layers[index].view else { return }
        let isPage = { (purpose: Purpose) in
            if case .page(let other, _, _) = purpose { other == view } else { false }
        }
        if first {
            for (number, request) in requests where isPage(request.purpose) {
                requests[number] = nil
                effects.append(.cancel(number))
            }
        } else if isAsking(isPage) {
            return
        }
        // From the end the list was restarted the other way round: its forward cursor runs backwards.
        guard let next = list.next(backward: backward && !first) else { return }
        var parameters = JSONObject([
            ("where", .object(next.condition)), ("order", .string(next.order)),
            ("limit", .number(Double(list.pageSize))),
        ])
        // Without columns to choose: the class may have grown.
        parameters["keys"] = .string(keys(of: list).joined(separator: ","))
        let included = labels(of: list)
        if !included.isEmpty { parameters["include"] = .string(included.keys.sorted().joined(separator: ",")) }
        fetch(.page(view: view, backward: backward, first: first), .find(list.className, parameters))
    }

    /// The pointers among the columns, each with the field that its object is known by.
    func labels(of list: ObjectList) -> [String: String] {
        guard let shape = classes[list.className] else { return [:] }
        var labels: [String: String] = [:]
        for column in list.columns {
            guard case .pointer(let target)? = shape[column]?.type, let label = label(of: target) else { continue }
            labels[column] = label
        }
        return labels
    }

    private func keys(of list: ObjectList) -> [String] {
        let shape = classes[list.className]
        var keys = list.columns.filter { shape?.isSecret($0) != true }
        keys += labels(of: list).sorted { $0.key < $1.key }.map { "\($0.key).\($0.value)" }
        keys.append(list.sorting.field)
        // What an object is called, in questions.
        if let name = shape?.labelField { keys.append(name) }
        return keys
    }

    /// The server leaves a pointer out whose object was to come along and is not there. Where pointers are missing, it
    /// is asked whether they are, without what they lead to.
    mutating func readPointers(_ view: Int, _ className: String, _ rows: [JSONObject], _ pointers: [String]) {
        let ids = rows.filter { row in pointers.contains { row[$0] == nil } }.compactMap { $0["objectId"] }
        guard !ids.isEmpty else { return }
        let parameters = record([
            "where": ["objectId": ["$in": .array(ids)]], "keys": .string(pointers.joined(separator: ",")),
            "limit": .number(Double(ids.count)),
        ])
        fetch(.pointers(view: view), .find(className, parameters))
    }

    func pointers(of className: String) -> [String] {
        (classes[className]?.fields ?? []).filter { if case .pointer = $0.type { true } else { false } }.map(\.name)
    }

    /// The next page is asked for a screen early.
    mutating func readAhead() {
        guard let layer = layers.last, case .objects(let list) = layer.view, list.isRead else { return }
        if list.list.selected + 2 * tablePage >= list.rows.count, !list.isAtEnd {
            readPage(layer.id, backward: false)
        } else if list.list.selected < tablePage, !list.isAtStart {
            readPage(layer.id, backward: true)
        }
    }

    // MARK: keys

    mutating func objectsKey(_ key: Key, _ view: Int, _ list: ObjectList) {
        var list = list
        let index = layers.count - 1
        switch key {
        case .left, .character("h"): list.column = max(0, list.column - 1)
        case .right, .character("l"): list.column = min(list.columns.count - 1, list.column + 1)
        case .enter:
            if let id = list.selected?["objectId"]?.string { openObject(list.className, id) }
            return
        case .character("/"):
            var prompt = Prompt(.filter(view: view), "Filter>", list.filter)
            prompt.fault = nil
            dialog = .prompt(prompt)
            return checkPrompt()
        case .character("s"): return sort(view, list, descending: false)
        case .character("S"): return sort(view, list, descending: true)
        case .character("c"):
            dialog = .prompt(Prompt(.columns(view: view), "Columns>", list.columns.joined(separator: ",")))
            return
        case .character("#"): return askCount(list.className, view: view, list.base)
        case .character("r"):
            keep(view)
            list.restart(atEnd: false)
            layers[index].view = .objects(list)
            return readFirst(view, fromEnd: false)
        case .character("i"):
            _ = push(.schema(ListView(), className: list.className))
            return
        case .character("f"), .character("a"), .character("e"):
            guard let id = list.selected?["objectId"]?.string else { return }
            if key == .character("f") {
                _ = push(.referrers(ListView(), className: list.className, id: id))
            } else if key == .character("e"), !mayChange() {
                return
            } else {
                openObject(list.className, id, then: key)
            }
            return
        case .character("y"):
            if list.selected != nil { dialog = .copying }
            return
        case .character(" "):
            guard let id = list.selected?["objectId"]?.string else { return }
            if list.marks.remove(id) == nil {
                guard list.marks.count < 1000 else { return say("1,000 are marked, which is the most", .warning) }
                list.marks.insert(id)
            }
            list.list.move(by: 1, count: list.rows.count, page: tablePage)
        case .character("n"):
            if list.relation != nil {
                if mayChange() { dialog = .prompt(Prompt(.link(view: view), "Link: id, Class:id or @user")) }
                return
            }
            return newObject(list.className)
        case .character("D"):
            if let relation = list.relation, let id = list.selected?["objectId"]?.string {
                guard mayChange() else { return }
                dialog = .question(
                    Question(
                        title:
                            "Unlink \(list.className) \(id) from \(relation.field) of \(relation.className) \(relation.id)?",
                        lines: [], keys: "y unlink  Esc keep", action: .link(view: view, id: id, adding: false)))
                return
            }
            return delete(list)
        default: return
        }
        layers[index].view = .objects(list)
        readAhead()
    }

    private mutating func sort(_ view: Int, _ list: ObjectList, descending: Bool) {
        guard let shape = classes[list.className], list.columns.indices.contains(list.column) else { return }
        let name = list.columns[list.column]
        guard let sorting = Sorting(name, descending: descending, of: shape) else {
            return say("the server has no order for \(name)", .warning)
        }
        guard shape.isIndexed(name) else {
            dialog = .question(
                Question(
                    title: "\(name) has no index: the server reads the whole class for each page. Sort by it?",
                    lines: [], keys: "y sort  Esc leave it", action: .sort(view: view, sorting)))
            return
        }
        apply(sorting, view)
    }

    mutating func apply(_ sorting: Sorting, _ view: Int) {
        keep(view)
        guard let index = index(of: view), case .objects(var list) = layers[index].view else { return }
        list.sorting = sorting
        list.restart(atEnd: false)
        layers[index].view = .objects(list)
        readFirst(view, fromEnd: false)
    }

    mutating func apply(_ filter: String, _ condition: JSONObject, _ view: Int) {
        keep(view)
        guard let index = index(of: view), case .objects(var list) = layers[index].view else { return }
        list.filter = filter
        list.condition = condition
        list.marks = []
        counts["\(view)"] = nil
        list.restart(atEnd: false)
        layers[index].view = .objects(list)
        readFirst(view, fromEnd: false)
    }

    // MARK: deleting

    private mutating func delete(_ list: ObjectList) {
        guard mayChange() else { return }
        if let id = list.selected?["objectId"]?.string, list.marks.isEmpty || list.marks == [id] {
            return askDelete(list.className, id, list.selected ?? JSONObject())
        }
        guard !list.marks.isEmpty else { return }
        let count = list.marks.count
        dialog = .prompt(
            Prompt(
                .confirm(
                    expected: "\(count)", .delete(className: list.className, ids: list.marks.sorted())),
                "Type \(count) to delete \(count) of \(list.className):"))
    }

    /// Asks; a second D sends what waits already.
    mutating func askDelete(_ className: String, _ id: String, _ object: JSONObject) {
        guard mayChange() else { return }
        if deletions.contains(where: { $0.className == className && $0.objectId == id && !$0.isSent }) {
            return sendDeletion(className, id)
        }
        let name = object[classes[className]?.labelField ?? ""]?.string ?? ""
        if className == "_User" {
            dialog = .prompt(
                Prompt(
                    .confirm(expected: name, .delete(className: className, ids: [id])),
                    "Delete the user? Hooks may delete more. Type \(name):"))
            return
        }
        dialog = .question(
            Question(
                title: "Delete \(className) \(id)\(name.isEmpty ? "" : " \"\(name)\"")? Hooks may delete more.",
                lines: [], keys: "y delete  Esc keep", action: .delete(className: className, ids: [id])))
    }

    /// Deletes wait ten seconds, in which `u` keeps the object.
    mutating func delete(_ className: String, _ ids: [String]) {
        for id in ids {
            let timer = alarm(.send(className: className, objectId: id), in: 10_000)
            deletions.append(Deletion(className: className, objectId: id, timer: timer))
        }
        say("\(ids.count == 1 ? "deleted" : "\(ids.count) deleted") in 10 s: u keeps, D sends now", .warning)
    }

    mutating func sendDeletion(_ className: String, _ id: String) {
        guard
            let index = deletions.firstIndex(where: { $0.className == className && $0.objectId == id && !$0.isSent })
        else { return }
        timers[deletions[index].timer] = nil
        deletions[index].isSent = true
        fetch(
            .delete(className: className, objectId: id),
            ServerRequest("DELETE", "/classes/\(className.urlEncoded)/\(id.urlEncoded)"))
    }

    mutating func takeBack() {
        let waiting = deletions.filter { !$0.isSent }
        if !waiting.isEmpty {
            for deletion in waiting { timers[deletion.timer] = nil }
            deletions.removeAll { !$0.isSent }
            return say("\(waiting.count == 1 ? "1 object is" : "\(waiting.count) objects are") kept")
        }
        guard let last = undo.last else { return say("there is nothing to undo") }
        guard mayChange() else { return }
        dialog = .question(
            Question(
                title: "Undo in \(last.className) \(last.objectId)?",
                lines: Browser.diff(last.changes.map { Change(field: $0.field, old: $0.new, new: $0.old) }),
                keys: "y undo  Esc leave it", action: .undo))
    }

    /// `Tema - El Camino` and `+ El Camino en bici`, a line each.
    static func diff(_ changes: [Change]) -> [String] {
        changes.flatMap { change in
            [
                "\(change.field) - \(Cells.field(change.field, of: JSONObject([(change.field, change.old ?? .null)])))",
                "\(change.field) + \(Cells.field(change.field, of: JSONObject([(change.field, change.new ?? .null)])))",
            ]
        }
    }
}
