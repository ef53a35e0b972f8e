import Browse
import Core
import Glibc
import Options
import Server

/// A command that asks a server, from what was typed to the exit status.
struct ClientCommand {
    let name: String
    var arguments: OwnArguments

    init(_ description: CommandDescription) {
        name = description.name
        let own = description.flags.filter { flag in !CommandTable.serverFlags.contains { $0.name == flag.name } }
        arguments = OwnArguments(
            flags: Set(own.filter { $0.value != nil }.map(\.name) + ["url", "server"]),
            switches: Set(own.filter { $0.value == nil }.map(\.name)),
            letters: Dictionary(
                own.compactMap { flag in flag.short.map { ($0, flag.name) } }, uniquingKeysWith: { one, _ in one }))
    }

    /// - Returns: the exit status.
    func run(_ options: ServerOptions) async throws -> Int32 {
        let address = try ServerPlace.address(options, url: arguments.told["url"] ?? arguments.told["server"])
        let typed = TypedCommand(name, arguments.words, arguments.told)
        // What follows a log into a pipe shows each line as it comes.
        let console = ClientCommand.console(keepsBack: name != "logs")
        let worker = Worker(name: "client")
        let result: Result<Int32, any Error> = await worker.run { _, loop in
            do {
                return .success(
                    try await CommandContext.run(typed, at: address, console: console, loop: loop))
            } catch { return .failure(error) }
        }
        await worker.stop()
        fflush(nil)
        return try result.get()
    }

    /// - Parameter keepsBack: what is written goes out when there is enough of it.
    static func console(keepsBack: Bool) -> CommandConsole {
        var size = winsize()
        let isTerminal = isatty(STDOUT_FILENO) == 1
        if isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) != 0 || size.ws_col == 0 { size.ws_col = 80 }
        return CommandConsole(
            write: { text in
                print(text, terminator: "")
                if !keepsBack { fflush(nil) }
            },
            note: { text in
                fflush(nil)
                Console.complain(text)
            }, width: isTerminal ? Int(size.ws_col) : nil, noteIsTerminal: isatty(STDERR_FILENO) == 1, ask: ask)
    }

    @Sendable private static func ask(_ question: String, _ unseen: Bool) -> String? {
        fflush(nil)
        guard isatty(STDIN_FILENO) == 1 else { return unseen ? readLine() : nil }
        Console.complain(question)
        guard unseen else { return readLine() }
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            Console.complain("\n")
        }
        return readLine()
    }
}
