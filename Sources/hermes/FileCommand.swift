import Glibc
import Options

/// The commands that bring a database into files and back.
enum FileCommand {
    case backup(BackupCommand)
    case export(ExportCommand)

    /// Runs such a command; false where another one was typed.
    static func run(_ words: some Sequence<String>) async throws -> Bool {
        var rest = Array(words)[...]
        var command: FileCommand
        switch rest.popFirst() {
        case "backup": command = .backup(BackupCommand(direction: .backup))
        case "restore": command = .backup(BackupCommand(direction: .restore))
        // Of one class into a file of any name a server is asked, which leaves secrets out.
        case "export" where rest.prefix(2).count { $0 == "-" || !$0.hasPrefix("-") } < 2:
            command = .export(ExportCommand(.export))
        case "import": command = .export(ExportCommand(.import))
        default: return false
        }
        // The table tells of them.
        guard !rest.contains("--help"), !rest.contains("-h") else { return false }
        var server = ServerArguments()
        while let argument = rest.popFirst() {
            if try !command.take(argument, &rest) { try server.take(argument, &rest) }
        }
        let (text, status) = try await command.run(try server.options())
        print(text, terminator: "")
        if status != 0 { exit(status) }
        return true
    }

    private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(OptionFault) -> Bool {
        switch self {
        case .backup(var command):
            defer { self = .backup(command) }
            return try command.arguments.take(argument, &rest)
        case .export(var command):
            defer { self = .export(command) }
            return try command.arguments.take(argument, &rest)
        }
    }

    private func run(_ options: ServerOptions) async throws -> (String, Int32) {
        switch self {
        case .backup(let command): (try await command.run(options), 0)
        case .export(let command): try await command.run(options)
        }
    }
}
