import Core
import Jobs
import Options
import Postgres
import Server
import Wire

/// `hermes jobs`: the queue as an operator sees it.
struct JobsCommand {
    private static let states = ["waiting", "running", "done", "dead", "cancelled"]

    var arguments = OwnArguments(flags: ["state", "kind", "limit", "url", "server"], switches: ["json", "no-wait"])
    /// Jobs of one kind alone, and what they are called; nil: all.
    var only: (kind: String, noun: String)?
    /// What tells one job from another in the table: the column's title, and its text.
    var column: (title: String, text: (JobQueue.Entry) -> String) = ("KIND", { $0.kind })

    /// Does it; answers what is to be printed.
    func run(_ options: ServerOptions) async throws -> String {
        let (words, told) = (arguments.words, arguments.told)
        let action = words.first ?? "list"
        switch action {
        case "list":
            guard words.count <= 1 else { throw OptionFault("hermes jobs list takes flags only") }
            if let state = told["state"], !JobsCommand.states.contains(state) {
                throw OptionFault("--state is one of \(JobsCommand.states.joined(separator: ", "))")
            }
            guard let limit = Int(told["limit"] ?? "50"), limit > 0 else { throw OptionFault("--limit is a number") }
            let (state, kind) = (told["state"], only?.kind ?? told["kind"])
            let entries = try await withDatabase(options) {
                try await JobQueue.list(state: state, kind: kind, limit: limit, in: $0)
            }
            return isJSON ? entries.map { JobsCommand.json($0).description + "\n" }.joined() : table(entries)
        case "show", "retry", "cancel":
            let noun = only?.noun ?? "job"
            guard words.count == 2, let id = Int64(words[1]) else {
                throw OptionFault("\(action) needs the number of a \(noun)")
            }
            let kind = only?.kind
            let (entry, isDone) = try await withDatabase(options) { database in
                let entry = try await JobQueue.entry(id, in: database)
                guard let entry, kind == nil || entry.kind == kind else { return (JobQueue.Entry?.none, false) }
                var isDone = true
                if action == "retry" { isDone = try await JobQueue.retry(id, in: database) }
                if action == "cancel" { isDone = try await JobQueue.cancel(id, in: database) }
                return (try await JobQueue.entry(id, in: database), isDone)
            }
            guard let entry else { throw OptionFault("there is no \(noun) \(id)") }
            guard isDone else { throw OptionFault("\(noun) \(id) is \(entry.state): there is nothing to \(action)") }
            return isJSON ? JobsCommand.json(entry).description + "\n" : JobsCommand.text(entry)
        default: throw OptionFault("hermes jobs can list, show, retry, cancel or run, not \"\(action)\"")
        }
    }

    private var isJSON: Bool { arguments.isOn("json") }

    /// The database of the options, or that of the private cluster, which must be running.
    private func withDatabase<Result: Sendable>(
        _ options: ServerOptions, _ body: @Sendable (Database) async throws -> Result
    ) async throws -> Result {
        let conninfo: String
        if let uri = options.databaseURI {
            conninfo = uri
        } else if let folder = Doctor.socketFolder(options.dataFolder + "/postgres") {
            conninfo = "host='\(folder)' port=5432 user=postgres dbname=\(PrivateDatabase.name)"
        } else {
            throw OptionFault(
                "no server runs in \(options.dataFolder); start hermes serve, or tell --data or --database-url")
        }
        let worker = Worker(name: "jobs")
        let result = try await worker.run { _, loop in
            let database = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
            do {
                let result = try await body(database)
                await database.close()
                return result
            } catch {
                await database.close()
                throw error
            }
        }
        await worker.stop()
        return result
    }

    // MARK: what is printed

    private static func fields(_ entry: JobQueue.Entry) -> [(key: String, value: JSON)] {
        let text = { (text: String?) in text.map { JSON.string($0) } }
        let date = { (date: Wire.Timestamp?) in date.map { JSON.string("\($0)") } }
        let all: [(String, JSON?)] = [
            ("id", .number(Double(entry.id))), ("kind", .string(entry.kind)), ("state", .string(entry.state)),
            ("run", .number(Double(entry.run))), ("failures", .number(Double(entry.failures))),
            ("key", text(entry.key)), ("node", text(entry.owner)), ("message", text(entry.message)),
            ("reason", text(entry.reason)), ("createdAt", date(entry.createdAt)), ("runAt", date(entry.runAt)),
            ("startedAt", date(entry.startedAt)), ("finishedAt", date(entry.finishedAt)),
            // What is sealed is nothing to be read.
            ("payload", .object(JSONObject(entry.payload.members.filter { $0.key != "sealed" }))),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    private static func json(_ entry: JobQueue.Entry) -> JSON { .object(JSONObject(fields(entry))) }

    private static func text(_ entry: JobQueue.Entry) -> String {
        fields(entry).map { name, value in
            let name = name + String(repeating: " ", count: 12 - name.count)
            return name + printable(value.string ?? value.description) + "\n"
        }.joined()
    }

    private func table(_ entries: [JobQueue.Entry]) -> String {
        guard !entries.isEmpty else { return "No \(only?.noun ?? "job")s.\n" }
        var rows = [["ID", column.title, "STATE", "RUN", "AT", "WHAT IT SAYS"]]
        for entry in entries {
            let says = (entry.state == "dead" ? entry.reason : entry.message ?? entry.reason) ?? ""
            rows.append([
                "\(entry.id)", JobsCommand.printable(column.text(entry)), entry.state, "\(entry.run)",
                "\(entry.finishedAt ?? entry.startedAt ?? entry.runAt)", String(JobsCommand.printable(says).prefix(80)),
            ])
        }
        let widths = (0..<5).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return (cells + [row[5]]).joined(separator: "  ") + "\n"
        }.joined()
    }

    /// On one line, and without what terminals obey.
    private static func printable(_ text: String) -> String {
        String(
            text.map {
                $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0
            })
    }
}
