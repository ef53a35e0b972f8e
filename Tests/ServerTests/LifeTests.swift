import Core
import Glibc
import HTTP
import Options
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// How a server ends, and what it owes to clients whatever the route.
@Suite(.serialized) struct LifeTests {
    /// SIGTERM while a request waits for a row's lock: nobody new is let in, the request is finished, then the end.
    @Test func aRequestInFlightIsFinishedBeforeTheEnd() async throws {
        let folder = HermesProcess.makeFolder("drain")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            let server = try HermesProcess(folder: folder, conninfo: database.conninfo)
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            let id = try await client.create("Note", ["text": "old"])
            let sql = Database(loop: loop, configuration: database.configuration)
            let answered = Waiter()
            var reply: Reply?
            try await sql.transaction { transaction in
                _ = try await transaction.execute("SELECT FROM \"Note\" FOR UPDATE")
                loop.spawn {
                    reply = try? await client.send("PUT", "/classes/Note/\(id)", ["text": "new"], master: true)
                    answered.resume()
                }
                let waits = try await eventually(loop) { try await LifeTests.waiting(sql) == 1 }
                #expect(waits)
                server.child.signal(SIGTERM)
                let port = server.port
                let refuses = try await eventually(loop) {
                    try await blocking {
                        let connection = RawConnection(port: port)
                        connection.request("GET", "/parse/health")
                        return connection.answer() == ""
                    }
                }
                #expect(refuses)
                #expect(server.child.exitCode == nil)
            }
            try await answered.wait()
            #expect(reply?.status == 200)
            let exit = try await server.exit(within: 20)
            #expect(exit == 0, "\(server.printed)")
            let text = try await sql.read("SELECT text FROM \"Note\"").string(0, 0)
            #expect(text == "new")
            client.close()
            await sql.close()
        }
    }

    /// PostgreSQL hangs, with its machine or its disk, while the queue of jobs is being asked.
    @Test func aDatabaseThatHangsKeepsNoServerFromItsEnd() async throws {
        let folder = HermesProcess.makeFolder("hangs")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            let server = try HermesProcess(
                folder: folder, conninfo: database.conninfo,
                options: [("drainTimeout", 1), ("jobs", ["poll": 0.1])])
            try await server.waitUntilReady(loop)
            let sql = Database(loop: loop, configuration: database.configuration)
            let backends = try await sql.read(
                """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'hermes' AND pid <> pg_backend_pid()
                """)
            var stalled: [StalledBackend] = []
            for row in 0..<backends.count {
                stalled.append(try await StalledBackend(pid_t(backends.int(row, 0)), sql))
            }
            #expect(!stalled.isEmpty)
            // Several polls long: nothing tells that one hangs.
            try await loop.sleep(nanoseconds: 1_000_000_000)
            server.child.signal(SIGTERM)
            let exit = try await server.exit(within: 12)
            #expect(exit == 0, "\(server.printed)")
            for backend in stalled { backend.resume() }
            await sql.close()
        }
    }

    @Test func aSecondServerOnTheSameFolderIsRefused() async throws {
        let folder = HermesProcess.makeFolder("second")
        defer { removeFolder(folder) }
        try await onWorker { loop in
            let first = try HermesProcess(folder: folder)
            try await first.waitUntilReady(loop)
            let second = try HermesProcess(folder: folder, name: "second")
            let exit = try await second.exit(within: 20)
            #expect(exit == 1)
            #expect(second.printed.contains("\(folder)/data"), "\(second.printed)")
            #expect(!second.printed.contains("Fatal"))
            let client = Client(loop, port: first.port)
            _ = try await client.create("Note", ["text": "still here"])
            client.close()
            first.child.signal(SIGTERM)
            let end = try await first.exit(within: 20)
            #expect(end == 0)
            #expect(HermesProcess.postmaster(folder) == nil)
        }
    }

    /// The fault alone is told, not what its end does to the private cluster's connections.
    @Test func aStartThatFailsEndsQuietly() async throws {
        let folder = HermesProcess.makeFolder("fails")
        defer { removeFolder(folder) }
        let server = try HermesProcess(folder: folder, options: [("cloud", .string("\(folder)/none.js"))])
        let exit = try await server.exit(within: 60)
        #expect(exit == 1)
        #expect(server.printed.hasSuffix("hermes: \(folder)/none.js: there is no such file\n"), "\(server.printed)")
        #expect(!server.printed.contains("warning"), "\(server.printed)")
        #expect(HermesProcess.postmaster(folder) == nil)
    }

    @Test func mailsThatLeadNowhereAreWarnedOf() async throws {
        let folder = HermesProcess.makeFolder("links")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            for (address, warns) in [(nil, true), ("https://foro.example.com/parse", false)] as [(String?, Bool)] {
                var options: [(String, JSON)] = [
                    ("email", ["smtp": "smtp://127.0.0.1:9", "from": "foro@example.com"])
                ]
                if let address { options.append(("publicServerURL", .string(address))) }
                let server = try HermesProcess(folder: folder, conninfo: database.conninfo, options: options)
                try await server.waitUntilReady(loop)
                #expect(server.printed.contains("set publicServerURL") == warns, "\(server.printed)")
                server.child.signal(SIGTERM)
                let exit = try await server.exit(within: 20)
                #expect(exit == 0)
            }
        }
    }

    /// A client that goes away takes its statements along, reads and writes alike.
    @Test func theStatementOfAClientThatHasGoneIsCancelled() async throws {
        try await withServer { server in
            let id = try await server.client.create("Note", ["text": "old"])
            let (port, sql) = (server.client.port, server.sql)
            try await sql.transaction { transaction in
                _ = try await transaction.execute("SELECT FROM \"Note\" FOR UPDATE")
                let writer = try await blocking { () -> Held in
                    let connection = RawConnection(port: port)
                    connection.request(
                        "PUT", "/parse/classes/Note/\(id)", headers: ["X-Parse-Master-Key: \(TestServer.masterKey)"],
                        body: #"{"text":"new"}"#)
                    return Held(connection)
                }
                let waits = try await eventually(server.loop) { try await LifeTests.waiting(sql) == 1 }
                #expect(waits)
                writer.letGo()
                let isCancelled = try await LifeTests.nobodyWaits(sql, server.loop)
                #expect(isCancelled)
            }
            try await sql.transaction { transaction in
                _ = try await transaction.execute("LOCK TABLE \"Note\" IN ACCESS EXCLUSIVE MODE")
                let reader = try await blocking { () -> Held in
                    let connection = RawConnection(port: port)
                    connection.request("GET", "/parse/classes/Note")
                    return Held(connection)
                }
                let waits = try await eventually(server.loop) { try await LifeTests.waiting(sql) == 1 }
                #expect(waits)
                reader.letGo()
                let isCancelled = try await LifeTests.nobodyWaits(sql, server.loop)
                #expect(isCancelled)
            }
            let note = try await server.client.must("GET", "/classes/Note/\(id)")
            #expect(note.json["text"] == "old")
        }
    }

    /// For a while: a write that has waited for long leaves its round and waits anew by itself.
    private static func nobodyWaits(_ sql: Database, _ loop: Loop) async throws -> Bool {
        try await eventually(loop) {
            for _ in 0..<10 {
                guard try await waiting(sql) == 0 else { return false }
                try await loop.sleep(nanoseconds: 30_000_000)
            }
            return true
        }
    }

    /// How many of the server's backends wait for a lock.
    private static func waiting(_ sql: Database) async throws -> Int {
        let rows = try await sql.read(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'
            """)
        return Int(rows.int(0, 0))
    }

    @Test func theMasterKeyIsBoundToAddresses() async throws {
        let elsewhere = try AddressSet(["10.0.0.0/8"])
        try await withServer { options in
            options.masterKeyIps = elsewhere
        } _: { server in
            let refused = try await server.client.send("GET", "/schemas", master: true)
            #expect(refused.status == 403)
            // An address that a client only claims to have counts for nothing.
            let claimed = try await server.client.send(
                "GET", "/schemas", master: true, headers: [("X-Forwarded-For", "10.0.0.1")])
            #expect(claimed.status == 403)
            try await server.client.must("GET", "/health")
        }
    }

    private func metrics(port: Int, _ headers: [String]) async throws -> String {
        try await blocking {
            let connection = RawConnection(port: port)
            connection.request("GET", "/metrics", headers: headers)
            return connection.answer()
        }
    }

    @Test func metricsAreForOperatorsOnly() async throws {
        let key = ["Authorization: Bearer \(TestServer.masterKey)"]
        let elsewhere = try AddressSet(["10.0.0.1"])
        try await withServer { options in
            options.masterKeyIps = elsewhere
        } _: { server in
            let answer = try await metrics(port: server.client.port, key)
            #expect(answer.hasPrefix("HTTP/1.1 403"))
        }
        try await withServer { server in
            _ = try await server.client.create("Note", ["text": "x"])
            for wrong in [[], ["Authorization: Bearer guess"], ["Authorization: Basic dGVzdDpndWVzcw=="]] {
                let refused = try await metrics(port: server.client.port, wrong)
                #expect(refused.hasPrefix("HTTP/1.1 403"))
            }
            let answer = try await metrics(port: server.client.port, key)
            #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("text/plain; version=0.0.4"))
            #expect(answer.contains("hermes_requests_total{status=\"2xx\"}"))
            #expect(answer.contains("hermes_request_seconds_count"))
        }
    }

    @Test func headOptionsAndCompressionAreServed() async throws {
        try await withServer { server in
            for index in 0..<50 {
                _ = try await server.client.create("Note", ["text": .string("note number \(index)")])
            }
            let whole = try await server.client.must("GET", "/classes/Note")
            let head = try await server.client.send("HEAD", "/classes/Note")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.header("Content-Length") == String(whole.body.count))
            let options = try await server.client.send("OPTIONS", "/classes/Note")
            #expect(options.status == 200)
            #expect(options.header("Access-Control-Allow-Origin") == "*")
            #expect(options.header("Access-Control-Allow-Methods")?.contains("PUT") == true)
            let packed = try await server.client.send("GET", "/classes/Note", headers: [("Accept-Encoding", "gzip")])
            #expect(packed.header("Content-Encoding") == "gzip")
            #expect(packed.body.starts(with: [0x1f, 0x8b]) && packed.body.count < whole.body.count / 2)
            #expect(whole.header("Content-Encoding") == nil)
        }
    }

    @Test func oneConnectionServesManyRequests() async throws {
        try await withServer { server in
            _ = try await server.client.create("Note", ["text": "x"])
            let port = server.client.port
            let answers = try await blocking {
                let connection = RawConnection(port: port)
                var answers: [String] = []
                for _ in 0..<20 {
                    connection.request("GET", "/parse/classes/Note")
                    answers.append(connection.answer())
                }
                // Several at once: answered in their order.
                connection.request("GET", "/parse/health")
                connection.request("GET", "/parse/classes/Note?limit=0&count=1")
                connection.request("HEAD", "/parse/classes/Note")
                connection.request("GET", "/parse/health")
                return answers + [
                    connection.answer(), connection.answer(), connection.answer(hasBody: false), connection.answer(),
                ]
            }
            #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 200") })
            #expect(answers[20].contains("\"status\":\"ok\"") && answers[21].contains("\"count\":1"))
            #expect(answers[23].contains("\"status\":\"ok\""))
        }
    }
}

/// Carries a connection from the thread that made it to the test, which only lets it go.
/// - Safety: the one reference moves; nothing else holds the connection.
private final class Held: @unchecked Sendable {
    private var connection: RawConnection?
    init(_ connection: RawConnection) { self.connection = connection }
    func letGo() { connection = nil }
}
