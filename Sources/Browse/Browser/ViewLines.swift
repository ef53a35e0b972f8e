import Wire

import class Core.Progress

extension Browser {
    func viewLines(_ layer: Layer, _ size: Size) -> [Screen.Line] {
        switch layer.view {
        case .classes(let list): classLines(list, size)
        case .objects(let list): objectLines(list, size)
        case .object(let object): fieldLines(object, size)
        case .edit(let form): formLines(form, size)
        case .access(let access): accessLines(access, size)
        case .schema(let list, let name): schemaLines(list, name, size)
        case .referrers(let list, let name, _):
            rows(classes.referrers(of: name), list, size) { line, row in
                line.add("<- \(row.className).\(row.field.name)")
            }
        case .text(let text): textLines(text, size)
        case .jobs(let jobs): jobLines(jobs, size)
        case .config(let config):
            rows(config.params.members, config.list, size, header: [("parameter", 24), ("for", 11), ("value", 20)]) {
                line, row in
                line.add(row.key, width: 24)
                line.add("  ")
                line.add(config.secret[row.key] == true ? "master key" : "everybody", width: 11)
                line.add("  " + Cells.text(row.value))
            }
        case .help(let list, let search):
            rows(Browser.help(for: search), list, size) { line, row in
                line.add(row.keys, .bold, width: 18)
                line.add("  " + row.meaning)
            }
        }
    }

    /// A list of which one row is chosen.
    private func rows<Row>(
        _ all: some RandomAccessCollection<Row>, _ list: ListView, _ size: Size,
        header: [(title: String, width: Int)] = [], _ draw: (inout Screen.Line, Row) -> Void
    ) -> [Screen.Line] {
        var lines: [Screen.Line] = []
        if !header.isEmpty {
            var line = Screen.Line(size.width)
            line.add("  ")
            for (title, width) in header {
                line.add(title, .underlined, width: width)
                line.add("  ")
            }
            lines.append(line)
        }
        let height = size.height - 4 - lines.count
        for (offset, row) in all.dropFirst(list.top).prefix(height).enumerated() {
            var line = Screen.Line(size.width)
            let isChosen = list.top + offset == list.selected
            line.add(isChosen ? "> " : "  ")
            draw(&line, row)
            if isChosen { line.fill(.reverse) }
            lines.append(line)
        }
        return lines
    }

    private func classLines(_ list: ListView, _ size: Size) -> [Screen.Line] {
        let width = min(32, max(12, classes.all.map { SafeText($0.name).width }.max() ?? 12))
        return rows(
            classes.all, list, size, header: [("Class", width), ("Objects", 14), ("Points to", 20)]
        ) { line, shape in
            line.add(shape.name, width: width)
            line.add("  ")
            line.add(counts[shape.name].map(Progress.grouped) ?? "", width: 14, atEnd: true)
            line.add("  " + CommandContext.targets(shape).joined(separator: " "))
        }
    }

    // MARK: objects

    private func objectLines(_ list: ObjectList, _ size: Size) -> [Screen.Line] {
        let shape = classes[list.className]
        let height = size.height - 5
        let shown = list.rows.dropFirst(list.list.top).prefix(height)
        // As wide as what is in sight, within bounds.
        func width(_ column: String) -> Int {
            if column == "objectId" { return 10 }
            let cells = shown.map { SafeText(gone(cell(column, $0, shape), column, $0, shape), width: 34).width }
            return max(min(34, cells.max() ?? 0), min(12, SafeText(column).width), 4)
        }
        let room = size.width - 2 - 7
        var columns: [(name: String, index: Int, width: Int)] = []
        var first = 1
        // objectId stays; of the rest so many that the chosen one is among them.
        while true {
            columns = [("objectId", 0, 10)]
            var used = 10
            var index = first
            while index < list.columns.count {
                var wide = width(list.columns[index])
                // One that does not fit is cut only where it would be alone.
                if columns.count == 1 { wide = min(wide, room - used - 1) }
                guard used + 1 + wide <= room else { break }
                columns.append((list.columns[index], index, wide))
                used += wide + 1
                index += 1
            }
            if index > list.column || first >= list.column { break }
            first += 1
        }
        let hidden = list.columns.count - 1 - (columns.last?.index ?? 0)
        var header = Screen.Line(size.width)
        header.add("  ")
        for column in columns {
            var style: Style = .underlined
            if column.index == list.column { style.insert(.bold) }
            if column.name == list.sorting.field { style.insert(.accent) }
            header.add(column.name, style, width: column.width)
            header.add(" ")
        }
        if hidden > 0 {
            header.move(to: size.width - 4)
            header.add("+\(hidden)>", .bold)
        }
        var lines = [header]
        for (offset, row) in shown.enumerated() {
            var line = Screen.Line(size.width)
            let id = row["objectId"]?.string ?? ""
            let isChosen = list.list.top + offset == list.list.selected
            let isLeaving = deletions.contains { $0.className == list.className && $0.objectId == id }
            line.add(isChosen ? ">" : isLeaving ? "x" : " ")
            line.add(list.marks.contains(id) ? "*" : " ", .bold)
            for column in columns {
                let text = gone(cell(column.name, row, shape), column.name, row, shape)
                let isNumber = shape?[column.name]?.type == .number
                var style: Style = isLeaving ? .dim : []
                if isChosen, column.index == list.column { style.insert(.underlined) }
                line.add(text, style, width: column.width, atEnd: isNumber)
                line.add(" ")
            }
            if isChosen { line.fill(.reverse) }
            lines.append(line)
        }
        if !list.isRead || (!list.isAtEnd && lines.count <= height) {
            var dots = Screen.Line(size.width)
            dots.add("  ...", .dim)
            lines.append(dots)
        }
        return lines
    }

    /// A pointer whose object did not come along leads nowhere.
    private func gone(_ text: String, _ field: String, _ row: JSONObject, _ shape: ClassShape?) -> String {
        guard case .pointer(let target)? = shape?[field]?.type, classes[target] != nil, label(of: target) != nil,
            row[field]?.object?["__type"] == "Pointer"
        else { return text }
        return "(gone)"
    }

    // MARK: one object

    private func fieldLines(_ object: ObjectView, _ size: Size) -> [Screen.Line] {
        guard let row = object.object, let shape = classes[object.className] else {
            var line = Screen.Line(size.width)
            line.add(object.isGone ? "  (gone): there is no \(object.className) \(object.objectId)" : "  ...")
            return [line]
        }
        let width = min(24, max(8, shape.fields.map { SafeText($0.name).width }.max() ?? 8))
        let referrers = classes.referrers(of: object.className)
        var smaller = size
        if !referrers.isEmpty { smaller.height -= 1 }
        var lines = rows(shape.fields, object.list, smaller) { line, field in
            line.add(field.name, .bold, width: width)
            line.add("  ")
            line.add(
                field.type.targetClass.map { field.type.name == "Pointer" ? $0 : "-> \($0)" } ?? field.type.name, .dim,
                width: 12)
            line.add("  ")
            if let secret = object.revealed[field.name] {
                line.add(Cells.text(secret), .warning)
            } else {
                let text = gone(cell(field.name, row, shape), field.name, row, shape)
                line.add(text)
                if case .pointer = field.type, let id = row[field.name]?.object?["objectId"]?.string, text != id {
                    line.add("  " + id, .dim)
                }
            }
        }
        if !referrers.isEmpty {
            while lines.count < smaller.height - 4 { lines.append(Screen.Line(size.width)) }
            var line = Screen.Line(size.width)
            line.add("  " + referrers.map { "<- \($0.className).\($0.field.name)" }.joined(separator: "  "), .dim)
            lines.append(line)
        }
        return lines
    }

    private func formLines(_ form: EditForm, _ size: Size) -> [Screen.Line] {
        let fields = editable(form)
        let width = min(24, max(8, fields.map { SafeText($0.name).width }.max() ?? 8))
        let shape = classes[form.className]
        return rows(fields, form.list, size) { line, field in
            line.add(field.name, .bold, width: width)
            line.add("  ")
            line.add(field.type.targetClass ?? field.type.name, .dim, width: 12)
            line.add("  ")
            let draft = form.drafts[field.name]
            let value: JSON? = if let draft { draft } else { form.original[field.name] }
            let isChanged = draft != nil && value != form.original[field.name]
            let text =
                shape?.isSecret(field.name) == true
                ? (isChanged ? "****  (new)" : "****")
                : cell(field.name, JSONObject([(field.name, value ?? .null)]), shape)
            let mark = isChanged ? "  changed" : ""
            line.add(
                text, isChanged ? .bold : [],
                width: max(1, min(SafeText(text, width: line.room).width, line.room - mark.count)))
            line.add(mark, .warning)
        }
    }

    private func accessLines(_ access: AccessView, _ size: Size) -> [Screen.Line] {
        var smaller = size
        smaller.height -= 1
        var lines = rows(access.entries, access.list, smaller, header: [("who", 34), ("read", 5), ("write", 5)]) {
            line, entry in
            line.add(entry.name, width: 34)
            line.add("  ")
            line.add(entry.reads ? "yes" : "-", access.isOnWrite ? [] : .underlined, width: 5)
            line.add("  ")
            line.add(entry.writes ? "yes" : "-", access.isOnWrite ? .underlined : [], width: 5)
        }
        if access.entries.isEmpty {
            var line = Screen.Line(size.width)
            line.add("  nobody but the master key")
            lines.append(line)
        }
        while lines.count < smaller.height - 4 { lines.append(Screen.Line(size.width)) }
        var line = Screen.Line(size.width)
        line.add("  Class: " + permissions(access.className), .dim)
        lines.append(line)
        return lines
    }

    /// `find *; create signed in; delete role moderadores`
    private func permissions(_ className: String) -> String {
        guard let permissions = classes[className]?.permissions else { return "" }
        let operations = ["find", "get", "count", "create", "update", "delete"]
        return operations.map { operation in
            let who = permissions[operation]?.object?.members.filter { $0.value == true }.map { key, _ in
                key == "requiresAuthentication"
                    ? "signed in" : key.hasPrefix("role:") ? "role " + key.dropFirst(5) : key
            }
            return "\(operation) \(who.map { $0.isEmpty ? "nobody" : $0.joined(separator: ", ") } ?? "nobody")"
        }.joined(separator: "; ")
    }

    private func schemaLines(_ list: ListView, _ name: String, _ size: Size) -> [Screen.Line] {
        guard let shape = classes[name] else { return [] }
        let width = min(24, max(8, shape.fields.map { SafeText($0.name).width }.max() ?? 8))
        return rows(
            shape.fields, list, size,
            header: [("field", width), ("type", 20), ("index", 5), ("required", 8), ("default", 10)]
        ) { line, field in
            line.add(field.name, .bold, width: width)
            line.add("  ")
            line.add(field.type.targetClass.map { "\(field.type.name) \($0)" } ?? field.type.name, width: 20)
            line.add("  ")
            let isIndexed = shape.isIndexed(field.name)
            line.add(isIndexed ? "yes" : "-", width: 5)
            line.add("  ")
            line.add(field.isRequired ? "yes" : "-", width: 8)
            line.add("  " + Cells.text(field.defaultValue))
        }
    }

    private func textLines(_ text: TextView, _ size: Size) -> [Screen.Line] {
        text.lines(size.width).dropFirst(text.list.selected).prefix(size.height - 4).map { part in
            var line = Screen.Line(size.width)
            line.add("  " + part)
            return line
        }
    }

    private func jobLines(_ jobs: JobsView, _ size: Size) -> [Screen.Line] {
        let lines = rows(
            jobs.names, jobs.list, size,
            header: [("job", 24), ("last", 10), ("ended", 16), ("took", 8), ("message", 10)]
        ) { line, name in
            let status = jobs.states[name]
            line.add(name, width: 24)
            line.add("  ")
            line.add(Cells.text(status?["status"]), width: 10)
            line.add("  ")
            let ended = status?["finishedAt"]?.object?["iso"]?.string
            line.add(ended.map(date) ?? "-", width: 16)
            line.add("  ")
            let took = ended.flatMap { Timestamp(iso: $0) }.flatMap { end in
                status?["createdAt"]?.string.flatMap { Timestamp(iso: $0) }.map { end.milliseconds - $0.milliseconds }
            }
            line.add(took.map { "\($0 / 1000).\($0 % 1000 / 100) s" } ?? "-", width: 8)
            line.add("  " + (status?["message"]?.string ?? ""))
        }
        guard jobs.isRead, jobs.names.isEmpty else { return lines }
        var line = Screen.Line(size.width)
        line.add("  the application has no jobs")
        return lines + [line]
    }
}
