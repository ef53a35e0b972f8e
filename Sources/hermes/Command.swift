import Glibc
import JavaScript
import Options
import Server
import Wire

/// What was typed after `hermes`.
struct Command {
    enum Verb: String { case serve, doctor, user, jobs, mail, cloud, options, version, help }

    let verb: Verb
    private var arguments = ServerArguments()
    private var wantsMarkdown = false
    private var jobs = JobsCommand()
    private var mail = MailCommand()
    private var user = UserCommand()
    private var checkedFile = ""

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
        if verb == .cloud {
            guard rest.popFirst() == "check", let file = rest.popFirst(), rest.isEmpty else {
                throw OptionFault("`hermes cloud check FILE` looks at a file of cloud code in JavaScript")
            }
            checkedFile = file
            return
        }
        while let argument = rest.popFirst() {
            switch verb {
            case .options:
                guard argument == "--markdown" else {
                    throw OptionFault("unknown flag \(argument); --markdown is the only one")
                }
                wantsMarkdown = true
            case .user where try user.arguments.take(argument, &rest): continue
            case .jobs where try jobs.arguments.take(argument, &rest): continue
            case .mail where try mail.arguments.take(argument, &rest): continue
            case .serve, .doctor, .user, .jobs, .mail: try self.arguments.take(argument, &rest)
            case .cloud, .version, .help: return
            }
        }
    }

    func run() async throws {
        switch verb {
        case .help: print(Command.help)
        case .version: print("hermes \(Banner.version)")
        case .options: print(wantsMarkdown ? OptionTable.markdown : OptionTable.list, terminator: "")
        case .cloud:
            let code = try await JavaScriptCode(mainFile: checkedFile, options: ServerOptions().javaScript)
            // What it registers a moment after it has been loaded counts as well.
            try await Task.sleep(for: .milliseconds(200))
            let description = code.description
            for handler in description.handlers { print(handler) }
            for feature in description.missing { print("missing: \(feature)") }
            exit(description.missing.isEmpty ? 0 : 1)
        case .doctor:
            let doctor = await Doctor(options: try arguments.options())
            print(doctor.report)
            exit(doctor.isHealthy ? 0 : 1)
        case .user: print(try await user.run(try arguments.options()), terminator: "")
        case .jobs: print(try await jobs.run(try arguments.options()), terminator: "")
        case .mail: print(try await mail.run(try arguments.options()), terminator: "")
        case .serve:
            var options = try arguments.options()
            try Keys.complete(&options)
            if !options.notEffective.isEmpty {
                let names = options.notEffective.joined(separator: ", ")
                Console.complain("hermes: warning: not effective in this version: \(names)\n")
            }
            try await Service.run(options)
        }
    }

    static let help = """
        Hermes \(Banner.version): a backend that speaks the Parse protocol, over PostgreSQL

        hermes serve [--config FILE] [--data DIR] [--port N] [--host ADDRESS] [--database-url URL] [--OPTION VALUE]…
            Serves the API. Without configuration: makes its keys and a private PostgreSQL cluster in DIR (.hermes in
            the working folder, or $HERMES_DATA) and listens on 127.0.0.1, port 1337.
        hermes doctor [the same]
            Says in one screen what is wrong with a set-up, and what to do; exit status 1 where something is.
        hermes user export NAME [--server URL] [the same]
            Prints as JSON all that is an account's own: NAME is its user's name, mail address or objectId.
        hermes user delete NAME [--yes] [--server URL] [the same]
            Deletes an account for good. Both ask the server that runs, so that the application's hooks take part.
        hermes jobs [list [--state STATE] [--kind KIND] [--limit N] | show ID | retry ID | cancel ID] [--json] [the same]
            Looks at the queue of jobs: mail, jobs of cloud code, and what else is done later.
        hermes mail [list [--state STATE] [--limit N] | show ID | retry ID | give-up ID] [--json] [the same]
            Looks at the mails of the queue; retry sends at once what waits or was given up.
        hermes mail preview TEMPLATE [--language es] [--html] [the same]
            Shows a mail as its reader gets it, with made-up values.
        \(FileCommand.help)
        hermes cloud check FILE
            Loads a file of cloud code in JavaScript, lists what it registers and what it uses that is not there; exit
            status 1 where something is missing.
        hermes options [--markdown]
            Lists all options.
        hermes version, hermes help
        """
}
