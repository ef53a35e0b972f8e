import Wire

extension Browser {
    // MARK: one object

    /// All fields but the secret ones, which are not even fetched.
    mutating func readObject(_ view: Int, _ className: String, _ id: String, _ purpose: Purpose) {
        let secrets = classes[className]?.fields.map(\.name).filter { classes[className]?.isSecret($0) == true } ?? []
        var parameters = record(["where": ["objectId": .string(id)], "limit": 1])
        if !secrets.isEmpty { parameters["excludeKeys"] = .string(secrets.joined(separator: ",")) }
        // Not where it is compared: a pointer that leads nowhere would not come along.
        let pointers = pointers(of: className)
        if !pointers.isEmpty, purpose == .object(view: view) || purpose == .afterSave(view: view) {
            parameters["include"] = .string(pointers.joined(separator: ","))
        }
        fetch(purpose, .find(className, parameters))
    }

    mutating func objectKey(_ key: Key, _ view: Int, _ object: ObjectView) {
        guard let shape = classes[object.className], shape.fields.indices.contains(object.list.selected) else { return }
        let field = shape.fields[object.list.selected]
        switch key {
        case .enter, .right, .character("l"): enter(field, object, shape)
        case .left, .character("h"): back()
        case .character("f"):
            _ = push(.referrers(ListView(), className: object.className, id: object.objectId))
        case .character("a"):
            guard let row = object.object else { return }
            let access = AccessView(className: object.className, objectId: object.objectId, acl: row["ACL"])
            let id = push(.access(access))
            readNames(id, access)
        case .character("i"): _ = push(.schema(ListView(), className: object.className))
        case .character("r"): readObject(view, object.className, object.objectId, .object(view: view))
        case .character("y"): dialog = .copying
        case .character("e"):
            guard mayChange(), let row = object.object else { return }
            var form = EditForm(className: object.className, objectId: object.objectId, original: Browser.plain(row))
            let names = editable(form).map(\.name)
            form.list.selected = names.firstIndex(of: field.name) ?? 0
            _ = push(.edit(form))
            showSelection()
        case .character("n"): newObject(object.className)
        case .character("D"): askDelete(object.className, object.objectId, object.object ?? JSONObject())
        case .character("x"):
            guard shape.isSecret(field.name) else { return say("\(field.name) is no secret") }
            let parameters = record([
                "where": ["objectId": .string(object.objectId)], "limit": 1, "keys": .string(field.name),
            ])
            fetch(.reveal(view: view, field: field.name), .find(object.className, parameters))
        default: break
        }
    }

    private mutating func enter(_ field: ClassShape.Field, _ object: ObjectView, _ shape: ClassShape) {
        guard let row = object.object else { return }
        let value = row[field.name]
        switch field.type {
        case .pointer(let target):
            guard let id = value?.object?["objectId"]?.string else { return say("\(field.name) is missing") }
            openObject(target, id)
        case .relation(let target):
            guard let shape = classes[target] else { return say("there is no class \(target)", .error) }
            var list = ObjectList(shape)
            list.relation = (object.className, object.objectId, field.name)
            readFirst(push(.objects(list)), fromEnd: false)
        case .acl: objectKey(.character("a"), layers.last?.id ?? 0, object)
        default:
            guard !shape.isSecret(field.name) else { return say("x shows it for 30 seconds") }
            let text = value?.string ?? value.map(Browser.pretty) ?? "-"
            _ = push(.text(TextView(title: field.name, text: text)))
        }
    }

    /// An object as it would be written: objects that came along are pointers again.
    static func plain(_ row: JSONObject) -> JSONObject {
        var plain = JSONObject()
        for (name, value) in row.members {
            if let object = value.object, object["__type"] == "Object" {
                plain[name] = FilterValues.pointer(
                    object["className"]?.string ?? "", object["objectId"]?.string ?? "")
            } else {
                plain[name] = value
            }
        }
        return plain
    }

    /// JSON over several lines.
    static func pretty(_ json: JSON) -> String { pretty(json, "") }

    private static func pretty(_ json: JSON, _ indent: String) -> String {
        let inner = indent + "  "
        switch json {
        case .array(let elements) where !elements.isEmpty:
            return "[\n" + elements.map { inner + pretty($0, inner) }.joined(separator: ",\n") + "\n\(indent)]"
        case .object(let object) where !object.isEmpty:
            return "{\n"
                + object.members.map { "\(inner)\(JSON.string($0.key)): \(pretty($0.value, inner))" }
                .joined(separator: ",\n") + "\n\(indent)}"
        default: return json.description
        }
    }

    // MARK: copying

    mutating func copy(_ key: Key) {
        dialog = .none
        guard let layer = layers.last else { return }
        let className: String
        let row: JSONObject
        var field: String?
        switch layer.view {
        case .objects(let list):
            guard let selected = list.selected else { return }
            (className, row, field) = (list.className, selected, list.columns[list.column])
        case .object(let object):
            guard let there = object.object else { return }
            (className, row) = (object.className, there)
            field = classes[className]?.fields[object.list.selected].name
        default: return
        }
        let shape = classes[className]
        let id = row["objectId"]?.string ?? ""
        switch key {
        case .character("i"): copyNow(id)
        case .character("v"):
            guard let field else { return }
            guard shape?.isSecret(field) != true else { return say("secrets are not copied", .warning) }
            let value = Browser.plain(row)[field]
            copyNow(value?.string ?? value?.description ?? "")
        case .character("j"):
            var plain = Browser.plain(row)
            let secrets = shape?.fields.map(\.name).filter { shape?.isSecret($0) == true } ?? []
            for secret in secrets { plain[secret] = nil }
            copyNow(Cells.safeJSON(.object(plain)))
            if !secrets.isEmpty { say("copied without \(secrets.joined(separator: ", "))") }
        case .character("c"):
            let url = "\(options.url)/classes/\(className.urlEncoded)/\(id.urlEncoded)"
            copyNow(
                "curl -H \(Browser.shell("X-Parse-Application-Id: \(options.appId)")) "
                    + "-H \"X-Parse-Master-Key: $HERMES_MASTER_KEY\" \(Browser.shell(url))")
        default: say("nothing was copied")
        }
    }

    mutating func copyNow(_ text: String) {
        effects.append(.copy(text))
        say("copied")
    }

    /// In quotes for sh.
    static func shell(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    // MARK: who may

    /// Asks what the users are called.
    private mutating func readNames(_ view: Int, _ access: AccessView) {
        let ids = access.entries.map(\.key).filter { $0 != "*" && !$0.hasPrefix("role:") }
        guard !ids.isEmpty else { return }
        let parameters = record([
            "where": ["objectId": ["$in": .array(ids.map { .string($0) })]], "keys": "username", "limit": 1000,
        ])
        fetch(.names(view: view, roles: false), .find("_User", parameters))
    }

    mutating func accessKey(_ key: Key, _ view: Int, _ access: AccessView) {
        var access = access
        let selected = access.list.selected
        switch key {
        case .left, .character("h"): access.isOnWrite = false
        case .right, .character("l"), .tab: access.isOnWrite = true
        case .character(" "):
            guard mayChange(), access.entries.indices.contains(selected) else { return }
            if access.isOnWrite {
                access.entries[selected].writes.toggle()
            } else {
                access.entries[selected].reads.toggle()
            }
        case .character("D"):
            guard mayChange(), access.entries.indices.contains(selected) else { return }
            access.entries.remove(at: selected)
            access.list.show(page, access.entries.count)
        case .character("n"):
            guard mayChange() else { return }
            dialog = .prompt(Prompt(.member(view: view), "Add: @user, a role, or *"))
            return
        case .character("e"):
            guard access.isChanged else { return back() }
            guard mayChange() else { return }
            dialog = .question(
                Question(
                    title: "Save who may read and write \(access.className) \(access.objectId)?",
                    lines: [
                        "ACL - \(Cells.access(access.original))", "ACL + \(Cells.access(access.json))",
                    ], keys: "y save  Esc edit on", action: .saveAccess(view: view)))
            return
        default: return
        }
        layers[layers.count - 1].view = .access(access)
    }

    mutating func addMember(_ text: String, _ view: Int) {
        guard let index = index(of: view), case .access(var access) = layers[index].view, !text.isEmpty else { return }
        if text.hasPrefix("@") {
            let name = String(text.dropFirst())
            let parameters = record(["where": ["username": .string(name)], "keys": "username", "limit": 1])
            fetch(.aclMember(view: view, name: name), .find("_User", parameters))
            return
        }
        let role = text.hasPrefix("role:") ? String(text.dropFirst(5)) : text
        let key = text == "*" ? "*" : "role:" + role
        guard !access.entries.contains(where: { $0.key == key }) else { return say("\(text) is there already") }
        access.entries.append(
            AccessView.Entry(key: key, name: key == "*" ? "everybody" : "role \(role)", reads: true, writes: false))
        layers[index].view = .access(access)
    }

    // MARK: jobs, parameters

    mutating func openJobs() {
        let view = push(.jobs(JobsView()))
        readJobs(view)
    }

    mutating func readJobs(_ view: Int) {
        fetch(.jobNames(view: view), ServerRequest("GET", "/cloud_code/jobs/data"))
        fetch(.jobStates(view: view), .find("_JobStatus", record(["order": "-createdAt", "limit": 500])))
    }

    mutating func jobsKey(_ key: Key, _ view: Int, _ jobs: JobsView) {
        guard key != .character("r") else { return readJobs(view) }
        guard jobs.names.indices.contains(jobs.list.selected) else { return }
        let name = jobs.names[jobs.list.selected]
        switch key {
        case .enter:
            guard let shape = classes["_JobStatus"] else { return say("no job has run yet") }
            open(shape, filter: "jobName = \"\(name)\"", condition: JSONObject([("jobName", .string(name))]))
        case .character("R"):
            guard mayChange() else { return }
            dialog = .question(
                Question(
                    title: "Run \(name) now?", lines: [], keys: "y run  Esc do not",
                    action: .runJob(view: view, name: name)))
        default: break
        }
    }

    mutating func openConfig() {
        let view = push(.config(ConfigView()))
        fetch(.config(view: view), ServerRequest("GET", "/config"))
    }

    mutating func configKey(_ key: Key, _ view: Int, _ config: ConfigView) {
        if key == .character("r") {
            fetch(.config(view: view), ServerRequest("GET", "/config"))
            return
        }
        if key == .character("n") {
            if mayChange() { dialog = .prompt(Prompt(.parameter(view: view, name: ""), "New parameter: NAME=VALUE")) }
            return
        }
        guard config.params.members.indices.contains(config.list.selected) else { return }
        let (name, value) = config.params.members[config.list.selected]
        switch key {
        case .enter: _ = push(.text(TextView(title: name, text: value.string ?? Browser.pretty(value))))
        case .character("e"):
            guard mayChange() else { return }
            dialog = .prompt(
                Prompt(
                    .parameter(view: view, name: name), "\(name), as JSON or text:", value.string ?? value.description))
        case .character("D"):
            guard mayChange() else { return }
            dialog = .question(
                Question(
                    title: "Remove \(name)?", lines: ["\(name) - \(Cells.text(value))"], keys: "y remove  Esc keep",
                    action: .saveConfig(view: view, name: name, nil)))
        default: break
        }
    }
}
