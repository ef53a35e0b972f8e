import Wire

import class Core.Progress

extension Browser {
    /// What is to be seen.
    public func view(_ size: Size) -> Screen {
        guard size.width >= 60, size.height >= 15 else { return tooSmall(size) }
        var lines = [placeLine(size.width)]
        var content: [Screen.Line] = []
        if case .question(let question) = dialog { content = questionLines(question, size) }
        if content.isEmpty, let layer = layers.last { content = viewLines(layer, size) }
        let height = size.height - 4
        lines += content.prefix(height)
        while lines.count < height + 1 { lines.append(Screen.Line(size.width)) }
        lines.append(stateLine(size.width))
        let prompt = promptLine(size.width)
        lines.append(prompt.line)
        lines.append(keysLine(size.width))
        return Screen(lines: lines, cursor: prompt.cursor.map { ($0, size.height - 2) })
    }

    private func tooSmall(_ size: Size) -> Screen {
        var lines = (0..<max(1, size.height)).map { _ in Screen.Line(max(1, size.width)) }
        lines[0].add("too small: 60 columns and 15 lines are needed; nothing is lost")
        return Screen(lines: lines, cursor: nil)
    }

    // MARK: the frame

    private func placeLine(_ width: Int) -> Screen.Line {
        var line = Screen.Line(width)
        let clock = Browser.clock(now, zone: isLocalTime ? options.zone : 0, isLocal: isLocalTime)
        let mode = isWriting ? "WRITE" : options.hasReadOnlyKey ? "READ" : "READ*"
        let right = "\(mode) \(clock)"
        line.add(" " + place, .bold, width: max(1, width - right.count - 2))
        line.add(" ")
        line.add(right, isWriting ? [.reverse, .bold, .warning] : .bold)
        return line
    }

    private var place: String {
        guard layers.count > 1 else { return options.place }
        let titles = layers.dropFirst().map { title($0.view) }
        var text = titles.joined(separator: " > ")
        // Where one is says more than where one was.
        while SafeText(text).width > size.width - 20, let more = text.range(of: " > ") {
            text = String(text[more.upperBound...])
        }
        return text
    }

    private func title(_ view: View) -> String {
        switch view {
        case .classes: options.place
        case .objects(let list): title(list)
        case .object(let object): "\(object.className):\(object.objectId)"
        case .edit(let form): form.objectId == nil ? "new \(form.className)" : "edit"
        case .access: "who may"
        case .schema(_, let name): "\(name), the class"
        case .referrers: "what refers to it"
        case .text(let text): text.title
        case .jobs: "jobs"
        case .config: "config"
        case .help: "keys"
        }
    }

    private func title(_ list: ObjectList) -> String {
        var text = list.relation.map { "\($0.field) of \($0.className):\($0.id)" } ?? list.className
        if !list.filter.isEmpty { text += " [\(list.filter)]" }
        return text + " " + (list.sorting.isDescending ? "-" : "") + list.sorting.field
    }

    private func stateLine(_ width: Int) -> Screen.Line {
        var line = Screen.Line(width)
        let waiting = deletions.filter { !$0.isSent }
        if !waiting.isEmpty {
            let first =
                waiting.count == 1 ? "\(waiting[0].className) \(waiting[0].objectId) is" : "\(waiting.count) are"
            line.add(" \(first) to be deleted: u keeps, D sends ", .reverse)
        }
        let reading = requests.values.filter { !$0.isWaiting }
        let oldest = reading.map(\.since).min() ?? now
        if now - oldest >= 100 {
            let tenths = (now - oldest) / 100
            let isWrite = reading.contains { $0.purpose.writes }
            line.add(
                " \(isWrite ? "writing" : "reading") \(tenths / 10).\(tenths % 10) s\(isWrite ? "" : ", Esc cancels")")
        }
        if let notice {
            line.add(
                " " + notice.text,
                notice.kind == .error ? [.bold, .error] : notice.kind == .warning ? [.bold, .warning] : [])
            return line
        }
        if now - oldest < 100, let state = stateText { line.add(" " + state) }
        return line
    }

    private var stateText: String? {
        guard let layer = layers.last else { return nil }
        switch layer.view {
        case .classes: return "\(classes.all.count) classes"
        case .objects(let list):
            guard list.isRead else { return nil }
            guard !list.rows.isEmpty else { return list.isAtEnd ? "none" : nil }
            var text =
                list.before.map { "row \(Progress.grouped($0 + list.list.selected + 1))" } ?? "counted from the end"
            if let count = counts["\(layer.id)"] { text += " of \(Progress.grouped(count))" }
            text += list.isAtEnd ? ", \(list.rows.count - list.list.selected - 1) below" : ", more below"
            if !list.marks.isEmpty { text += "; \(list.marks.count) marked" }
            if let read = list.lastRead { text += "; \(read.rows) in \(read.milliseconds) ms" }
            return text
        case .edit(let form):
            guard let shape = classes[form.className] else { return nil }
            if form.isUnknown { return "saved or not is not known" }
            return "\(form.changes(shape).count) changed; nothing is sent before you have said yes"
        case .text(let text): return "\(text.text.utf8.count) bytes"
        case .help(_, let search): return Browser.help(for: search).isEmpty ? "no key does that" : nil
        default: return nil
        }
    }

    private func promptLine(_ width: Int) -> (line: Screen.Line, cursor: Int?) {
        var line = Screen.Line(width)
        switch dialog {
        case .prompt(let prompt):
            line.add(prompt.title + " ", .bold, width: min(SafeText(prompt.title).width + 1, width / 2))
            // The end of what stands before the cursor stays in sight; of a long text no more than that is looked at.
            let before =
                prompt.isUnseen
                ? String(repeating: "*", count: prompt.cursor) : String(prompt.text[..<prompt.cursor].suffix(4 * width))
            let after =
                prompt.isUnseen
                ? String(repeating: "*", count: prompt.text.count - prompt.cursor)
                : String(prompt.text[prompt.cursor...].prefix(4 * width))
            let room = max(1, line.room - 2)
            var shown = SafeText(before).pieces
            var taken = shown.reduce(0) { $0 + $1.width }
            while taken > room, let first = shown.first {
                taken -= first.width
                shown.removeFirst()
            }
            line.add(shown.map(\.text).joined())
            let cursor = min(line.width, width - 1)
            line.add(after)
            return (line, cursor)
        case .question(let question):
            line.add(question.keys, .bold)
            return (line, nil)
        case .copying:
            line.add("Copy: i objectId  v value  j JSON  c curl  Esc nothing", .bold)
            return (line, nil)
        case .none:
            if case .help(_, let search)? = layers.last?.view {
                line.add("Keys> ", .bold)
                line.add(search)
                return (line, min(line.width, width - 1))
            }
            if case .objects(let list)? = layers.last?.view, !list.filter.isEmpty {
                line.add("Filter> " + list.filter, .dim)
            }
            return (line, nil)
        }
    }

    private func keysLine(_ width: Int) -> Screen.Line {
        var line = Screen.Line(width)
        if case .prompt(let prompt) = dialog {
            if let fault = prompt.fault {
                let before =
                    SafeText(prompt.title).width + 1 + SafeText(String(prompt.text.prefix(fault.position))).width
                line.move(to: min(before, width / 2))
                line.add("^ \(fault.reason)", .error)
                if let suggestion = fault.suggestion { line.add("; Tab: \(suggestion)", .bold) }
            } else {
                line.add(prompt.hint.map { "Enter does it; \($0)" } ?? "Enter does it  Esc leaves it", .dim)
            }
            return line
        }
        let keys =
            switch layers.last?.view {
            case .classes: "Enter open  i schema  # count  : go  ? all keys  q quit"
            case .objects(let list) where list.relation != nil:
                "Enter in  n link  D unlink  / filter  ? all keys  q back"
            case .objects: "Enter in  / filter  s S sort  Space mark  f referrers  # count  ? keys  q back"
            case .object: "Enter follow  f referrers  a who may  e edit  y copy  D delete  ? keys  q back"
            case .edit: "Enter change  Space flip  Del missing  o editor  e done  Esc leave"
            case .access: "Space flip  h l column  n add  D remove  e done  q back"
            case .referrers: "Enter open  q back"
            case .jobs: "R run now  Enter runs  r read again  q back"
            case .config: "Enter show  e change  n new  D remove  q back"
            case .help: "type to search  Enter does it  Esc back"
            default: "? all keys  q back"
            }
        line.add(keys, .dim)
        return line
    }

    private func questionLines(_ question: Question, _ size: Size) -> [Screen.Line] {
        var title = Screen.Line(size.width)
        title.add(question.title, .bold)
        var lines = [title]
        // A long title goes on.
        let safe = SafeText(question.title)
        if safe.width > size.width {
            var rest = Screen.Line(size.width)
            let shown = SafeText(question.title, width: size.width).pieces.count - 1
            rest.add(safe.pieces.dropFirst(shown).map(\.text).joined(), .bold)
            lines.append(rest)
        }
        for text in question.lines {
            var line = Screen.Line(size.width)
            line.add("  " + text)
            lines.append(line)
        }
        return lines
    }

    // MARK: moments

    /// `20:13Z`, `21:13+01:00`
    static func clock(_ milliseconds: Int64, zone: Int, isLocal: Bool) -> String {
        let minutes = Int(((milliseconds / 60_000 + Int64(zone)) % 1440 + 1440) % 1440)
        let time = two(minutes / 60) + ":" + two(minutes % 60)
        return time + (isLocal ? offset(zone) : "Z")
    }

    private static func offset(_ zone: Int) -> String {
        (zone < 0 ? "-" : "+") + two(abs(zone) / 60) + ":" + two(abs(zone) % 60)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// As a cell of a table or a form.
    func cell(_ field: String, _ row: JSONObject, _ shape: ClassShape?) -> String {
        if shape?.isSecret(field) == true { return "****" }
        let value = row[field]
        if case .date? = shape?[field]?.type {
            guard let iso = value?.string ?? value?.object?["iso"]?.string else { return "-" }
            return date(iso)
        }
        guard case .pointer(let target)? = shape?[field]?.type else { return Cells.field(field, of: row) }
        // Objects that are there have come along.
        if let object = value?.object, object["__type"] == "Object" {
            let text = Cells.text(value, label: label(of: target))
            return text.hasSuffix(":" + (object["objectId"]?.string ?? "")) ? object["objectId"]?.string ?? "" : text
        }
        return Cells.text(value)
    }

    func date(_ iso: String) -> String {
        guard isLocalTime, let moment = Timestamp(iso: iso) else {
            return Cells.date(iso).count == 19 ? String(Cells.date(iso).dropLast(3)) : Cells.date(iso)
        }
        let local = Timestamp(milliseconds: moment.milliseconds + Int64(options.zone) * 60_000)
        return String(Cells.date("\(local)").dropLast(3)) + Browser.offset(options.zone)
    }
}
