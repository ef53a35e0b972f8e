import Core
import HTTP
import Postgres
import Schema
import Store
import TestSupport
import Wire

@testable import Jobs
@testable import Mail

/// A database, an SMTP server and nodes that send to it, all on one worker.
final class MailBench {
    let test: TestDatabase
    let database: Database
    let store: Store
    var postbox: Postbox
    var loop: Loop { database.loop }
    private var runners: [JobRunner] = []
    private var databases: [Database] = []

    init(_ test: TestDatabase, _ database: Database, _ postbox: Postbox) throws {
        self.test = test
        self.database = database
        self.postbox = postbox
        store = try MailBench.store(database)
    }

    static func store(_ database: Database) throws -> Store {
        Store(
            catalogue: Catalogue(database: database, cache: SchemaCache()), database: database, options: StoreOptions(),
            denylist: try KeywordDenylist(), hooks: Hooks([])
        ) { _, _ in }
    }

    static let masterKey = "la clave maestra de las pruebas"

    func mailer(_ url: String? = nil, _ configure: (inout MailOptions) -> Void = { _ in }) throws -> Mailer {
        var options = MailOptions(
            server: try SMTPServer(url ?? postbox.url), from: try MailSender("Foro de viajes <foro@example.com>"),
            appName: "Foro de viajes", templates: try MailTemplates(), masterKey: MailBench.masterKey)
        options.hourlyPerAddress = 1000
        configure(&options)
        return Mailer(options)
    }

    /// Starts a node that sends. Pauses are short; where leases are not what a test is about, none ends.
    @discardableResult
    func node(_ mailer: Mailer, _ configure: (inout JobKind) -> Void = { _ in }) throws -> JobRunner {
        let database = Database(loop: loop, configuration: test.configuration)
        databases.append(database)
        var options = JobRunner.Options()
        options.poll = .milliseconds(50)
        options.lease = .seconds(120)
        let runner = JobRunner(store: try MailBench.store(database), options: options)
        var kind = mailer.jobKind
        kind.backoff = JobBackoff(first: .milliseconds(20), longest: .milliseconds(100))
        configure(&kind)
        runner.register(kind)
        runner.start()
        runners.append(runner)
        return runner
    }

    /// Asks for a mail; its job's id.
    func send(_ mail: Mail, by mailer: Mailer) async throws -> Int64 {
        let outcome = try await mailer.send(mail, in: store.operation(as: .master))
        guard case .queued(let id) = outcome else { throw Postbox.Failure("\(outcome)") }
        return id
    }

    /// What has become of a mail once that is settled.
    func ended(_ id: Int64) async throws -> JobQueue.Entry {
        var entry: JobQueue.Entry?
        _ = try await eventually(loop) {
            entry = try await JobQueue.entry(id, in: database)
            return ["done", "dead", "cancelled"].contains(entry?.state)
        }
        guard let entry else { throw Postbox.Failure("there is no job \(id)") }
        return entry
    }

    func end() async {
        for runner in runners { await runner.stop(grace: .zero) }
        for database in databases { await database.close() }
        try? await postbox.stop()
        postbox.remove()
    }
}

func withMail(
    _ arguments: [String] = [], _ body: @Sendable (MailBench) async throws -> Void
) async throws {
    SignalSource.ignoreBrokenPipes()
    Log.shared.configure(level: .error, format: .text)
    let test = try await TestDatabase.make(template: .migrated)
    try await test.withDatabase { _, database in
        let postbox = try await Postbox.open(database.loop, arguments)
        let bench = try MailBench(test, database, postbox)
        do {
            try await body(bench)
            await bench.end()
        } catch {
            await bench.end()
            throw error
        }
    }
}

extension Mail {
    static let link = "https://foro.example.com/apps/foro/verify_email?token=Xz9secretoToken12"

    static func verification(to address: String, language: String? = nil) -> Mail {
        Mail(to: address, .verifyEmail, values: ["link": link], language: language)
    }
}
