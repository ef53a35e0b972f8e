import Core
import Wire

/// Ends a command: the sentence goes to standard error.
public struct CommandFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// As `CommandTable.exitCodes`.
    public var code: Int32
    public var description: String

    public init(_ code: Int32, _ description: String) {
        self.code = code
        self.description = description
    }

    static func wrong(_ text: String) -> CommandFailure { CommandFailure(2, text) }
    static func notFound(_ text: String) -> CommandFailure { CommandFailure(3, text) }

    /// - Parameter fault: which may hold what others stored.
    public init(_ fault: ServerFault) {
        switch fault {
        case .unreachable, .notMaster: self.init(4, "\(fault)")
        case .refused: self.init(fault.isNotFound ? 3 : 1, "\(fault)")
        case .cancelled: self.init(130, "interrupted")
        }
    }
}

/// Where a command's words come from and go to.
public struct CommandConsole: Sendable {
    /// To standard output.
    public var write: @Sendable (String) -> Void
    /// To standard error.
    public var note: @Sendable (String) -> Void
    /// Columns of the terminal that standard output is; nil where it is none.
    public var width: Int?
    /// Whether standard error is a terminal, on which a line may be written over.
    public var noteIsTerminal: Bool
    /// Asks for a line; nil: nobody can be asked. The second parameter: what is typed is not shown.
    public var ask: @Sendable (_ question: String, _ unseen: Bool) -> String?

    public init(
        write: @escaping @Sendable (String) -> Void, note: @escaping @Sendable (String) -> Void, width: Int?,
        noteIsTerminal: Bool, ask: @escaping @Sendable (String, Bool) -> String?
    ) {
        self.write = write
        self.note = note
        self.width = width
        self.noteIsTerminal = noteIsTerminal
        self.ask = ask
    }
}

/// A command of the table as it was typed: `hermes NAME words… --flag value`.
public struct TypedCommand: Sendable {
    public var name: String
    public var words: [String]
    public var flags: [String: String]

    public init(_ name: String, _ words: [String], _ flags: [String: String] = [:]) {
        self.name = name
        self.words = words
        self.flags = flags
    }

    func isOn(_ flag: String) -> Bool { flags[flag].map { $0 != "false" } ?? false }
}

/// Runs commands that ask a server. Lives on its worker.
public final class CommandContext {
    let server: ParseServer
    let console: CommandConsole
    let command: TypedCommand
    let loop: Loop
    private var known: Classes?

    init(_ command: TypedCommand, server: ParseServer, console: CommandConsole, loop: Loop) {
        self.command = command
        self.server = server
        self.console = console
        self.loop = loop
    }

    /// Does a command.
    ///
    /// - Returns: the exit status, 0 or 5.
    /// - Throws: `CommandFailure`.
    public static func run(
        _ command: TypedCommand, at address: ServerAddress, console: CommandConsole, loop: Loop
    ) async throws -> Int32 {
        let server = ParseServer(loop: loop, address: address)
        defer { server.close() }
        let context = CommandContext(command, server: server, console: console, loop: loop)
        do {
            switch command.name {
            case "query": try await context.query()
            case "get": try await context.get()
            case "set": try await context.set()
            case "create": try await context.create()
            case "delete": return try await context.delete()
            case "count": try await context.count()
            case "classes": try await context.listClasses()
            case "schema": try await context.schema()
            case "role": try await context.role()
            case "user": try await context.user()
            case "config": try await context.config()
            case "jobs": try await context.runJob()
            case "export": try await context.export()
            case "logs": try await context.logs()
            default: throw CommandFailure.wrong("there is no command \(command.name)")
            }
        } catch let fault as ServerFault { throw CommandFailure(fault) }
        return 0
    }

    // MARK: what all need

    func wrongUse() -> CommandFailure {
        let forms = CommandTable[command.name]?.forms.map { "hermes \(command.name) \($0)" } ?? []
        return .wrong("this is how it is typed:\n  " + forms.joined(separator: "\n  "))
    }

    func ask(_ request: ServerRequest) async throws -> JSON { try await server.send(request).json }

    func ask(_ method: String, _ path: String, _ body: JSONObject = JSONObject()) async throws -> JSON {
        try await server.send(ServerRequest(method, path, body, key: .master)).json
    }

    func find(_ className: String, _ parameters: JSONObject) async throws -> [JSONObject] {
        let found = try await ask(.find(className, parameters, key: .master))
        return found.object?["results"]?.array?.compactMap(\.object) ?? []
    }

    func classes() async throws -> Classes {
        if let known { return known }
        guard let classes = Classes(answer: try await ask("GET", "/schemas")) else {
            throw CommandFailure(1, "the server's answer to GET /schemas is none of Parse's")
        }
        known = classes
        return classes
    }

    func shape(_ name: String) async throws -> ClassShape {
        let classes = try await classes()
        if let shape = classes[name] { return shape }
        let nearest = Nearest.name(to: name, among: classes.all.map(\.name), beginnings: true)
        throw CommandFailure.notFound("there is no class \(name)" + (nearest.map { "; perhaps \($0)" } ?? ""))
    }

    func field(_ name: String, of shape: ClassShape) throws -> ClassShape.Field {
        if let field = shape[name] { return field }
        let nearest = Nearest.name(to: name, among: shape.fields.map(\.name), beginnings: true)
        throw CommandFailure.wrong(
            "there is no field \(name) in \(shape.name)" + (nearest.map { "; perhaps \($0)" } ?? ""))
    }

    /// `Class:id`
    func objectName(_ text: String) throws -> (className: String, id: String) {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex, text.index(after: colon) < text.endIndex
        else { throw CommandFailure.wrong("an object is named Class:id, not \(text)") }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }

    func object(_ className: String, _ id: String) async throws -> JSONObject {
        let answer = try await ask("GET", "/classes/\(className.urlEncoded)/\(id.urlEncoded)")
        guard let object = answer.object else { throw CommandFailure(1, "the server's answer is no object") }
        return object
    }

    /// The condition of `--where`.
    func filter(_ shape: ClassShape) async throws -> JSONObject {
        guard let text = command.flags["where"] else { return JSONObject() }
        let classes = try await classes()
        do {
            let filter = try Filter(text, on: shape, in: classes)
            for note in filter.notes { console.note("hermes: note: \(SafeText(note).text)\n") }
            return filter.condition
        } catch { throw CommandFailure.wrong("the filter is wrong\n" + error.shown(under: text)) }
    }

    /// The user of this name, mail address or id.
    func findUser(_ name: String, keys: String = "username,email") async throws -> JSONObject {
        let fields = ["username", "email", "objectId"].map { JSON.object(JSONObject([($0, .string(name))])) }
        let found = try await find(
            "_User", record(["where": ["$or": .array(fields)], "keys": .string(keys), "limit": 4]))
        if let named = found.first(where: { $0["username"] == .string(name) }) { return named }
        guard found.count < 2 else {
            throw CommandFailure.wrong("\(name) is more than one user: tell the objectId")
        }
        guard let user = found.first else { throw CommandFailure.notFound("there is no user \(name)") }
        return user
    }

    /// What was typed as a field's value, with users looked up.
    func value(_ text: String, for field: ClassShape.Field) async throws -> JSON {
        let input: FieldInput
        do { input = try FieldInput(text, for: field) } catch {
            throw CommandFailure.wrong("\(field.name): \(error)\n" + error.shown(under: text))
        }
        switch input {
        case .value(let value): return value
        case .user(let name):
            return FilterValues.pointer("_User", try await findUser(name)["objectId"]?.string ?? "")
        case .path(let path):
            let bytes = try LocalFile.read(path)
            guard field.type == .file else { return LocalFile.bytes(bytes) }
            // Nothing is stored for what is only looked at.
            if command.isOn("dry-run") { return ["__type": "File", "name": .string(path)] }
            guard let file = LocalFile.stored(try await ask(LocalFile.upload(bytes, from: path))) else {
                throw CommandFailure(1, "the server's answer is no file's")
            }
            return file
        }
    }

    /// Whether a change is to be made: asked for, unless `--yes` was told.
    func isWanted(_ question: String) throws -> Bool {
        if command.isOn("dry-run") {
            console.note("nothing was changed: --dry-run\n")
            return false
        }
        if command.isOn("yes") { return true }
        guard let answer = console.ask(question + " [y/N] ", false) else {
            throw CommandFailure.wrong("writing asks for --yes where nobody can be asked")
        }
        guard ["y", "yes", "s", "sí", "si"].contains(answer.lowercased()) else {
            throw CommandFailure(1, "nothing was changed")
        }
        return true
    }

    /// A line for people, or JSON for programs.
    func say(_ text: String) { console.write(SafeText(text).text + "\n") }

    func printTable(_ table: TextTable) {
        if command.isOn("csv") {
            writeCSV(table.titles.map { Cells.csv(.string($0)) })
            for row in table.rows { writeCSV(row.map { Cells.csv(.string($0)) }) }
        } else {
            console.write(table.text(width: console.width))
        }
    }

    /// To a terminal nothing goes that could act on it.
    func writeCSV(_ cells: [String]) {
        let line = cells.joined(separator: ",")
        console.write((console.width == nil ? line : SafeText(line).text) + "\n")
    }

    func printJSON(_ json: JSON) { console.write(Cells.safeJSON(json) + "\n") }
}

/// The members of an object that is written as a literal.
func record(_ json: JSON) -> JSONObject { json.object ?? JSONObject() }
