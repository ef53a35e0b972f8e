import Core
import HTTP
import Options
import Postgres
import Schema
import Wire

/// What one worker serves with: its HTTP server, its database connections, its API.
final class WorkerServer {
    private let database: Database
    private let api: API
    private let server: HTTPServer
    private var builder: IndexBuilder?

    init(loop: Loop, node: Node) throws {
        let database = node.makeDatabase(loop)
        let api = node.makeAPI(database)
        let entrance = Entrance(api: api, options: node.options)
        // An async closure that captures something weakly would leave the worker's thread (a fault of Swift 6.3): so
        // it captures only what it needs, and none of that refers back to the server.
        server = try node.makeServer(loop) { request, responder in await entrance.serve(request, responder) }
        server.bodyMode = { request in entrance.bodyMode(request) }
        server.answerRefusals(CORS(node.options))
        server.onRefusal = { request, refusal, bytes in entrance.refused(request, refusal, bytes: bytes) }
        self.database = database
        self.api = api
    }

    /// Reads the schema and begins to follow what other nodes change.
    func prepare() async throws {
        api.store.catalogue.follow()
        api.accounts.follow()
        api.globalConfig.follow(database)
        try await api.store.catalogue.reload()
    }

    /// What is done once a node, before it serves: reads the webhooks and begins to follow what other nodes change.
    func prepareNode() async throws {
        api.hookTable.follow(database)
        try await api.hookTable.reload(database)
    }

    /// Begins to build the indexes that are asked for. Called on one worker.
    func buildIndexes(_ configuration: DatabaseConfiguration) {
        let builder = IndexBuilder(loop: database.loop, configuration: configuration)
        builder.start(notifications: database)
        self.builder = builder
    }

    func reload(_ tls: TLS) throws { try server.reload(tls: tls) }

    /// Forgets what no longer has to be remembered. Called now and then, on one worker.
    func tidy() async throws { try await api.forgetOldRequests() }

    func drain(atMost patience: UInt64) async {
        server.stopAccepting()
        await builder?.stop()
        await server.drain(atMost: patience)
        server.stop()
        await database.close()
    }
}
