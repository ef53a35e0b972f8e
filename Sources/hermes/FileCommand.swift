import Options

/// The commands that bring a database into files and back.
enum FileCommand {
    case backup(BackupCommand)

    /// Runs such a command; false where another one was typed.
    static func run(_ words: some Sequence<String>) async throws -> Bool {
        var rest = Array(words)[...]
        var command: FileCommand
        switch rest.popFirst() {
        case "backup": command = .backup(BackupCommand(direction: .backup))
        case "restore": command = .backup(BackupCommand(direction: .restore))
        default: return false
        }
        // The table tells of them.
        guard !rest.contains("--help"), !rest.contains("-h") else { return false }
        var server = ServerArguments()
        while let argument = rest.popFirst() {
            if try !command.take(argument, &rest) { try server.take(argument, &rest) }
        }
        print(try await command.run(try server.options()), terminator: "")
        return true
    }

    private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(OptionFault) -> Bool {
        switch self {
        case .backup(var command):
            defer { self = .backup(command) }
            return try command.arguments.take(argument, &rest)
        }
    }

    private func run(_ options: ServerOptions) async throws -> String {
        switch self {
        case .backup(let command): try await command.run(options)
        }
    }
}
