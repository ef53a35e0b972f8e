import Core
import Foundation
import Glibc
import HTTP
import Jobs
import Mail
import Postgres
import Schema
import Store
import TestSupport
import Testing
import Wire

/// `kill -9` of the server in the middle of each step of a delivery: the mail arrives, and is accepted once.
@Suite struct MailKillTests {
    /// A mail in the queue, and a server on its way to deliver it.
    private struct Scene {
        let folder: String
        let conninfo: String
        let database: Database
        let postbox: Postbox
        let first: HermesProcess
        /// The mail's job.
        let id: Int64

        /// Another server on the same database, which sends to the same postbox.
        func hermes(_ name: String) throws -> HermesProcess {
            try MailKillTests.hermes(folder, name, conninfo, postbox)
        }
    }

    private static func withMail(
        _ name: String, to address: String, _ body: @escaping @Sendable (Scene) async throws -> Void
    ) async throws {
        let folder = HermesProcess.makeFolder("mail-kill-\(name)")
        defer { removeFolder(folder) }
        let test = try await TestDatabase.make(template: .migrated)
        try await test.withDatabase { _, database in
            SignalSource.ignoreBrokenPipes()
            let postbox = try await Postbox.open(database.loop)
            defer { postbox.remove() }
            let first = try hermes(folder, "one", test.conninfo, postbox)
            try await first.waitUntilReady(database.loop)
            let id = try await send(to: address, database)
            try await body(
                Scene(
                    folder: folder, conninfo: test.conninfo, database: database, postbox: postbox, first: first, id: id)
            )
            try await postbox.stop()
        }
    }

    /// A server that sends to a postbox.
    private static func hermes(
        _ folder: String, _ name: String, _ conninfo: String, _ postbox: Postbox
    ) throws -> HermesProcess {
        try HermesProcess(
            folder: folder, name: name, conninfo: conninfo,
            options: [
                ("email", ["smtp": .string(postbox.url), "from": "Foro <foro@example.com>"]), ("appName", "Foro"),
                ("jobs", ["lease": 2, "poll": 0.1]), ("workers", 1), ("drainTimeout", 1),
            ])
    }

    /// Puts a mail into the queue as another node of the same set-up would.
    private static func send(to address: String, _ database: Database) async throws -> Int64 {
        let options = MailOptions(
            server: try SMTPServer("smtp://127.0.0.1"), from: try MailSender("foro@example.com"), appName: "Foro",
            templates: try MailTemplates(), masterKey: TestServer.masterKey)
        let store = Store(
            catalogue: Catalogue(database: database, cache: SchemaCache()), database: database, options: StoreOptions(),
            denylist: try KeywordDenylist(), hooks: Hooks([])
        ) { _, _ in }
        let outcome = try await Mailer(options).send(
            Mail(to: address, .passwordReset, values: ["link": "https://foro.example.com/r?token=secreto77"]),
            in: store.operation(as: .master))
        guard case .queued(let id) = outcome else { throw Postbox.Failure("\(outcome)") }
        return id
    }

    /// The SMTP server has said 250, and Hermes is killed before that is written down: the mail comes again, as the
    /// same mail.
    @Test func aMailWhoseAcceptanceIsLostComesTwiceAndNeverNot() async throws {
        try await MailKillTests.withMail("commit", to: "wait-dot.1.ana@example.com") { scene in
            let (database, postbox, first, id) = (scene.database, scene.postbox, scene.first, scene.id)
            let loop = database.loop
            try await until(loop) { !postbox.events("waiting").isEmpty }
            try await database.transaction { transaction in
                // The job's end waits for this.
                _ = try await transaction.execute("SELECT 1 FROM \"_Job\" WHERE \"id\" = $1 FOR UPDATE", [.int(id)])
                _ = FileManager.default.createFile(atPath: postbox.folder + "/go", contents: nil)
                try await until(loop) { postbox.letters.count == 1 }
                try await until(loop) { try await MailKillTests.commits(database).count > 0 }
                first.child.signal(SIGKILL)
                _ = try await first.exit(within: 60)
                // What PostgreSQL has heard already is not to stand either.
                for process in try await MailKillTests.commits(database) {
                    _ = try await database.write("SELECT pg_terminate_backend($1::int)", [.int(process)])
                }
                try await until(loop) { try await MailKillTests.commits(database).isEmpty }
            }
            let second = try scene.hermes("two")
            try await until(loop) { try await JobQueue.entry(id, in: database)?.state == "done" }
            #expect(postbox.letters.count == 2)
            let identities = postbox.letters.map { $0.header("Message-ID") ?? "" }
            #expect(Set(identities).count == 1 && identities[0].hasPrefix("<\(id)."), "\(identities)")
            #expect(postbox.letters.allSatisfy { $0.text.contains("token=secreto77") })
            second.child.signal(SIGTERM)
            _ = try await second.exit(within: 60)
        }
    }

    /// PostgreSQL's processes that wait to write down how a job has ended. Leases that are renewed wait as well.
    private static func commits(_ database: Database) async throws -> [Int64] {
        let rows = try await database.read(
            """
            SELECT pid::bigint FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                AND query LIKE '%"finishedAt"%'
            """)
        return (0..<rows.count).map { rows.int($0, 0) }
    }

    @Test(arguments: ["rcpt", "data", "dot"], [SIGKILL, SIGTERM])
    func aMailOutlivesItsServer(step: String, signal: Int32) async throws {
        try await MailKillTests.withMail("\(step)-\(signal)", to: "hold-\(step).1.ana@example.com") { scene in
            let (database, postbox, first, id) = (scene.database, scene.postbox, scene.first, scene.id)
            let loop = database.loop
            let isHeld = try await eventually(loop) { !postbox.events("held-\(step)").isEmpty }
            #expect(isHeld, "\(first.printed)")
            first.child.signal(signal)
            let second = try scene.hermes("two")
            let isDone = try await eventually(loop) {
                try await JobQueue.entry(id, in: database)?.state == "done"
            }
            #expect(isDone, "\(second.printed)")
            #expect(postbox.letters.count == 1)
            #expect(postbox.letters.first?.text.contains("token=secreto77") == true)
            // What a receiver sees twice is the same mail.
            #expect(Set(postbox.events("dot").map { $0["id"]?.string }).count == 1)
            for server in [first, second] {
                server.child.signal(SIGTERM)
                _ = try await server.exit(within: 60)
                #expect(!server.printed.contains("secreto77"))
            }
        }
    }
}
