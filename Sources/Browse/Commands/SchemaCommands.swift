import Glibc
import Wire

/// classes, schema.
extension CommandContext {
    func listClasses() async throws {
        let classes = try await classes()
        if command.isOn("json") {
            for shape in classes.all {
                printJSON([
                    "className": .string(shape.name), "fields": .number(Double(shape.fields.count)),
                    "pointsTo": .array(CommandContext.targets(shape).map { .string($0) }),
                ])
            }
            return
        }
        var table = TextTable(["class", "fields", "points to"])
        table.rows = classes.all.map {
            [$0.name, "\($0.fields.count)", CommandContext.targets($0).joined(separator: " ")]
        }
        table.numeric = [1]
        printTable(table)
    }

    static func targets(_ shape: ClassShape) -> [String] {
        Set(shape.fields.compactMap(\.type.targetClass)).sorted()
    }

    func schema() async throws {
        let words = command.words
        switch words.first {
        case "show" where words.count == 2:
            let shape = try await shape(words[1])
            if command.isOn("json") {
                return printJSON(try await ask("GET", "/schemas/\(shape.name.urlEncoded)"))
            }
            var table = TextTable(["field", "type", "target", "index", "required", "default"])
            table.rows = shape.fields.map { field in
                let isIndexed = shape.isIndexed(field.name)
                return [
                    field.name, field.type.name, field.type.targetClass ?? "-", isIndexed ? "yes" : "-",
                    field.isRequired ? "yes" : "-", Cells.text(field.defaultValue),
                ]
            }
            printTable(table)
        case "dump" where words.count == 1:
            let answer = try await ask("GET", "/schemas")
            let results = answer.object?["results"]?.array ?? []
            console.write("{\"results\": [\n" + results.map(Cells.safeJSON).joined(separator: ",\n") + "\n]}\n")
        case "diff" where words.count == 2:
            let changes = try await schemaChanges(words[1])
            for change in changes { say(change.line) }
            if changes.isEmpty { console.note("no difference\n") }
        case "apply" where words.count == 2: try await applySchema(words[1])
        default: throw wrongUse()
        }
    }

    private func schemaChanges(_ path: String) async throws -> [SchemaChange] {
        guard let bytes = readFile(path) else { throw CommandFailure(1, "\(path) cannot be read: \(errorText())") }
        let wanted: [JSONObject]
        do { wanted = try SchemaChange.classes(of: try JSONParser.parse(bytes)) } catch {
            throw CommandFailure.wrong("\(path): \(error.message)")
        }
        let there = try await ask("GET", "/schemas").object?["results"]?.array?.compactMap(\.object) ?? []
        return SchemaChange.between(there, wanted, deleting: command.isOn("delete"))
    }

    private func applySchema(_ path: String) async throws {
        let changes = try await schemaChanges(path)
        for change in changes { say(change.line) }
        if let impossible = changes.first(where: { $0.request == nil }) {
            throw CommandFailure(1, "the type of a field cannot be changed: \(impossible.line)")
        }
        guard !changes.isEmpty else { return console.note("no difference\n") }
        let isDeleting = changes.contains { $0.line.hasPrefix("-") }
        guard try isWanted("Make \(changes.count) changes" + (isDeleting ? ", which delete data?" : "?")) else {
            return
        }
        var done = 0
        for change in changes {
            guard let request = change.request else { continue }
            do { _ = try await ask(request) } catch let fault as ServerFault {
                let failure = CommandFailure(fault)
                throw CommandFailure(
                    done > 0 ? 5 : failure.code, "\(change.line): \(failure); \(done) changes were made")
            }
            done += 1
        }
        console.note(done == 1 ? "1 change made\n" : "\(done) changes made\n")
    }
}

/// One step from the classes that are there to those that are wanted.
struct SchemaChange: Equatable {
    /// `+ Temas.fijado Boolean`
    var line: String
    /// nil: it cannot be done.
    var request: ServerRequest?

    /// The classes in a file: `{"results": […]}`, a list, or one.
    static func classes(of json: JSON) throws(ParseError) -> [JSONObject] {
        let list = json.object?["results"]?.array ?? json.array ?? (json.object?["className"] == nil ? [] : [json])
        let classes = list.compactMap(\.object).filter { $0["className"]?.string != nil }
        guard !classes.isEmpty, classes.count == list.count else {
            throw ParseError(nil, "there are no classes in it, as `hermes schema dump` prints them")
        }
        return classes
    }

    static func between(_ there: [JSONObject], _ wanted: [JSONObject], deleting: Bool) -> [SchemaChange] {
        var changes: [SchemaChange] = []
        func name(_ json: JSONObject) -> String { json["className"]?.string ?? "" }
        for shape in wanted {
            let path = "/schemas/\(name(shape).urlEncoded)"
            guard let old = there.first(where: { name($0) == name(shape) }) else {
                let fields = (shape["fields"]?.object ?? JSONObject()).members.filter {
                    !["objectId", "createdAt", "updatedAt", "ACL"].contains($0.key)
                }
                var body = JSONObject([("className", .string(name(shape))), ("fields", .object(JSONObject(fields)))])
                if let permissions = shape["classLevelPermissions"] { body["classLevelPermissions"] = permissions }
                if let indexes = shape["indexes"]?.object {
                    body["indexes"] = .object(JSONObject(indexes.members.filter { $0.key != "_id_" }))
                }
                let names = fields.map { "\($0.key) \(type($0.value))" }.joined(separator: ", ")
                changes.append(
                    SchemaChange(
                        line: "+ \(name(shape)) (\(names))", request: ServerRequest("POST", path, body, key: .master)))
                continue
            }
            changes += fields(name(shape), path, old, shape, deleting)
            changes += indexes(name(shape), path, old, shape, deleting)
            if let permissions = shape["classLevelPermissions"], permissions != old["classLevelPermissions"] ?? [:] {
                let body = JSONObject([("classLevelPermissions", permissions)])
                changes.append(
                    SchemaChange(
                        line: "~ \(name(shape)) permissions", request: ServerRequest("PUT", path, body, key: .master)))
            }
        }
        guard deleting else { return changes }
        for old in there where !name(old).hasPrefix("_") && !wanted.contains(where: { name($0) == name(old) }) {
            let path = "/schemas/\(name(old).urlEncoded)"
            changes.append(
                SchemaChange(line: "- \(name(old))", request: ServerRequest("DELETE", path, key: .master)))
        }
        return changes
    }

    private static func fields(
        _ name: String, _ path: String, _ old: JSONObject, _ new: JSONObject, _ deleting: Bool
    ) -> [SchemaChange] {
        let there = old["fields"]?.object ?? JSONObject()
        let wanted = new["fields"]?.object ?? JSONObject()
        var changes: [SchemaChange] = []
        func change(_ line: String, _ field: String, _ value: JSON) {
            let body = JSONObject([("fields", .object(JSONObject([(field, value)])))])
            changes.append(SchemaChange(line: line, request: ServerRequest("PUT", path, body, key: .master)))
        }
        for (field, value) in wanted.members {
            guard let before = there[field] else {
                change("+ \(name).\(field) \(type(value))", field, value)
                continue
            }
            if type(before) != type(value) {
                changes.append(SchemaChange(line: "! \(name).\(field) \(type(before)) -> \(type(value))", request: nil))
            } else if before != value {
                change("~ \(name).\(field) \(type(value)) required or default", field, value)
            }
        }
        guard deleting, new["fields"] != nil else { return changes }
        for (field, value) in there.members where wanted[field] == nil {
            guard !["objectId", "createdAt", "updatedAt", "ACL"].contains(field) else { continue }
            change("- \(name).\(field) \(type(value))", field, ["__op": "Delete"])
        }
        return changes
    }

    private static func indexes(
        _ name: String, _ path: String, _ old: JSONObject, _ new: JSONObject, _ deleting: Bool
    ) -> [SchemaChange] {
        guard let wanted = new["indexes"]?.object else { return [] }
        let there = old["indexes"]?.object ?? JSONObject()
        var changes: [SchemaChange] = []
        func change(_ line: String, _ index: String, _ value: JSON) {
            let body = JSONObject([("indexes", .object(JSONObject([(index, value)])))])
            changes.append(SchemaChange(line: line, request: ServerRequest("PUT", path, body, key: .master)))
        }
        for (index, value) in wanted.members where there[index] == nil && index != "_id_" {
            let fields = value.object?.members.map(\.key).joined(separator: ", ") ?? ""
            change("+ \(name) index \(index) (\(fields))", index, value)
        }
        guard deleting else { return changes }
        for (index, _) in there.members where wanted[index] == nil && index != "_id_" {
            change("- \(name) index \(index)", index, ["__op": "Delete"])
        }
        return changes
    }

    private static func type(_ field: JSON) -> String {
        let name = field.object?["type"]?.string ?? "?"
        return field.object?["targetClass"]?.string.map { "\(name) \($0)" } ?? name
    }
}

/// The bytes of a file; nil where it cannot be read, and errno says why.
func readFile(_ path: String) -> [UInt8]? {
    let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(descriptor, &block, block.count)
        if count < 0, errno == EINTR { continue }
        if count < 0 { return nil }
        if count == 0 { return bytes }
        bytes += block[..<count]
    }
}

func errorText() -> String { String(cString: strerror(errno)) }
