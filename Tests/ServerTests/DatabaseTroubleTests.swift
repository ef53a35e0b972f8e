import Core
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// What clients and the log are told when the database does not serve.
@Suite(.serialized) struct DatabaseTroubleTests {
    /// The primary's address leads to a replica for a while.
    @Test func aDatabaseThatTakesNoWritesIsOneToTryAgain() async throws {
        try await withTrouble("read-only") { loop, server, client, database in
            try database.cluster.execute("ALTER DATABASE \(database.name) SET default_transaction_read_only = on")
            try database.cluster.execute(Self.endConnections(database))
            for text in ["one", "two", "three"] {
                let reply = try await client.send("POST", "/classes/Note", ["text": .string(text)], master: true)
                #expect(reply.status == 503, "\(reply.text)")
                #expect(reply.header("Retry-After") == "1")
            }
            #expect(server.printed.matches(of: /requests are refused.*25006/).count == 1, "\(server.printed)")
            try database.cluster.execute("ALTER DATABASE \(database.name) RESET default_transaction_read_only")
            let serves = try await eventually(loop) {
                try await client.send("POST", "/classes/Note", ["text": "four"], master: true).status == 201
            }
            #expect(serves)
        }
    }

    @Test func theLogSaysWhyTheDatabaseIsNotReachedAndWhenItIsAgain() async throws {
        try await withTrouble("unreached") { loop, server, client, database in
            try database.cluster.execute("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS false")
            try database.cluster.execute(Self.endConnections(database))
            for _ in 0..<3 {
                let reply = try await client.send("GET", "/classes/Note", master: true)
                #expect(reply.status == 503, "\(reply.text)")
            }
            #expect(server.printed.matches(of: /PostgreSQL is no longer reached/).count == 1)
            let reasons = server.printed.matches(of: /requests are refused.*not currently accepting connections/)
            #expect(reasons.count == 1, "\(server.printed)")
            try database.cluster.execute("ALTER DATABASE \(database.name) ALLOW_CONNECTIONS true")
            let isSaid = try await eventually(loop) { server.printed.contains("PostgreSQL is reached again") }
            #expect(isSaid)
            // What reads has its own pauses between two tries.
            let serves = try await eventually(loop) {
                try await client.send("GET", "/classes/Note", master: true).status == 200
            }
            #expect(serves)
        }
    }

    @Test func troubleFillsNoLog() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let writer = try FileHandle(forWritingTo: file)
        let log = Log(descriptor: writer.fileDescriptor)
        let troubles = DatabaseTroubles(log: log)
        let full = PostgresError(.server, "No space left on device", sqlState: "53100")
        let second: UInt64 = 1_000_000_000
        for number in 0..<1000 { troubles.note(full, now: 100 * second + UInt64(number)) }
        troubles.note(PostgresError(.unavailable, "Connection refused"), now: 101 * second)
        troubles.note(full, now: 111 * second)
        log.flush()
        try writer.close()
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 3, "\(lines)")
        #expect(lines.first?.hasSuffix(#"refused=1 error="53100: No space left on device""#) == true, "\(lines)")
        #expect(lines.last?.contains("refused=1000 ") == true, "\(lines)")
    }

    private static func endConnections(_ database: TestDatabase) -> String {
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'"
    }

    private func withTrouble(
        _ name: String, _ body: @Sendable (Loop, HermesProcess, Client, TestDatabase) async throws -> Void
    ) async throws {
        let folder = HermesProcess.makeFolder(name)
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            let server = try HermesProcess(
                folder: folder, conninfo: database.conninfo, options: [("database", ["waitTimeout": 0.5])])
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            _ = try await client.create("Note", ["text": "first"])
            try await body(loop, server, client, database)
            client.close()
            server.child.signal(SIGTERM)
            let exit = try await server.exit(within: 20)
            #expect(exit == 0)
        }
    }
}
