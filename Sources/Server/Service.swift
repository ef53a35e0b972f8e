import Accounts
import Core
import Glibc
import HTTP
import Postgres
import Schema
import Store
import Wire

/// The server's life, from its options to its end.
public enum Service {
    /// Serves until SIGTERM or SIGINT, then drains.
    ///
    /// - Parameter ready: called with the port once connections are accepted.
    public static func run(_ options: Options, ready: @escaping @Sendable (Int) -> Void = { _ in }) async throws {
        SignalSource.block([SIGTERM, SIGINT, SIGHUP, SIGPIPE])
        var cluster: PrivateCluster?
        var conninfo = options.databaseURI ?? ""
        let count = options.workers ?? max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        if options.databaseURI == nil {
            var clusterOptions = PrivateCluster.Options(dataFolder: options.dataFolder)
            clusterOptions.maxConnections = max(200, count * (options.database.ownedConnections + 12) + 20)
            let started = try PrivateCluster.start(clusterOptions)
            cluster = started
            try started.createDatabase("hermes")
            conninfo = started.conninfo(database: "hermes")
        }
        defer { cluster?.stop() }
        var databaseOptions = DatabaseConfiguration(conninfo)
        databaseOptions.sharedConnections = options.database.sharedConnections
        databaseOptions.ownedLimit = options.database.ownedConnections
        databaseOptions.statementTimeout = .seconds(options.database.statementTimeout)
        databaseOptions.waitBound = .seconds(options.database.waitTimeout)

        let node = try Node(options: options, database: databaseOptions, workers: count)
        try await node.migrate()
        try await node.start()
        ready(node.port)
        await node.waitForEnd()
        await node.drain()
    }
}

/// One running server: its workers, its listener, and what the workers share.
final class Node: Sendable {
    let options: Options
    private let database: DatabaseConfiguration
    private let workers: [Worker]
    private let listener: Listener
    private let schema = SchemaCache()
    private let viewers = ViewerCache()
    private let denylist: KeywordDenylist
    private let end = Waiter()

    var port: Int { listener.port }

    init(options: Options, database: DatabaseConfiguration, workers: Int) throws {
        var options = options
        var limits = HTTPServer.Limits()
        limits.headSize = options.http.maxHeadSize.bytes
        limits.bodySize = options.maxUploadSize.bytes
        limits.headTimeout = UInt64(options.http.headTimeout * 1e9)
        limits.idleTimeout = UInt64(options.http.idleTimeout * 1e9)
        limits.connections = options.http.maxConnections
        limits.connectionsPerAddress = options.http.maxConnectionsPerAddress
        listener = try Listener(host: options.host, port: options.port, limits: limits)
        let host = options.host == "0.0.0.0" || options.host == "::" ? "localhost" : options.host
        options.serverURL = options.serverURL ?? "http://\(host):\(listener.port)\(options.mountPath)"
        self.options = options
        self.database = database
        denylist = try KeywordDenylist(options.requestKeywordDenylist.map(\.json))
        self.limits = limits
        self.workers = (0..<workers).map { Worker(index: $0) }
    }

    private let limits: HTTPServer.Limits

    /// Brings the database to what this program needs.
    func migrate() async throws {
        let configuration = database
        try await workers[0].run { _, loop in
            let database = Database(loop: loop, configuration: configuration)
            defer { loop.spawn { await database.close() } }
            _ = try await Migrator().run(database)
        }
    }

    /// Starts each worker's service, then listens.
    func start() async throws {
        for worker in workers {
            try await worker.run { _, loop in
                let service = try WorkerService(loop: loop, node: self)
                try await service.prepare()
                loop.keep(service)
            }
        }
        let end = end
        await workers[0].run { _, loop in
            let signals = SignalSource([SIGTERM, SIGINT], loop: loop) { _ in end.resume() }
            loop.keep(signals)
            self.listener.start(on: loop)
        }
    }

    func waitForEnd() async { try? await end.wait() }

    /// Stops accepting, finishes what runs, closes.
    func drain() async {
        await workers[0].run { _, loop in self.listener.stop(on: loop) }
        let patience = UInt64(options.drainTimeout * 1e9)
        await withTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask {
                    await worker.run { _, loop in
                        await loop.first(WorkerService.self)?.drain(atMost: patience)
                    }
                    await worker.stop()
                }
            }
        }
    }

    // MARK: for the workers

    func makeServer(_ loop: Loop, _ handler: @escaping HTTPServer.Handler) throws -> HTTPServer {
        let server = try HTTPServer(loop: loop, limits: limits, handler: handler)
        listener.add(server)
        return server
    }

    func makeAPI(_ database: Database) -> API {
        var storeOptions = StoreOptions()
        storeOptions.defaultLimit = options.defaultLimit
        storeOptions.maxLimit = options.maxLimit
        storeOptions.subqueryLimit = options.requestComplexity.subqueryLimit.value
        storeOptions.allowsClientClassCreation = options.allowClientClassCreation
        storeOptions.allowsCustomObjectIds = options.allowCustomObjectId
        storeOptions.objectIdSize = options.objectIdSize
        storeOptions.sanitizesErrors = options.enableSanitizedErrorResponse
        storeOptions.ownersSeeProtectedFields = options.protectedFieldsOwnerExempt
        storeOptions.saveAnswersShowProtectedFields = options.protectedFieldsSaveResponseExempt
        storeOptions.fileURLPrefix = "\(options.publicServerURL ?? options.serverURL ?? "")/files/\(options.appId)/"
        let protected = options.protectedFields.mapValues { byPrincipal in
            JSONObject(byPrincipal.sorted { $0.key < $1.key }.map { ($0.key, .array($0.value.map { .string($0) })) })
        }
        let catalogue = Catalogue(
            database: database, cache: schema, serverProtectedFields: protected,
            allowsCustomObjectIds: options.allowCustomObjectId)
        let store = Store(catalogue: catalogue, database: database, options: storeOptions)
        var accountOptions = AccountOptions()
        accountOptions.sessionLength = options.sessionLength
        accountOptions.sessionsExpire = options.expireInactiveSessions
        accountOptions.passwordChangeEndsSessions = options.revokeSessionOnPasswordReset
        accountOptions.allowsAnonymousUsers = options.enableAnonymousUsers
        accountOptions.usersArePrivate = options.enforcePrivateUsers
        accountOptions.lowercasesEmail = options.convertEmailToLowercase
        accountOptions.lowercasesUsername = options.convertUsernameToLowercase
        let accounts = Accounts(store: store, options: accountOptions, cache: viewers)
        return API(options: options, accounts: accounts, denylist: denylist)
    }

    func makeDatabase(_ loop: Loop) -> Database { Database(loop: loop, configuration: database) }
}

/// What one worker serves with.
final class WorkerService {
    private let database: Database
    private let api: API
    private let server: HTTPServer

    init(loop: Loop, node: Node) throws {
        let database = node.makeDatabase(loop)
        let api = node.makeAPI(database)
        let mount = MountPath(node.options.mountPath)
        // An async closure that captures something weakly would leave the worker's thread (a fault of Swift 6.3): so
        // it captures only what it needs, and none of that refers back to the server.
        server = try node.makeServer(loop) { request, responder in
            await WorkerService.serve(request, responder, api, mount)
        }
        self.database = database
        self.api = api
    }

    /// Reads the schema and begins to follow what other nodes change.
    func prepare() async throws {
        api.store.catalogue.follow()
        api.accounts.follow()
        try await api.store.catalogue.reload()
    }

    private static func serve(
        _ request: HTTPRequest, _ responder: HTTPResponder, _ api: API, _ mount: MountPath
    ) async {
        guard let path = mount.split(request.path) else {
            let answer = Answer(
                status: 404, json: ["error": "There is nothing here. The API is below the mount path."])
            responder.respond(
                status: answer.status, headers: [("Content-Type", "application/json")], body: answer.body)
            return
        }
        let answer = await api.answer(request, path: path)
        responder.respond(status: answer.status, headers: answer.headers, body: answer.body)
    }

    func drain(atMost patience: UInt64) async {
        server.stopAccepting()
        await server.drain(atMost: patience)
        server.stop()
        await database.close()
    }
}
