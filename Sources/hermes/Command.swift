import Glibc
import Options
import Server
import Wire

/// What was typed after `hermes`.
struct Command {
    enum Verb: String { case serve, doctor, jobs, options, version, help }

    let verb: Verb
    private var configuration: String?
    private var flags: [(name: String, value: String)] = []
    private var wantsMarkdown = false
    private var jobs = JobsCommand()

    /// - Throws: `OptionFault` that says what was not understood.
    init(_ arguments: some Sequence<String>) throws(OptionFault) {
        var rest = Array(arguments)[...]
        switch rest.popFirst() {
        case nil, "help", "--help", "-h": verb = .help
        case "--version", "-v": verb = .version
        case .some(let word):
            guard let known = Verb(rawValue: word) else {
                throw OptionFault("there is no command \"\(word)\"; `hermes help` lists them")
            }
            verb = rest.contains("--help") ? .help : known
        }
        guard [.serve, .doctor, .jobs, .options].contains(verb) else { return }
        while let argument = rest.popFirst() {
            if verb == .jobs, !argument.hasPrefix("-") {
                jobs.words.append(argument)
                continue
            }
            guard argument.hasPrefix("--"), argument.count > 2 else {
                throw OptionFault("\"\(argument)\" was not expected; `hermes help` shows what can be told")
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if verb == .options {
                guard name == "markdown" else {
                    throw OptionFault("unknown flag --\(name); --markdown is the only one")
                }
                wantsMarkdown = true
                continue
            }
            let isJobsFlag = verb == .jobs && JobsCommand.flags.contains(name)
            let isSwitch =
                isJobsFlag ? name == "json" : name == "config" ? false : try ServerOptions.isSwitch(flag: name)
            var value = parts.count == 2 ? String(parts[1]) : nil
            if value == nil, !isSwitch || rest.first == "true" || rest.first == "false" { value = rest.popFirst() }
            guard value != nil || isSwitch else { throw OptionFault("--\(name) needs a value") }
            if isJobsFlag {
                jobs.told[name] = value ?? "true"
            } else if name == "config" {
                configuration = value
            } else {
                flags.append((name, value ?? ""))
            }
        }
    }

    func run() async throws {
        switch verb {
        case .help: print(Command.help)
        case .version: print("hermes \(Banner.version)")
        case .options: print(wantsMarkdown ? OptionTable.markdown : OptionTable.list, terminator: "")
        case .doctor:
            let doctor = await Doctor(options: try options())
            print(doctor.report)
            exit(doctor.isHealthy ? 0 : 1)
        case .jobs: print(try await jobs.run(try options()), terminator: "")
        case .serve:
            var options = try options()
            try Keys.complete(&options)
            if !options.notEffective.isEmpty {
                let names = options.notEffective.joined(separator: ", ")
                Console.complain("hermes: warning: not effective in this version: \(names)\n")
            }
            try await Service.run(options)
        }
    }

    private func options() throws -> ServerOptions {
        var environment: [String: String] = [:]
        for name in OptionTable.variables {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        guard let configuration else { return try ServerOptions(environment: environment, flags: flags) }
        let file: JSON
        do { file = try JSONParser.parse(TextFile.read(configuration)) } catch let error as ParseError {
            throw OptionFault("\(configuration) is not JSON: \(error.message)")
        }
        return try ServerOptions(file: file, fileName: configuration, environment: environment, flags: flags)
    }

    static let help = """
        Hermes \(Banner.version): a backend that speaks the Parse protocol, over PostgreSQL

        hermes serve [--config FILE] [--data DIR] [--port N] [--host ADDRESS] [--database-url URL] [--OPTION VALUE]…
            Serves the API. Without configuration: makes its keys and a private PostgreSQL cluster in DIR (.hermes in
            the working folder, or $HERMES_DATA) and listens on 127.0.0.1, port 1337.
        hermes doctor [the same]
            Says in one screen what is wrong with a set-up, and what to do; exit status 1 where something is.
        hermes jobs [list [--state STATE] [--kind KIND] [--limit N] | show ID | retry ID | cancel ID] [--json] [the same]
            Looks at the queue of jobs: mail, jobs of cloud code, and what else is done later.
        hermes options [--markdown]
            Lists all options.
        hermes version, hermes help
        """
}
