import Wire

extension Browser {
    /// The fields that a person may set: not what the server itself writes.
    func editable(_ form: EditForm) -> [ClassShape.Field] {
        (classes[form.className]?.fields ?? []).filter { field in
            if case .relation = field.type { return false }
            return !["objectId", "createdAt", "updatedAt", "ACL"].contains(field.name)
        }
    }

    mutating func newObject(_ className: String) {
        guard mayChange() else { return }
        _ = push(.edit(EditForm(className: className, objectId: nil, original: JSONObject())))
    }

    mutating func editKey(_ key: Key, _ view: Int, _ form: EditForm) {
        var form = form
        let fields = editable(form)
        guard !form.isSaving else { return say("saving; wait a moment") }
        if key == .character("e") { return finish(form, view) }
        guard fields.indices.contains(form.list.selected) else { return }
        let field = fields[form.list.selected]
        let value = form.drafts[field.name] ?? form.original[field.name]
        switch key {
        case .character(" ") where field.type == .boolean:
            form.drafts[field.name] = .some(.bool(value?.bool != true))
        case .delete: form.drafts[field.name] = .some(nil)
        case .enter, .right, .character("l"), .character("o"):
            if form.className == "_User", field.name == "password" {
                dialog = .prompt(Prompt(.password(view: view, name: field.name, first: nil), "New password:"))
                return
            }
            let text = FieldInput.typed(value, for: field)
            dialog = .prompt(Prompt(.field(view: view, name: field.name), "\(field.name) (\(field.type.name)):", text))
            if key == .character("o") { effects.append(.editor(text)) }
            return checkPrompt()
        default: return
        }
        layers[layers.count - 1].view = .edit(form)
    }

    /// Done: the object is read once more, so that nothing is overwritten unseen.
    private mutating func finish(_ form: EditForm, _ view: Int) {
        guard let shape = classes[form.className] else { return }
        guard !form.changes(shape).isEmpty || form.objectId == nil else { return back() }
        guard mayChange() else { return }
        guard let id = form.objectId else { return askSave(view) }
        readObject(view, form.className, id, .beforeSave(view: view))
    }

    mutating func askSave(_ view: Int) {
        guard let index = index(of: view), case .edit(let form) = layers[index].view,
            let shape = classes[form.className]
        else { return }
        let changes = form.changes(shape)
        let title =
            form.objectId.map {
                "Save \(changes.count) change\(changes.count == 1 ? "" : "s") to \(form.className) \($0)?"
            }
            ?? "Make this object of \(form.className)?"
        dialog = .question(
            Question(
                title: title,
                lines: Browser.diff(changes.map { shape.isSecret($0.field) ? Browser.hidden($0) : $0 }),
                keys: "y save  e edit on  Esc drop", action: .save(view: view)))
    }

    private static func hidden(_ change: Change) -> Change { Change(field: change.field, old: "****", new: "****") }

    /// The object as it is now, before it is saved.
    mutating func compare(_ now: JSONObject?, _ view: Int) {
        guard let index = index(of: view), case .edit(let form) = layers[index].view,
            let shape = classes[form.className]
        else { return }
        guard let now = now.map(Browser.plain) else {
            return say("\(form.className) \(form.objectId ?? "") is gone: nothing was saved", .error)
        }
        let changed = form.changes(shape).filter {
            now[$0.field] != form.original[$0.field] && !shape.isSecret($0.field)
        }
        guard !changed.isEmpty else { return askSave(view) }
        var lines: [String] = []
        for change in changed {
            func shown(_ value: JSON?) -> String {
                Cells.field(change.field, of: JSONObject([(change.field, value ?? .null)]))
            }
            lines.append("\(change.field) was   \(shown(change.old))")
            lines.append("\(change.field) is    \(shown(now[change.field]))")
            lines.append("\(change.field) yours \(shown(change.new))")
        }
        fresh[view] = now
        dialog = .question(
            Question(
                title: "Changed by somebody else meanwhile; nothing was saved", lines: lines,
                keys: "k keep yours, and be asked again  t take theirs  Esc edit on", action: .conflict(view: view)))
    }

    mutating func save(_ view: Int) {
        guard let index = index(of: view), case .edit(var form) = layers[index].view,
            let shape = classes[form.className]
        else { return }
        let changes = form.changes(shape)
        let body = JSONObject(changes.map { ($0.field, $0.new ?? ["__op": "Delete"]) })
        form.isSaving = true
        layers[index].view = .edit(form)
        if let id = form.objectId {
            fetch(
                .save(view: view), ServerRequest("PUT", "/classes/\(form.className.urlEncoded)/\(id.urlEncoded)", body))
        } else {
            let fields = JSONObject(body.members.filter { $0.value != ["__op": "Delete"] })
            fetch(.create(view: view), ServerRequest("POST", "/classes/\(form.className.urlEncoded)", fields))
        }
    }

    /// The server has it; what hooks made of it is read.
    mutating func saved(_ view: Int) {
        guard let index = index(of: view), case .edit(let form) = layers[index].view, let id = form.objectId,
            let shape = classes[form.className]
        else { return }
        let changes = form.changes(shape)
        undo.append(
            Undo(
                className: form.className, objectId: id, name: "",
                changes: changes.filter { !shape.isSecret($0.field) }))
        if undo.last?.changes.isEmpty == true { undo.removeLast() }
        say("saved")
        readObject(view, form.className, id, .afterSave(view: view))
    }

    /// The object after it was saved: what else changed is said.
    mutating func show(_ object: JSONObject?, afterSaving view: Int) {
        guard let index = index(of: view), case .edit(let form) = layers[index].view,
            let shape = classes[form.className]
        else { return }
        layers.remove(at: index)
        guard let object else { return say("saved, and gone since", .warning) }
        let plain = Browser.plain(object)
        let byHooks = shape.fields.map(\.name).filter { name in
            guard !["updatedAt", "createdAt", "objectId"].contains(name), !shape.isSecret(name) else { return false }
            let expected: JSON? = if let draft = form.drafts[name] { draft } else { form.original[name] }
            // What leads nowhere does not come along.
            if case .pointer? = shape[name]?.type, plain[name] == nil { return false }
            return plain[name] != expected && form.objectId != nil
        }
        say(byHooks.isEmpty ? "saved" : "saved; hooks changed \(byHooks.joined(separator: ", "))")
        spread(object, form.className)
        showSelection()
    }

    /// All views that show the object show it as it is now.
    mutating func spread(_ object: JSONObject, _ className: String) {
        let id = object["objectId"]?.string
        for index in layers.indices {
            switch layers[index].view {
            case .objects(var list) where list.className == className:
                list.replace(object)
                layers[index].view = .objects(list)
            case .object(var view) where view.className == className && view.objectId == id:
                view.object = object
                layers[index].view = .object(view)
            default: break
            }
        }
    }

    /// The server was lost while it saved; now it is there again.
    mutating func readBack(_ object: JSONObject?, _ view: Int) {
        guard let index = index(of: view), case .edit(var form) = layers[index].view,
            let shape = classes[form.className]
        else { return }
        form.isSaving = false
        form.isUnknown = false
        layers[index].view = .edit(form)
        guard let object = object.map(Browser.plain) else { return say("not saved: the object is gone", .error) }
        let changes = form.changes(shape)
        if changes.allSatisfy({ object[$0.field] == $0.new }) { return saved(view) }
        say("not saved: the server was lost before; e tries again", .error)
    }
}
