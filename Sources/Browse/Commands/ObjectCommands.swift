import Wire

/// query, get, set, create, delete, count.
extension CommandContext {
    // MARK: reading

    func query() async throws {
        guard command.words.count == 1, !(command.isOn("json") && command.isOn("csv")) else { throw wrongUse() }
        let shape = try await shape(command.words[0])
        let condition = try await filter(shape)
        let sorting = try sorting(shape)
        var left = try limit(100)
        let asked = try keys(shape)
        let isTable = !command.isOn("json") && !command.isOn("csv")
        let fields = asked ?? CommandContext.columns(shape)
        var parameters = JSONObject()
        if let asked {
            parameters["keys"] = .string((asked.map(\.name) + [sorting.field]).joined(separator: ","))
        } else if command.isOn("json") {
            parameters["excludeKeys"] = .string(shape.fields.map(\.name).filter(shape.isSecret).joined(separator: ","))
        } else {
            parameters["keys"] = .string((fields.map(\.name) + [sorting.field]).joined(separator: ","))
        }
        var labels: [String: String] = [:]
        if isTable { labels = try await self.labels(fields, &parameters) }
        var table = TextTable(fields.map(\.name))
        table.numeric = Set(fields.indices.filter { fields[$0].type == .number })
        if command.isOn("csv") { writeCSV(fields.map { Cells.csv(.string($0.name)) }) }
        var cursor = Cursor(sorting)
        while left > 0, let next = cursor.condition {
            parameters["where"] = .object(Filter.all([condition, next]))
            parameters["order"] = .string(cursor.order)
            parameters["limit"] = .number(Double(min(left, 1000)))
            let page = try await find(shape.name, parameters)
            left -= page.count
            for row in page {
                if command.isOn("json") {
                    printJSON(.object(row))
                } else if command.isOn("csv") {
                    writeCSV(fields.map { Cells.csv(row[$0.name]) })
                } else {
                    table.rows.append(fields.map { Cells.field($0.name, of: row, label: labels[$0.name]) })
                }
            }
            if isTable, table.rows.count >= 1000 {
                console.write(table.text(width: console.width))
                table.rows = []
            }
            _ = cursor.take(page)
        }
        if isTable, !table.rows.isEmpty { console.write(table.text(width: console.width)) }
    }

    private func sorting(_ shape: ClassShape) throws -> Sorting {
        guard let text = command.flags["order"] else { return .newest }
        let isDescending = text.hasPrefix("-")
        let name = isDescending ? String(text.dropFirst()) : text
        let type = try field(name, of: shape).type
        guard let sorting = Sorting(name, descending: isDescending, of: shape) else {
            throw CommandFailure.wrong("the server has no order for \(name), which is of type \(type.name)")
        }
        return sorting
    }

    private func limit(_ usual: Int) throws -> Int {
        guard let text = command.flags["limit"] else { return usual }
        if text == "all" { return .max }
        guard let limit = Int(text), limit > 0 else { throw CommandFailure.wrong("--limit takes a number, or all") }
        return limit
    }

    func keys(_ shape: ClassShape) throws -> [ClassShape.Field]? {
        guard let text = command.flags["keys"] else { return nil }
        return try text.split(separator: ",").map { try field(String($0), of: shape) }
    }

    /// What a table shows of a class where nobody says: all but secrets, relations and the ACL.
    static func columns(_ shape: ClassShape) -> [ClassShape.Field] {
        let shown = shape.fields.filter { field in
            if shape.isSecret(field.name) || field.name == "objectId" { return false }
            switch field.type {
            case .relation, .acl: return false
            default: return true
            }
        }
        return [shape["objectId"]].compactMap { $0 } + shown
    }

    /// Has the objects that pointers lead to come along, as far as a person would know them by one field.
    private func labels(
        _ fields: [ClassShape.Field], _ parameters: inout JSONObject
    ) async throws -> [String: String] {
        let classes = try await classes()
        var labels: [String: String] = [:]
        for field in fields {
            guard case .pointer(let target) = field.type, let label = classes[target]?.labelField else { continue }
            labels[field.name] = label
        }
        guard !labels.isEmpty else { return [:] }
        let paths = labels.sorted { $0.key < $1.key }
        parameters["include"] = .string(paths.map(\.key).joined(separator: ","))
        let keys = parameters["keys"]?.string ?? ""
        parameters["keys"] = .string(([keys] + paths.map { "\($0.key).\($0.value)" }).joined(separator: ","))
        return labels
    }

    func get() async throws {
        guard command.words.count == 1 else { throw wrongUse() }
        let (className, id) = try objectName(command.words[0])
        let shape = try await shape(className)
        var object = try await object(className, id)
        let secrets = shape.fields.map(\.name).filter { shape.isSecret($0) && object[$0] != nil }
        for secret in secrets { object[secret] = nil }
        if command.isOn("json") { return printJSON(.object(object)) }
        let width = shape.fields.map(\.name.count).max() ?? 0
        for field in shape.fields {
            let shown = secrets.contains(field.name) ? "****" : Cells.field(field.name, of: object)
            let type = field.type.targetClass.map { "\(field.type.name) \($0)" } ?? field.type.name
            let name = field.name + String(repeating: " ", count: width - field.name.count)
            let padded = type + String(repeating: " ", count: max(0, 18 - type.count))
            console.write(SafeText("\(name)  \(padded)  \(shown)").text + "\n")
        }
    }

    func count() async throws {
        guard command.words.count == 1 else { throw wrongUse() }
        let shape = try await shape(command.words[0])
        let condition = try await filter(shape)
        let number = try await count(shape.name, condition)
        if command.isOn("json") { return printJSON(["count": .number(Double(number))]) }
        say("\(number)")
    }

    func count(_ className: String, _ condition: JSONObject) async throws -> Int {
        let answer = try await ask(
            .find(className, record(["where": .object(condition), "count": 1, "limit": 0]), key: .master))
        return answer.object?["count"]?.number.flatMap { Int(exactly: $0) } ?? 0
    }

    // MARK: writing

    /// A field, and what is to become of it.
    private struct Assignment {
        var field: ClassShape.Field
        var value: JSON
        var shown: String
    }

    private func assignments(_ words: some Sequence<String>, _ shape: ClassShape) async throws -> [Assignment] {
        var all: [Assignment] = []
        for word in words {
            guard let equals = word.firstIndex(of: "="), equals > word.startIndex else {
                throw CommandFailure.wrong("FIELD=VALUE was expected, not \(word)")
            }
            var name = String(word[..<equals])
            let text = String(word[word.index(after: equals)...])
            let sign = name.last == "+" || name.last == "-" ? name.removeLast() : nil
            let field = try field(name, of: shape)
            guard !["objectId", "createdAt", "updatedAt"].contains(name) else {
                throw CommandFailure.wrong("\(name) is the server's")
            }
            guard !all.contains(where: { $0.field.name == name }) else {
                throw CommandFailure.wrong("\(name) is told twice")
            }
            if let sign {
                all.append(
                    Assignment(
                        field: field, value: try await operation(sign, text, field), shown: "\(sign) \(text)"))
            } else {
                let value = try await value(text, for: field)
                all.append(Assignment(field: field, value: value, shown: Cells.text(value)))
            }
        }
        return all
    }

    /// `+=`, `-=`
    private func operation(_ sign: Character, _ text: String, _ field: ClassShape.Field) async throws -> JSON {
        switch field.type {
        case .number:
            guard let amount = Double(text), amount.isFinite else {
                throw CommandFailure.wrong("\(field.name): a Number, as 9 or -1.5")
            }
            return ["__op": "Increment", "amount": .number(sign == "+" ? amount : -amount)]
        case .array:
            let element = (try? JSONParser.parse(text)) ?? .string(text)
            return ["__op": sign == "+" ? "AddUnique" : "Remove", "objects": [element]]
        case .relation(let target):
            let pointer = ClassShape.Field(
                name: field.name, type: .pointer(target), isRequired: false, defaultValue: nil)
            return [
                "__op": sign == "+" ? "AddRelation" : "RemoveRelation",
                "objects": [try await value(text, for: pointer)],
            ]
        default: throw CommandFailure.wrong("\(sign)= is for numbers, lists and relations; \(field.name) is none")
        }
    }

    func set() async throws {
        guard let first = command.words.first else { throw wrongUse() }
        let (className, id) = try objectName(first)
        let shape = try await shape(className)
        var changes = try await assignments(command.words.dropFirst(), shape)
        for name in (command.flags["unset"] ?? "").split(separator: ",") {
            let field = try field(String(name), of: shape)
            changes.append(Assignment(field: field, value: ["__op": "Delete"], shown: "-"))
        }
        guard !changes.isEmpty else { throw wrongUse() }
        let object = try await object(className, id)
        for change in changes {
            let before = shape.isSecret(change.field.name) ? "****" : Cells.field(change.field.name, of: object)
            let after = shape.isSecret(change.field.name) ? "****" : change.shown
            say("\(change.field.name)  \(before) -> \(after)")
        }
        guard try isWanted("Save \(changes.count == 1 ? "1 change" : "\(changes.count) changes") to \(first)?") else {
            return
        }
        let body = JSONObject(changes.map { ($0.field.name, $0.value) })
        let answer = try await ask("PUT", "/classes/\(className.urlEncoded)/\(id.urlEncoded)", body)
        if command.isOn("json") { printJSON(answer) }
    }

    func create() async throws {
        guard let className = command.words.first else { throw wrongUse() }
        let shape = try await shape(className)
        let fields = try await assignments(command.words.dropFirst(), shape)
        for field in fields {
            console.note(
                SafeText("\(field.field.name)  \(shape.isSecret(field.field.name) ? "****" : field.shown)").text + "\n")
        }
        guard try isWanted("Make this object of \(className)?") else { return }
        let answer = try await ask(
            "POST", "/classes/\(className.urlEncoded)", JSONObject(fields.map { ($0.field.name, $0.value) }))
        if command.isOn("json") { return printJSON(answer) }
        say("\(className):\(answer.object?["objectId"]?.string ?? "")")
    }

    func delete() async throws -> Int32 {
        guard !command.words.isEmpty, command.words.count <= 1000 else { throw wrongUse() }
        let names = try command.words.map(objectName)
        let label = names.count == 1 ? command.words[0] : "these \(names.count) objects"
        guard try isWanted("Delete \(label)? Hooks may delete more.") else { return 0 }
        var deleted = 0
        var missing = 0
        var failed: CommandFailure?
        for (className, id) in names {
            do {
                _ = try await ask("DELETE", "/classes/\(className.urlEncoded)/\(id.urlEncoded)")
                deleted += 1
            } catch let fault as ServerFault {
                let failure = CommandFailure(fault)
                console.note(SafeText("hermes: \(className):\(id): \(failure)").text + "\n")
                if fault.isNotFound { missing += 1 }
                failed = failure
                // Nothing that follows would go better.
                if failure.code == 4 || failure.code == 130 { break }
            }
        }
        say("deleted \(deleted)")
        guard let failed else { return 0 }
        if deleted > 0 { return 5 }
        return missing == names.count ? 3 : failed.code
    }
}
