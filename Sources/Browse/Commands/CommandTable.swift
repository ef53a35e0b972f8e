/// A command as its help, its man page and the shells' completions tell of it: all are made from this table.
public struct CommandDescription: Sendable {
    public struct Flag: Sendable {
        public var name: String
        /// What its value is called; nil for a switch.
        public var value: String?
        public var meaning: String
        /// The letter that stands for it behind one dash.
        public var short: Character?
        public init(_ name: String, _ value: String? = nil, _ meaning: String, short: Character? = nil) {
            self.name = name
            self.value = value
            self.meaning = meaning
            self.short = short
        }

        /// `-f, --follow`, `--limit N`
        var shown: String { (short.map { "-\($0), " } ?? "") + "--\(name)" + (value.map { " " + $0 } ?? "") }
    }
    public var name: String
    /// What may stand behind `hermes NAME`, one line each.
    public var forms: [String]
    public var summary: String
    public var details: String
    /// Words that may stand first behind the name.
    public var actions: [String]
    public var flags: [Flag]
    public var example: (line: String, output: String)
    /// Whether it takes the server's options (`--config`, `--data`, …).
    public var takesServerOptions: Bool

    public init(
        _ name: String, _ forms: [String], _ summary: String, details: String = "", actions: [String] = [],
        flags: [Flag] = [], example: (line: String, output: String), takesServerOptions: Bool = true
    ) {
        self.name = name
        self.forms = forms
        self.summary = summary
        self.details = details
        self.actions = actions
        self.flags = flags
        self.example = example
        self.takesServerOptions = takesServerOptions
    }

    /// What `hermes NAME --help` prints.
    public var help: String {
        var text =
            forms.map { "hermes \(name)\($0.isEmpty ? "" : " ")\($0)" }.joined(separator: "\n") + "\n\n\(summary)\n"
        if !details.isEmpty { text += "\n\(details)\n" }
        let flags = flags + (takesServerOptions ? CommandTable.serverFlags : [])
        if !flags.isEmpty {
            let shown = flags.map(\.shown)
            let width = shown.map(\.count).max() ?? 0
            text += "\n"
            for (flag, shown) in zip(flags, shown) {
                text += "  \(shown)\(String(repeating: " ", count: width - shown.count))  \(flag.meaning)\n"
            }
        }
        text += "\nExample:\n  $ \(example.line)\n"
        for line in example.output.split(separator: "\n") { text += "  \(line)\n" }
        return text
    }
}

public enum CommandTable {
    public typealias Flag = CommandDescription.Flag

    /// Where the server is; for the commands that ask one.
    public static let serverFlags = [
        Flag("url", "URL", "the server (HERMES_URL); else where the options make one listen"),
        Flag("data", "DIR", "the data folder, with keys.json (HERMES_DATA; .hermes)"),
        Flag("config", "FILE", "the server's configuration"),
    ]
    static let filter = Flag("where", "FILTER", "only what fits, as 'closed = false and author = @lucia'")
    static let json = Flag("json", nil, "JSON, an object a line")
    static let csv = Flag("csv", nil, "CSV, with a line of names")
    static let yes = Flag("yes", nil, "do not ask")
    static let dryRun = Flag("dry-run", nil, "say what would be done, and do nothing")

    public static let exitCodes: [(code: Int, meaning: String)] = [
        (0, "done"), (1, "failed"), (2, "the command or a filter is wrong"), (3, "not found"),
        (4, "no server, or not its key"), (5, "done in part"), (130, "interrupted by Ctrl-C"),
    ]

    public static subscript(name: String) -> CommandDescription? { all.first { $0.name == name } }

    public static let all: [CommandDescription] = [
        CommandDescription(
            "serve", ["[--port N] [--host ADDRESS] [--database-url URL] [--OPTION VALUE]..."], "Serves the API.",
            details: """
                Without configuration: makes its keys and a private PostgreSQL cluster in the data folder and listens on
                127.0.0.1, port 1337. `hermes options` lists all options.
                """,
            flags: Array(serverFlags.dropFirst()), example: ("hermes serve --port 1338", "Hermes is ready"),
            takesServerOptions: false),
        CommandDescription(
            "browse", ["[CLASS[:ID]] [--where FILTER] [--write | --read-only]"],
            "Looks at a server's data, and changes it, on the whole terminal.",
            details: """
                It begins with the read-only key, with which the server itself refuses every write; W writes after a
                question. ? shows all keys.
                """,
            flags: [
                filter, Flag("write", nil, "ask to write at once"), Flag("read-only", nil, "never write"),
            ],
            example: ("hermes browse Temas --where 'cerrado = false'", "")),
        CommandDescription(
            "query", ["CLASS [--where FILTER] [--order FIELD] [--keys A,B] [--limit N] [--json | --csv]"],
            "Prints objects of a class.",
            details: """
                A filter is made of: FIELD op VALUE with = != < <= > >= ~ (contains) ^= (begins) has (element, link);
                FIELD in (A, B), FIELD is missing, FIELD is set, FIELD near LAT,LON within N km, FIELD text WORD; and,
                or, not, brackets; {JSON}. Paths lead through pointers: author.username ^= lu. Values: 9, true, word,
                "quoted", 2026-11-01, -7d, @username, Class:id. Secrets are left out unless --keys names them.
                """,
            flags: [
                filter, Flag("order", "FIELD", "sorted by it; -FIELD descending (-createdAt)"),
                Flag("keys", "A,B", "these fields only"), Flag("limit", "N", "at most so many (100), or all"), json,
                csv,
            ],
            example: ("hermes query Temas --where 'comentarios > 9'", "Xk39dPq2Lm  El Camino en bici  31")),
        CommandDescription(
            "get", ["CLASS:ID [--json]"], "Prints one object.", flags: [json],
            example: ("hermes get Temas:Xk39dPq2Lm --json", #"{"objectId":"Xk39dPq2Lm","Tema":"El Camino en bici"}"#)),
        CommandDescription(
            "set", ["CLASS:ID FIELD=VALUE... [--unset FIELD,...] [--yes] [--dry-run]"], "Changes fields of an object.",
            details: """
                Values as the field's type asks: text as it stands, 9, true, 2026-11-01T08:00, -7d, latitude,longitude,
                an id or @username for pointers, '<path' for bytes and files, JSON for lists and objects. FIELD+=VALUE
                and FIELD-=VALUE add to and take from numbers, lists and relations.
                """,
            flags: [Flag("unset", "FIELD,...", "remove these fields' values"), yes, dryRun, json],
            example: ("hermes set Temas:Xk39dPq2Lm cerrado=true", "cerrado  false -> true")),
        CommandDescription(
            "create", ["CLASS FIELD=VALUE... [--yes] [--dry-run]"], "Makes an object.",
            details: "Values as in `hermes set`.", flags: [yes, dryRun, json],
            example: ("hermes create Normas orden=11 --yes", "Normas:b7Yt20PqLx")),
        CommandDescription(
            "delete", ["CLASS:ID... [--yes] [--dry-run]"], "Deletes objects, 1,000 at most.",
            details: "Hooks may delete more with them.", flags: [yes, dryRun],
            example: ("hermes delete Temas:Xk39dPq2Lm --yes", "deleted 1")),
        CommandDescription(
            "count", ["CLASS [--where FILTER]"], "Counts the objects of a class.", flags: [filter, json],
            example: ("hermes count Comentarios", "10000000")),
        CommandDescription(
            "classes", ["[--json | --csv]"], "Lists the classes.", flags: [json, csv],
            example: ("hermes classes", "Temas  11 fields  -> Foros, _User")),
        CommandDescription(
            "schema", ["show CLASS", "dump", "diff FILE", "apply FILE [--delete] [--yes] [--dry-run]"],
            "Shows and changes classes.",
            details: """
                FILE is what `hermes schema dump` prints: JSON as GET /schemas answers it. `diff` says what `apply` would
                do. Fields and classes that FILE has not are kept unless --delete is told.
                """,
            actions: ["show", "dump", "diff", "apply"],
            flags: [Flag("delete", nil, "remove what FILE has not, with its data"), yes, dryRun, json],
            example: ("hermes schema diff s.json", "+ Temas.fijado Boolean")),
        CommandDescription(
            "role",
            [
                "list", "show ROLE", "add ROLE USER... [--yes]", "remove ROLE USER... [--yes]", "create ROLE [--yes]",
                "delete ROLE [--yes]",
            ], "Shows and changes roles and who is in them.",
            actions: ["list", "show", "add", "remove", "create", "delete"], flags: [yes, dryRun, json],
            example: ("hermes role add moderadores lucia --yes", "5 members")),
        CommandDescription(
            "user",
            [
                "show NAME [--json]", "sessions NAME", "logout NAME [--yes]", "lock NAME [--yes]",
                "unlock NAME [--yes]", "password NAME", "export NAME", "delete NAME [--yes]",
            ], "Looks after one account.",
            details: """
                NAME is a username, a mail address or an objectId. `logout` ends all sessions; `lock` does too, and nobody
                can log in until `unlock`, which also ends a lockout after wrong passwords. `password` asks for a new
                one twice, unseen, or reads it from standard input, and ends all sessions. `export` prints as JSON all
                that is the account's own, `delete` deletes it for good: the application's hooks take part in both.
                """,
            actions: ["show", "sessions", "logout", "lock", "unlock", "password", "export", "delete"],
            flags: [yes, json],
            example: ("hermes user logout lucia --yes", "3 sessions ended")),
        CommandDescription(
            "config", ["[list] [--json]", "get NAME", "set NAME=VALUE... [--yes]", "unset NAME... [--yes]"],
            "Shows and changes the application's parameters.",
            details: "VALUE is JSON, or else text. --secret keeps a parameter for the master key.",
            actions: ["list", "get", "set", "unset"],
            flags: [Flag("secret", nil, "for the master key only"), yes, dryRun, json],
            example: ("hermes config set avisos=false --yes", "avisos  true -> false")),
        CommandDescription(
            "jobs",
            [
                "[list] [--state STATE] [--kind KIND] [--limit N] [--json]", "show ID", "retry ID", "cancel ID",
                "run NAME [PARAMETER=VALUE...] [--no-wait]",
            ], "Looks at the queue of jobs, and runs one of cloud code.",
            details: "All but `run` look into the database itself, and so must be told the server's options.",
            actions: ["list", "show", "retry", "cancel", "run"],
            flags: [
                Flag("state", "STATE", "waiting, running, done, dead or cancelled"),
                Flag("kind", "KIND", "of one kind"),
                Flag("limit", "N", "at most so many (50)"), Flag("no-wait", nil, "do not wait until it has ended"),
                json,
            ],
            example: ("hermes jobs run caducar", "succeeded")),
        CommandDescription(
            "mail",
            [
                "[list] [--state STATE] [--limit N] [--json]", "show ID", "retry ID", "give-up ID",
                "preview TEMPLATE [--language es] [--html]",
            ], "Looks at the mails of the queue, and at templates with made-up values.",
            actions: ["list", "show", "retry", "give-up", "preview"],
            flags: [
                Flag("state", "STATE", "waiting, running, done, dead or cancelled"),
                Flag("limit", "N", "at most so many (50)"), Flag("language", "LANGUAGE", "of the preview"),
                Flag("html", nil, "the preview as HTML"), json,
            ],
            example: ("hermes mail preview verifyEmail --language es", "Subject: Confirma...")),
        CommandDescription(
            "logs", ["[-f] [--level LEVEL] [--limit N] [--json]"], "Prints the last lines of a server's log.",
            details: """
                From the memory of the server that answers, about the last megabyte, and of warnings and errors more; a
                line for each request as `logLevel` says. Times are UTC. -f prints what comes until Ctrl-C, and waits for
                a server that is away.
                """,
            flags: [
                Flag("follow", nil, "go on with what comes", short: "f"),
                Flag("level", "LEVEL", "debug, info, warning or error, and worse"),
                Flag("limit", "N", "at most so many (50; 1,000 at most)"), json,
            ],
            example: (
                "hermes logs -f --level error", "2026-11-22 20:13:05.123 error    a request failed id=..."
            )),
        CommandDescription(
            "export",
            ["DIR [--lines] [--continue]", "CLASS.json | CLASS.jsonl", "CLASS FILE [--where FILTER] [--keys A,B]"],
            "Writes objects as JSON: the database's classes as Parse exported them, or what a server gives of one class.",
            details: """
                DIR gets a file for each class and relation, CLASS.json one class, straight from the database: all that
                objects have, password hashes and tokens included. CLASS FILE asks a server, an object a line, without
                secrets; FILE - is standard output; interrupted, it goes on where it stopped when it is typed again.
                """,
            flags: [
                filter, Flag("keys", "A,B", "these fields only"), Flag("lines", nil, "an object a line"),
                Flag("continue", nil, "leave the files that an interrupted export has written"),
            ],
            example: ("hermes export Temas t.jsonl", "1,000,000 objects")),
        CommandDescription(
            "import", ["DIR [--report FILE] [--restart]", "[CLASS] FILE [--report FILE] [--restart]"],
            "Reads an export of Parse, of Parse Server (mongoexport) or of Hermes into the database.",
            details: """
                Stopped, it goes on where it was when it is typed again. Exit status 5 where objects were refused: the
                report says which, and why. See docs/export.md.
                """,
            flags: [
                Flag("report", "FILE", "where what is refused is written (hermes-import-refused.jsonl)"),
                Flag("restart", nil, "begin at the files' start"),
            ] + serverFlags.dropFirst(),
            example: ("hermes import export-of-parse", "Temas  1,000,000, 0 refused"), takesServerOptions: false),
        CommandDescription(
            "backup", ["FILE [--without-keys]"], "Writes the whole database into one file while the server works.",
            details: "It holds secrets: docs/backup.md.",
            flags: [Flag("without-keys", nil, "leave the application's keys out")] + serverFlags.dropFirst(),
            example: (
                "hermes backup forum.backup", "forum.backup  1.2 GB, 14 classes, 10,000,000 objects, with the keys"
            ),
            takesServerOptions: false),
        CommandDescription(
            "restore", ["FILE [--check] [--json] [--without-keys]"],
            "Puts a backup into an empty data folder or database.",
            flags: [
                Flag("check", nil, "only look whether the file is whole"),
                Flag("without-keys", nil, "keep the keys that are told or there"), json,
            ] + serverFlags.dropFirst(),
            example: ("hermes restore forum.backup --data /var/lib/hermes", "restored 14 classes, 10,000,000 objects"),
            takesServerOptions: false),
        CommandDescription(
            "doctor", [""],
            "Says in one screen what is wrong with a set-up, and what to do; exit status 1 where something is.",
            flags: Array(serverFlags.dropFirst()),
            example: ("hermes doctor", "ok    database  PostgreSQL 15.14 answers"),
            takesServerOptions: false),
        CommandDescription(
            "cloud", ["check FILE"],
            "Loads a file of cloud code in JavaScript, lists what it registers and what it uses that is not there.",
            details: "Exit status 1 where something is missing.", actions: ["check"],
            example: ("hermes cloud check main.js", "beforeSave Temas"), takesServerOptions: false),
        CommandDescription(
            "options", ["[--markdown]"], "Lists all options of the server.",
            flags: [Flag("markdown", nil, "as docs/configuration.md")], example: ("hermes options", "port  1337  ..."),
            takesServerOptions: false),
        CommandDescription(
            "completion", ["bash | zsh | fish"], "Prints the completions for a shell.",
            actions: ["bash", "zsh", "fish"],
            example: ("source <(hermes completion bash)", ""), takesServerOptions: false),
        CommandDescription(
            "manual", ["[FOLDER]"], "Writes the man pages into a folder, or prints hermes(1).",
            example: ("hermes manual /usr/local/share/man/man1", "28 pages"), takesServerOptions: false),
        CommandDescription(
            "version", [""], "Prints the version.", example: ("hermes version", "hermes 0.1.0"),
            takesServerOptions: false),
        CommandDescription(
            "help", ["[COMMAND]"], "Prints this, or what a command is told.", example: ("hermes help query", ""),
            takesServerOptions: false),
    ]

    /// What `hermes help` prints.
    public static func overview(version: String) -> String {
        let width = all.map(\.name.count).max() ?? 0
        var text = "Hermes \(version): a backend that speaks the Parse protocol, over PostgreSQL\n\n"
        for command in all {
            text += "  hermes \(command.name)\(String(repeating: " ", count: width - command.name.count))  "
            text += command.summary.prefix { $0 != ";" } + "\n"
        }
        text += "\n`hermes COMMAND --help` tells of one. Exit status: "
        return text + exitCodes.map { "\($0.code) \($0.meaning)" }.joined(separator: ", ") + ".\n"
    }
}
