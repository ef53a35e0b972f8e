import Browse
import Forum
import Glibc
import Hermes
import JavaScript
import Options
import Server
import Wire

/// What was typed after `hermes`.
struct Command {
    enum Verb: String {
        case serve, browse, doctor, user, jobs, mail, cloud, options, completion, manual, version, help, client
    }

    let verb: Verb
    private var arguments = ServerArguments()
    private var wantsMarkdown = false
    private var jobs = JobsCommand()
    private var mail = MailCommand()
    private var user = UserCommand()
    private var client: ClientCommand?
    private var browse = BrowseCommand()
    private var words: [String] = []
    private var checkedFile = ""

    /// - Throws: `OptionFault` that says what was not understood.
    init(_ arguments: some Sequence<String>) throws(OptionFault) {
        var rest = Array(arguments)[...]
        switch rest.popFirst() {
        case nil, "help", "--help", "-h": verb = .help
        case "--version", "-v": verb = .version
        case .some(let word):
            guard let description = CommandTable[word] else {
                let nearest = Nearest.name(to: word, among: CommandTable.all.map(\.name))
                throw OptionFault(
                    "there is no command \"\(word)\"; \(nearest.map { "perhaps \($0)? " } ?? "")`hermes help` lists them"
                )
            }
            if rest.contains("--help") || rest.contains("-h") {
                verb = .help
                words = [word]
                return
            }
            verb = Verb(rawValue: word) ?? .client
            let action = rest.first ?? ""
            let asksServer =
                verb == .client || verb == .user && !["export", "delete"].contains(action)
                || verb == .jobs && action == "run"
            if asksServer { client = ClientCommand(description) }
        }
        if verb == .cloud {
            guard rest.popFirst() == "check", let file = rest.popFirst(), rest.isEmpty else {
                throw OptionFault("`hermes cloud check FILE` looks at a file of cloud code in JavaScript")
            }
            checkedFile = file
            return
        }
        while let argument = rest.popFirst() {
            if client != nil {
                if try client?.arguments.take(argument, &rest) == false { try self.arguments.take(argument, &rest) }
                continue
            }
            switch verb {
            case .options:
                guard argument == "--markdown" else {
                    throw OptionFault("unknown flag \(argument); --markdown is the only one")
                }
                wantsMarkdown = true
            case .browse where try browse.arguments.take(argument, &rest): continue
            case .user where try user.arguments.take(argument, &rest): continue
            case .jobs where try jobs.arguments.take(argument, &rest): continue
            case .mail where try mail.arguments.take(argument, &rest): continue
            case .serve, .browse, .doctor, .user, .jobs, .mail: try self.arguments.take(argument, &rest)
            case .completion, .manual, .help: words.append(argument)
            case .cloud, .version, .client: return
            }
        }
    }

    func run() async throws {
        if let client { exit(try await client.run(try arguments.options())) }
        switch verb {
        case .client: break
        case .browse: exit(try await browse.run(try arguments.options()))
        case .help:
            guard let word = words.first else {
                return print(CommandTable.overview(version: Banner.version), terminator: "")
            }
            guard let description = CommandTable[word] else { throw OptionFault("there is no command \"\(word)\"") }
            print(description.help, terminator: "")
        case .completion:
            guard words.count == 1, let script = Completions.script(for: words[0]) else {
                throw OptionFault("hermes completion makes them for \(Completions.shells.joined(separator: ", "))")
            }
            print(script, terminator: "")
        case .manual: try writeManual()
        case .version: print("hermes \(Banner.version)")
        case .options: print(wantsMarkdown ? OptionTable.markdown : OptionTable.list, terminator: "")
        case .cloud:
            var script = ServerOptions().javaScript
            script.checks = true
            let code = try await JavaScriptCode(mainFile: checkedFile, options: script)
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
            switch try arguments.options().app {
            case .none: try await Hermes().run(arguments)
            case .forum: try await Forum.application().run(arguments)
            }
        }
    }

    /// The man pages, into a folder; without one the first of them.
    private func writeManual() throws {
        let pages = ManualPages.all(version: Banner.version)
        guard words.count < 2 else { throw OptionFault("hermes manual takes a folder") }
        guard let folder = words.first else { return print(pages[0].text, terminator: "") }
        for page in pages {
            let path = "\(folder)/\(page.file)"
            unlink(path)
            guard try TextFile.create(path, page.text, mode: 0o644) else {
                throw OptionFault("\(path) can't be written")
            }
        }
        print("\(pages.count) pages")
    }
}
