import Wire

extension Browser {
    mutating func handle(_ event: Event) {
        switch event {
        case .start:
            _ = push(.classes(ListView()))
            fetch(.classes, ServerRequest("GET", "/schemas"))
        case .resize(let size):
            self.size = size
            showSelection()
        case .key(let key):
            if case .copying = dialog { return copy(key) }
            notice = nil
            switch dialog {
            case .prompt: promptKey(key)
            case .question(let question): questionKey(key, question)
            case .none, .copying: viewKey(key)
            }
        case .paste(let text):
            // Outside a field that is being typed it could be anything: "Dy\n" deletes.
            guard case .prompt(var prompt) = dialog else { return say("pasted text is ignored here") }
            prompt.insert(text)
            dialog = .prompt(prompt)
            checkPrompt()
        case .answer(let number, let result): answered(number, result)
        case .timer(let number):
            guard let alarm = timers.removeValue(forKey: number) else { return }
            ring(alarm)
        case .edited(let text):
            guard case .prompt(var prompt) = dialog, let text else { return }
            prompt.replace(text)
            dialog = .prompt(prompt)
            checkPrompt()
        case .copied(let file):
            guard let file else { return say("not copied: no file could be made for it ($TMPDIR)", .error) }
            say("copied into \(file)")
        case .fileRead(let path, let result): took(path, result)
        }
    }

    private mutating func ring(_ alarm: Alarm) {
        switch alarm {
        case .tick: if !requests.isEmpty { self.alarm(.tick, in: 100) }
        case .send(let className, let objectId): sendDeletion(className, objectId)
        case .retry(let number):
            guard var request = requests[number] else { return }
            request.isWaiting = false
            request.since = now
            requests[number] = request
            effects.append(.fetch(number, request.request))
            if !timers.values.contains(.tick) { self.alarm(.tick, in: 100) }
        case .hide(let view):
            guard let index = index(of: view), case .object(var object) = layers[index].view else { return }
            object.revealed = [:]
            layers[index].view = .object(object)
        }
    }

    /// How many rows the view has, and how many fit.
    func extent(_ view: View) -> (count: Int, page: Int) {
        switch view {
        case .classes: (classes.all.count, tablePage)
        case .objects(let list): (list.rows.count, tablePage)
        case .object(let object): (classes[object.className]?.fields.count ?? 0, page)
        case .edit(let form): (editable(form).count, page)
        case .access(let access): (access.entries.count, max(1, page - 2))
        case .schema(_, let name): (classes[name]?.fields.count ?? 0, tablePage)
        case .referrers(_, let name, _): (classes.referrers(of: name).count, page)
        case .text(let text): (text.lines(size.width).count, page)
        case .jobs(let jobs): (jobs.names.count, tablePage)
        case .config(let config): (config.params.count, tablePage)
        case .help(_, let search): (Browser.help(for: search).count, page)
        }
    }

    func listView(_ view: View) -> ListView {
        switch view {
        case .classes(let list), .schema(let list, _), .referrers(let list, _, _), .help(let list, _): list
        case .objects(let objects): objects.list
        case .object(let object): object.list
        case .edit(let form): form.list
        case .access(let access): access.list
        case .text(let text): text.list
        case .jobs(let jobs): jobs.list
        case .config(let config): config.list
        }
    }

    func with(_ list: ListView, _ view: View) -> View {
        switch view {
        case .classes: return .classes(list)
        case .schema(_, let name): return .schema(list, className: name)
        case .referrers(_, let name, let id): return .referrers(list, className: name, id: id)
        case .help(_, let search): return .help(list, search: search)
        case .objects(var objects):
            objects.list = list
            return .objects(objects)
        case .object(var object):
            object.list = list
            return .object(object)
        case .edit(var form):
            form.list = list
            return .edit(form)
        case .access(var access):
            access.list = list
            return .access(access)
        case .text(var text):
            text.list = list
            return .text(text)
        case .jobs(var jobs):
            jobs.list = list
            return .jobs(jobs)
        case .config(var config):
            config.list = list
            return .config(config)
        }
    }

    /// The chosen row in sight, whatever the size.
    mutating func showSelection() {
        for index in layers.indices {
            var list = listView(layers[index].view)
            let (count, page) = extent(layers[index].view)
            list.show(page, count)
            layers[index].view = with(list, layers[index].view)
        }
    }

    private mutating func move(by step: Int) {
        guard let layer = layers.last else { return }
        var list = listView(layer.view)
        let (count, page) = extent(layer.view)
        list.move(by: step, count: count, page: page)
        layers[layers.count - 1].view = with(list, layer.view)
        readAhead()
    }

    // MARK: keys

    private mutating func viewKey(_ key: Key) {
        guard let layer = layers.last else {
            if key == .character("q") || key == .character("Q") { leave() }
            return
        }
        if case .help(let list, let search) = layer.view, helpKey(key, list, search) { return }
        let page = extent(layer.view).page
        switch key {
        case .down, .character("j"): return move(by: 1)
        case .up, .character("k"): return move(by: -1)
        case .pageDown: return move(by: page)
        case .pageUp: return move(by: -page)
        case .home, .character("g"): return jump(toEnd: false)
        case .end, .character("G"): return jump(toEnd: true)
        case .escape: return escape()
        case .backspace, .character("q"): return back()
        case .character("Q"): return leave()
        case .character("?"):
            _ = push(.help(ListView(), search: ""))
            return
        case .character(":"):
            dialog = .prompt(Prompt(.go, "Go: class, Class:id, jobs, config, a date"))
            return
        case .character("t"):
            isLocalTime.toggle()
            return say(isLocalTime ? "times of this machine's zone" : "times in UTC")
        case .character("W"): return toggleWriting()
        case .character("u"): return takeBack()
        default: break
        }
        switch layer.view {
        case .classes(let list): classesKey(key, list)
        case .objects(let list): objectsKey(key, layer.id, list)
        case .object(let object): objectKey(key, layer.id, object)
        case .edit(let form): editKey(key, layer.id, form)
        case .access(let access): accessKey(key, layer.id, access)
        case .schema: break
        case .referrers(let list, let name, let id): referrersKey(key, list, name, id)
        case .text(let text):
            if key == .character("y") { copyNow(text.text) }
        case .jobs(let jobs): jobsKey(key, layer.id, jobs)
        case .config(let config): configKey(key, layer.id, config)
        case .help: break
        }
    }

    private mutating func jump(toEnd isEnd: Bool) {
        guard let layer = layers.last else { return }
        if case .objects(var objects) = layer.view {
            let isThere = isEnd ? objects.isAtEnd : objects.isAtStart
            if !isThere {
                keep(layer.id)
                objects.restart(atEnd: isEnd)
                layers[layers.count - 1].view = .objects(objects)
                return readFirst(layer.id, fromEnd: isEnd)
            }
        }
        move(by: isEnd ? .max / 2 : -.max / 2)
    }

    private mutating func escape() {
        let reading = requests.filter { !$0.value.purpose.writes }
        guard !reading.isEmpty else {
            if case .help = layers.last?.view { return back() }
            if case .edit = layers.last?.view { return back() }
            return
        }
        for (number, _) in reading {
            requests[number] = nil
            effects.append(.cancel(number))
        }
        for (view, list) in fallbacks {
            if let index = index(of: view) { layers[index].view = .objects(list) }
        }
        fallbacks = [:]
        say("cancelled")
    }

    mutating func back() {
        if let layer = layers.last, case .edit(let form) = layer.view, let shape = classes[form.className] {
            let count = form.changes(shape).count
            if count > 0 {
                dialog = .question(
                    Question(
                        title: "\(count) unsaved", lines: [], keys: "s save  d drop  Esc stay", action: .leaveForm))
                return
            }
        }
        guard layers.count > 1 else { return leave() }
        layers.removeLast()
        showSelection()
    }

    func unsaved() -> Int {
        layers.reduce(0) { sum, layer in
            switch layer.view {
            case .edit(let form): sum + (classes[form.className].map { form.changes($0).count } ?? 0)
            case .access(let access): sum + (access.isChanged ? 1 : 0)
            default: sum
            }
        }
    }

    mutating func leave() {
        let waiting = deletions.filter { !$0.isSent }.count
        let unsaved = unsaved()
        guard waiting + unsaved > 0 else {
            hasQuit = true
            effects.append(.quit)
            return
        }
        let parts =
            (unsaved > 0 ? ["\(unsaved) unsaved"] : [])
            + (waiting > 0 ? ["\(waiting) delete\(waiting == 1 ? "" : "s") waiting"] : [])
        let send = waiting > 0 ? "s send the deletes and quit  " : ""
        dialog = .question(
            Question(
                title: parts.joined(separator: ", "), lines: [], keys: "\(send)d drop and quit  Esc stay", action: .quit
            ))
    }

    private mutating func toggleWriting() {
        if isWriting {
            isWriting = false
            return say("reading again")
        }
        guard options.mayWrite else { return say("--read-only, or no master key: nothing can be changed", .warning) }
        dialog = .question(
            Question(title: "Write to \(options.place)?", lines: [], keys: "y write  Esc read on", action: .write))
    }

    /// Whether something may be changed now; says what to do where not.
    mutating func mayChange() -> Bool {
        if isWriting { return true }
        say(options.mayWrite ? "W to write" : "--read-only, or no master key: nothing can be changed", .warning)
        return false
    }

    private mutating func classesKey(_ key: Key, _ list: ListView) {
        guard classes.all.indices.contains(list.selected) else { return }
        let shape = classes.all[list.selected]
        switch key {
        case .enter, .right, .character("l"): open(shape)
        case .character("i"): _ = push(.schema(ListView(), className: shape.name))
        case .character("#"): askCount(shape.name, view: layers.last?.id ?? 0, JSONObject())
        case .character("r"): fetch(.classes, ServerRequest("GET", "/schemas"))
        default: break
        }
    }

    mutating func askCount(_ className: String, view: Int, _ condition: JSONObject) {
        fetch(
            .count(className: className, view: view),
            .find(className, record(["where": .object(condition), "count": 1, "limit": 0])))
    }

    mutating func open(_ shape: ClassShape, filter: String = "", condition: JSONObject = JSONObject()) {
        var list = ObjectList(shape)
        list.filter = filter
        list.condition = condition
        readFirst(push(.objects(list)), fromEnd: false)
    }

    /// - Parameter key: one that the view gets as soon as the object is there.
    mutating func openObject(_ className: String, _ id: String, then key: Key? = nil) {
        guard classes[className] != nil else { return say("there is no class \(className)", .error) }
        let view = push(.object(ObjectView(className: className, objectId: id, followUp: key)))
        readObject(view, className, id, .object(view: view))
    }

    private mutating func referrersKey(_ key: Key, _ list: ListView, _ className: String, _ id: String) {
        let all = classes.referrers(of: className)
        guard key == .enter || key == .right || key == .character("l"), all.indices.contains(list.selected),
            let shape = classes[all[list.selected].className]
        else { return }
        let (_, field) = all[list.selected]
        let isRelation = if case .relation = field.type { true } else { false }
        layers.removeLast()
        open(
            shape, filter: "\(field.name) \(isRelation ? "has" : "=") \(className):\(id)",
            condition: JSONObject([(field.name, FilterValues.pointer(className, id))]))
    }

    /// What is typed is searched for; answers whether the key was one of that.
    private mutating func helpKey(_ key: Key, _ list: ListView, _ search: String) -> Bool {
        switch key {
        case .character(let character): self.search(search + String(character))
        case .backspace where !search.isEmpty: self.search(String(search.dropLast()))
        case .enter:
            let found = Browser.help(for: search)
            guard found.indices.contains(list.selected) else { return true }
            back()
            if let key = found[list.selected].does { viewKey(key) }
        default: return false
        }
        return true
    }

    private mutating func search(_ text: String) {
        layers[layers.count - 1].view = .help(ListView(), search: text)
    }

    /// Those of which all words that were typed tell.
    static func help(for search: String) -> [(keys: String, meaning: String, does: Key?)] {
        let words = search.lowercased().split(separator: " ")
        return help.filter { row in
            let text = "\(row.keys) \(row.meaning)".lowercased()
            return words.allSatisfy { text.contains($0) }
        }
    }

    /// The keys and what they do; those that Enter can do have one.
    static let help: [(keys: String, meaning: String, does: Key?)] = [
        ("j k h l, arrows", "down, up, left, right", nil), ("PgDn PgUp", "a page on, a page back", .pageDown),
        ("g G", "first, last", .character("g")), ("Enter", "go in: rows, pointers, relations", .enter),
        ("q, Backspace", "back to the very row", .character("q")),
        ("Esc", "cancel what is being read or typed", .escape),
        (":", "go to a class, Class:id, jobs, config, a date", .character(":")),
        ("/", "filter", .character("/")), ("s S", "sort by the column, up or down", .character("s")),
        ("c", "choose columns", .character("c")), ("t", "UTC, or this machine's zone", .character("t")),
        ("f", "what refers to this object", .character("f")), ("a", "who may read and write it", .character("a")),
        ("i", "the class: types, indexes, permissions", .character("i")),
        ("#", "count", .character("#")), ("r", "read again", .character("r")), ("Space", "mark; flip", .character(" ")),
        ("y", "copy: i objectId, v value, j JSON, c curl", .character("y")),
        ("x", "show a secret for 30 seconds", .character("x")), ("W", "write, and read again", .character("W")),
        ("e", "edit; done", .character("e")), ("n", "new; link", .character("n")),
        ("D", "delete, after 10 seconds; unlink", .character("D")), ("u", "undo", .character("u")),
        ("Q", "quit", .character("Q")),
    ]
}
