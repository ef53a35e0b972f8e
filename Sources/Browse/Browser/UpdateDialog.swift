import Wire

import class Core.Progress

extension Browser {
    // MARK: questions

    mutating func questionKey(_ key: Key, _ question: Question) {
        let isYes = key == .character("y") || key == .character("s")
        switch question.action {
        case .write:
            guard isYes else { return close() }
            close()
            isWriting = true
            say("writing: W reads again", .warning)
        case .sort(let view, let sorting):
            close()
            if isYes { apply(sorting, view) }
        case .save(let view):
            switch key {
            case .character("y"):
                close()
                save(view)
            case .character("e"): close()
            case .escape:
                close()
                if let index = index(of: view) { layers.remove(at: index) }
                say("dropped")
            default: break
            }
        case .conflict(let view):
            guard [.character("k"), .character("t"), .escape].contains(key) else { return }
            close()
            settle(view, keepsMine: key == .character("k"), isDecided: key != .escape)
        case .saveAccess(let view):
            close()
            guard isYes, let index = index(of: view), case .access(let access) = layers[index].view else { return }
            fetch(
                .saveAccess(view: view),
                ServerRequest(
                    "PUT", "/classes/\(access.className.urlEncoded)/\(access.objectId.urlEncoded)",
                    record(["ACL": access.json])))
        case .delete(let className, let ids):
            guard isYes || key == .escape || key == .character("n") else { return }
            close()
            if key == .character("y") { delete(className, ids) }
        case .undo:
            close()
            guard isYes, let last = undo.popLast() else { return }
            let body = JSONObject(last.changes.map { ($0.field, $0.old ?? ["__op": "Delete"]) })
            fetch(
                .undo(className: last.className, objectId: last.objectId),
                ServerRequest("PUT", "/classes/\(last.className.urlEncoded)/\(last.objectId.urlEncoded)", body))
        case .quit:
            switch key {
            case .character("s"):
                close()
                for deletion in deletions where !deletion.isSent { sendDeletion(deletion.className, deletion.objectId) }
                hasQuitWhenSent = true
                quitIfSent()
            case .character("d"):
                hasQuit = true
                effects.append(.quit)
            case .escape: close()
            default: break
            }
        case .leaveForm:
            switch key {
            case .character("s"):
                close()
                viewKeyOfForm()
            case .character("d"):
                close()
                layers.removeLast()
            case .escape: close()
            default: break
            }
        case .runJob(let view, let name):
            close()
            guard isYes else { return }
            fetch(.runJob(view: view, name: name), ServerRequest("POST", "/jobs/\(name.urlEncoded)"))
        case .saveConfig(let view, let name, let value):
            close()
            guard isYes else { return }
            let body = record(["params": .object(JSONObject([(name, value ?? ["__op": "Delete"])]))])
            fetch(.saveConfig(view: view), ServerRequest("PUT", "/config", body))
        case .link(let view, let id, let adding):
            close()
            guard isYes else { return }
            link(view, id, adding: adding)
        }
    }

    private mutating func close() { dialog = .none }

    private mutating func viewKeyOfForm() {
        guard let layer = layers.last, case .edit(let form) = layer.view else { return }
        editKey(.character("e"), layer.id, form)
    }

    mutating func quitIfSent() {
        guard hasQuitWhenSent, deletions.isEmpty else { return }
        hasQuit = true
        effects.append(.quit)
    }

    private mutating func settle(_ view: Int, keepsMine: Bool, isDecided: Bool) {
        guard isDecided, let now = fresh.removeValue(forKey: view), let index = index(of: view),
            case .edit(var form) = layers[index].view, let shape = classes[form.className]
        else { return }
        if !keepsMine {
            for change in form.changes(shape) where now[change.field] != form.original[change.field] {
                form.drafts[change.field] = nil
            }
        }
        form.original = now
        layers[index].view = .edit(form)
        if keepsMine { askSave(view) } else { say("theirs; e saves the rest") }
    }

    mutating func link(_ view: Int, _ id: String, adding: Bool) {
        guard let index = index(of: view), case .objects(let list) = layers[index].view, let relation = list.relation
        else { return }
        let body = record([
            relation.field: [
                "__op": adding ? "AddRelation" : "RemoveRelation",
                "objects": [FilterValues.pointer(list.className, id)],
            ]
        ])
        fetch(
            .link(view: view),
            ServerRequest("PUT", "/classes/\(relation.className.urlEncoded)/\(relation.id.urlEncoded)", body))
    }

    // MARK: what is typed

    mutating func promptKey(_ key: Key) {
        guard case .prompt(var prompt) = dialog else { return }
        switch key {
        case .escape: return close()
        case .tab:
            if let mended = prompt.fault?.mended(prompt.string) { prompt.replace(mended) } else { complete(&prompt) }
        case .enter: return accept(prompt)
        default: guard prompt.take(key) else { return }
        }
        dialog = .prompt(prompt)
        checkPrompt()
    }

    private func complete(_ prompt: inout Prompt) {
        guard case .go = prompt.purpose, !prompt.string.isEmpty else { return }
        let names = classes.all.map(\.name) + ["jobs", "config"]
        let found = names.filter { $0.lowercased().hasPrefix(prompt.string.lowercased()) }
        if let name = found.count == 1 ? found[0] : Nearest.name(to: prompt.string, among: names, beginnings: true) {
            prompt.replace(name)
        }
    }

    /// Looks at what is typed, at each key.
    mutating func checkPrompt() {
        guard case .prompt(var prompt) = dialog else { return }
        prompt.fault = nil
        prompt.hint = nil
        switch prompt.purpose {
        case .filter(let view):
            guard let index = index(of: view), case .objects(let list) = layers[index].view,
                let shape = classes[list.className]
            else { break }
            do {
                let filter = try Filter(prompt.string, on: shape, in: classes, now: Timestamp(milliseconds: now))
                prompt.hint = filter.notes.first
            } catch { prompt.fault = error }
        case .field(let view, let name):
            guard let index = index(of: view), case .edit(let form) = layers[index].view,
                let field = classes[form.className]?[name]
            else { break }
            do { _ = try FieldInput(prompt.string, for: field, now: Timestamp(milliseconds: now)) } catch {
                prompt.fault = error
            }
        case .columns(let view):
            guard let index = index(of: view), case .objects(let list) = layers[index].view,
                let shape = classes[list.className]
            else { break }
            var position = 0
            for name in prompt.string.split(separator: ",", omittingEmptySubsequences: false) {
                if shape[String(name)] == nil {
                    prompt.fault = FilterFault(
                        position, name.count, "no field \(name) in \(shape.name)",
                        suggestion: Nearest.name(to: String(name), among: shape.fields.map(\.name), beginnings: true))
                    break
                }
                position += name.count + 1
            }
        default: break
        }
        dialog = .prompt(prompt)
    }

    private mutating func accept(_ prompt: Prompt) {
        // Inert while it is wrong.
        guard prompt.fault == nil else { return }
        let text = prompt.string
        close()
        switch prompt.purpose {
        case .filter(let view):
            guard let index = index(of: view), case .objects(let list) = layers[index].view,
                let shape = classes[list.className],
                let filter = try? Filter(text, on: shape, in: classes, now: Timestamp(milliseconds: now))
            else { return }
            apply(text, filter.condition, view)
        case .columns(let view):
            guard let index = index(of: view), case .objects(var list) = layers[index].view else { return }
            keep(view)
            var columns = text.split(separator: ",").map(String.init)
            columns.removeAll { $0 == "objectId" }
            list.columns = ["objectId"] + columns
            list.column = min(list.column, list.columns.count - 1)
            list.restart(atEnd: false)
            layers[index].view = .objects(list)
            readFirst(view, fromEnd: false)
        case .go: go(text)
        case .field(let view, let name): draft(text, name, view)
        case .password(let view, let name, let first):
            guard let first else {
                guard !text.isEmpty else { return }
                dialog = .prompt(Prompt(.password(view: view, name: name, first: text), "The same once more:"))
                return
            }
            guard first == text else { return say("the two differ; nothing was changed", .error) }
            draft(text, name, view)
        case .confirm(let expected, let action):
            guard text == expected else { return say("not deleted: \(expected) was to be typed", .warning) }
            if case .delete(let className, let ids) = action { delete(className, ids) }
        case .member(let view): addMember(text, view)
        case .link(let view):
            guard let index = index(of: view), case .objects(let list) = layers[index].view else { return }
            let field = ClassShape.Field(
                name: "link", type: .pointer(list.className), isRequired: false, defaultValue: nil)
            do {
                switch try FieldInput(text, for: field) {
                case .value(let pointer): askLink(view, pointer.object?["objectId"]?.string ?? "")
                case .user(let name):
                    let parameters = record(["where": ["username": .string(name)], "keys": "username", "limit": 1])
                    fetch(.user(view: view, field: ""), .find("_User", parameters))
                case .path: break
                }
            } catch { say("\(error)", .error) }
        case .parameter(let view, let name):
            var name = name
            var value = text
            if name.isEmpty {
                guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
                    return say("NAME=VALUE was expected", .error)
                }
                name = String(text[..<equals])
                value = String(text[text.index(after: equals)...])
            }
            guard let index = index(of: view), case .config(let config) = layers[index].view else { return }
            let json = (try? JSONParser.parse(value)) ?? .string(value)
            dialog = .question(
                Question(
                    title: "Save \(name)?",
                    lines: Browser.diff([Change(field: name, old: config.params[name], new: json)]),
                    keys: "y save  Esc do not", action: .saveConfig(view: view, name: name, json)))
        }
    }

    mutating func askLink(_ view: Int, _ id: String) {
        guard let index = index(of: view), case .objects(let list) = layers[index].view, let relation = list.relation
        else { return }
        dialog = .question(
            Question(
                title: "Link \(list.className) \(id) in \(relation.field) of \(relation.className) \(relation.id)?",
                lines: [], keys: "y link  Esc do not", action: .link(view: view, id: id, adding: true)))
    }

    /// A field's new value, which nothing is sent of yet.
    private mutating func draft(_ text: String, _ name: String, _ view: Int) {
        guard let index = index(of: view), case .edit(var form) = layers[index].view,
            let field = classes[form.className]?[name],
            let input = try? FieldInput(text, for: field, now: Timestamp(milliseconds: now))
        else { return }
        switch input {
        case .value(let value): form.drafts[name] = .some(value)
        case .user(let user):
            let parameters = record(["where": ["username": .string(user)], "keys": "username", "limit": 1])
            fetch(.user(view: view, field: name), .find("_User", parameters))
        case .path(let path):
            fileWanted = (view, name)
            effects.append(.read(path: path))
            return
        }
        layers[index].view = .edit(form)
    }

    /// What a file holds becomes the field's value: Bytes as they are; a File when the server has stored it.
    mutating func took(_ path: String, _ result: Result<[UInt8], CommandFailure>) {
        guard let (view, name) = fileWanted else { return }
        fileWanted = nil
        guard let index = index(of: view), case .edit(var form) = layers[index].view else { return }
        switch result {
        case .failure(let failure): say(failure.description, .error)
        case .success(let bytes):
            guard classes[form.className]?[name]?.type == .bytes else {
                fetch(.upload(view: view, field: name), LocalFile.upload(bytes, from: path))
                return
            }
            form.drafts[name] = .some(LocalFile.bytes(bytes))
            layers[index].view = .edit(form)
            say("\(Progress.grouped(bytes.count)) bytes of \(path)")
        }
    }

    mutating func uploaded(_ answer: JSON, _ view: Int, _ name: String) {
        guard let index = index(of: view), case .edit(var form) = layers[index].view else { return }
        guard let file = LocalFile.stored(answer) else { return say("the server's answer is no file's", .error) }
        form.drafts[name] = .some(file)
        layers[index].view = .edit(form)
        say("the file is stored; e saves it in \(name)")
    }

    mutating func go(_ text: String) {
        let text = text.filter { $0 != " " || text.hasPrefix("label ") }
        guard !text.isEmpty else { return }
        if text == "jobs" { return openJobs() }
        if text == "config" { return openConfig() }
        if let shape = classes[text] { return open(shape) }
        if let colon = text.firstIndex(of: ":"), classes[String(text[..<colon])] != nil {
            let id = String(text[text.index(after: colon)...])
            return openObject(String(text[..<colon]), id)
        }
        if let layer = layers.last, case .objects(var list) = layer.view {
            if text.hasPrefix("label ") {
                let field = String(text.dropFirst(6))
                guard list.columns.indices.contains(list.column),
                    case .pointer(let target)? = classes[list.className]?[list.columns[list.column]]?.type,
                    classes[target]?[field]?.type == .string, classes[target]?.isSecret(field) == false
                else { return say("no pointer's column is chosen, or \(field) is no text of its class", .error) }
                labels[target] = field
                keep(layer.id)
                list.restart(atEnd: false)
                layers[layers.count - 1].view = .objects(list)
                return readFirst(layer.id, fromEnd: false)
            }
            if let date = Timestamp(typed: text, now: Timestamp(milliseconds: now)) {
                keep(layer.id)
                list.restart(at: "\(date)")
                layers[layers.count - 1].view = .objects(list)
                return readFirst(layer.id, fromEnd: false)
            }
        }
        let nearest = Nearest.name(to: text, among: classes.all.map(\.name), beginnings: true)
        say("there is no class \(text)" + (nearest.map { "; perhaps \($0)" } ?? ""), .error)
    }
}
