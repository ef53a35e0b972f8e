import Cloud
import Core
import Foundation
import Glibc
import HTTP
import Options
import Postgres
import Schema
import TestSupport
import Wire

@testable import Server

/// Servers under test, each with a client of its own, on one database of their own.
struct TestServer {
    let loop: Loop
    let nodes: [Node]
    let clients: [Client]
    /// The test's own way to the database.
    let sql: Database
    /// The client of the first node.
    var client: Client { clients[0] }

    static let appId = HermesProcess.appId
    static let masterKey = HermesProcess.masterKey

    /// Object by object what the table of a class holds, asked with the master key.
    func all(_ className: String) async throws -> [JSONObject] {
        let reply = try await client.send("GET", "/classes/\(className)?limit=10000", master: true)
        return reply.json["results"]?.array?.compactMap(\.object) ?? []
    }
}

/// Starts `count` nodes on a new database, each on a free port with `workers` threads, and runs `body` on a worker of
/// its own with a client for each; then stops all.
///
/// - Parameters:
///   - conninfo: A database to use instead of a new one.
///   - routes: Served in place of the API's.
///   - cloud: What an application adds, on each node.
func withServer(
    nodes count: Int = 1, workers: Int = 1, conninfo given: String? = nil, routes: RouteTable? = nil,
    cloud: CloudCode = CloudCode(),
    _ configure: @Sendable (inout ServerOptions) -> Void = { _ in },
    _ body: @Sendable (TestServer) async throws -> Void
) async throws {
    // A client that has gone must be an error of the write, not the end of the tests.
    SignalSource.ignoreBrokenPipes()
    Log.shared.configure(level: .error, format: .text)
    let database = given == nil ? try await TestDatabase.make(template: .migrated) : nil
    let conninfo = given ?? database?.conninfo ?? ""
    var options = ServerOptions()
    options.appId = TestServer.appId
    options.masterKey = TestServer.masterKey
    options.port = 0
    options.drainTimeout = 5
    // What a busy machine makes slow is no failure: whoever tests a time limit sets it.
    options.database.statementTimeout = 240
    options.database.waitTimeout = 60
    configure(&options)
    var nodes: [Node] = []
    for index in 0..<count { nodes.append(try makeNode(index, options, conninfo, workers, routes)) }
    for node in nodes { node.cloud.set(cloud, of: .swift) }
    let started = nodes
    let worker = Worker(name: "client")
    var failure: (any Error)?
    do {
        for node in started { try await node.start() }
        try await worker.run { _, loop in
            let clients = started.map { Client(loop, port: $0.port) }
            defer { clients.forEach { $0.close() } }
            let sql = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
            do {
                try await body(TestServer(loop: loop, nodes: started, clients: clients, sql: sql))
                await sql.close()
            } catch {
                await sql.close()
                throw error
            }
        }
    } catch {
        failure = error
    }
    for node in started { await node.drain() }
    await worker.stop()
    withExtendedLifetime(database) {}
    if let failure { throw failure }
}

/// Its connections carry its name, `node0`, `node1`…, in pg_stat_activity.
private func makeNode(
    _ index: Int, _ options: ServerOptions, _ conninfo: String, _ workers: Int, _ routes: RouteTable?
) throws -> Node {
    var configuration = DatabaseConfiguration(conninfo + " application_name=node\(index)")
    configuration.statementTimeout = .seconds(options.database.statementTimeout)
    configuration.waitBound = .seconds(options.database.waitTimeout)
    return try Node(
        options: options, database: configuration, workers: workers, routes: routes ?? .standard)
}
