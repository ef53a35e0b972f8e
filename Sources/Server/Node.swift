import Accounts
import Cloud
import Core
import Glibc
import HTTP
import Mail
import Options
import Postgres
import Schema
import Store
import Synchronization
import Wire

/// One running server: its workers, its listener, and what the workers share.
final class Node: Sendable {
    let options: ServerOptions
    private let database: DatabaseConfiguration
    private let workers: [Worker]
    private let listener: Listener
    private let schema = SchemaCache()
    private let viewers = ViewerCache()
    private let notifications: NodeListener
    private let denylist: KeywordDenylist
    private let mailer: Mailer?
    private let accountOptions: AccountOptions
    private let ownPages: OwnPages
    private let routes: RouteTable
    /// All cloud code of this node.
    let cloud: CloudRegistry
    private let hookTable: HookTable
    private let scripts = Mutex<ScriptHost?>(nil)
    private let globalConfig = GlobalConfig()
    private let presence = Presence()
    /// The option, or what the database says of itself.
    private let hashesSessionTokens: Mutex<Bool>
    private let end = Waiter()
    /// What each worker serves with, from the start until it has drained.
    private let servers = Mutex<[Resident<WorkerServer>]>([])

    var port: Int { listener.port }

    init(
        options: ServerOptions, database: DatabaseConfiguration, workers: Int, routes: RouteTable = .standard,
        cloud: CloudRegistry = CloudRegistry()
    ) throws {
        self.cloud = cloud
        hookTable = HookTable(options: options.webhookOptions, registry: cloud)
        var options = options
        var limits = HTTPServer.Limits()
        limits.headSize = options.http.maxHeadSize.bytes
        limits.bodySize = options.maxUploadSize.bytes
        limits.bodyBudget = MemoryBudget(limit: options.http.maxBodyMemory.bytes)
        limits.answerBudget = MemoryBudget(limit: options.http.maxAnswerMemory.bytes)
        limits.headTimeout = UInt64(options.http.headTimeout * 1e9)
        limits.idleTimeout = UInt64(options.http.idleTimeout * 1e9)
        limits.connections = options.http.maxConnections
        limits.connectionsPerAddress = options.http.maxConnectionsPerAddress
        listener = try Listener(host: options.host, port: options.port, limits: limits)
        let host = options.host == "0.0.0.0" || options.host == "::" ? "localhost" : options.host
        // What listens to all addresses, or to this machine's own, does not know by which name others find it.
        let isReachable =
            options.publicServerURL != nil || options.serverURL != nil
            || host != "localhost" && Address(host)?.isLoopback != true
        options.serverURL = options.serverURL ?? "http://\(host):\(listener.port)\(options.mountPath)"
        self.options = options
        // Rows become answers: both count together.
        var database = database
        database.resultBudget = limits.answerBudget
        self.database = database
        self.routes = routes
        notifications = NodeListener(database)
        mailer = try options.makeMailer()
        if mailer != nil, !isReachable {
            Log.shared.warning(
                "the links in mails lead to where only this machine may come: set publicServerURL",
                ["address": .text(options.serverURL ?? "")])
        }
        var accounts = options.accountOptions
        try options.setAuth(&accounts)
        accountOptions = accounts
        hashesSessionTokens = Mutex(accounts.hashesSessionTokens)
        ownPages = try OwnPages(options.pages)
        denylist = try KeywordDenylist(options.requestKeywordDenylist.map(\.json))
        self.limits = limits
        self.workers = (0..<workers).map { Worker(index: $0, runsCode: true) }
    }

    private let limits: HTTPServer.Limits

    /// For one thing after another: each further connection would hold up the start.
    private var configurationAtStart: DatabaseConfiguration {
        var configuration = database
        configuration.sharedConnections = 1
        return configuration
    }

    /// Brings the database to what this program needs; answers PostgreSQL's version.
    func migrate() async throws -> String {
        let configuration = configurationAtStart
        return try await workers[0].run { _, loop in
            let database = Database(loop: loop, configuration: configuration)
            defer { loop.spawn { await database.close() } }
            let made = try await Migrator().run(database)
            if !made.isEmpty { Log.shared.info("migrated the database", ["migrations": .int(made.count)]) }
            try await self.defineSchemas(database)
            try await self.defineApplication(database)
            let version = try await database.read("SELECT current_setting('server_version')").string(0, 0)
            return String(version.prefix { $0 != " " })
        }
    }

    /// Makes the classes that the configuration defines.
    private func defineSchemas(_ database: Database) async throws {
        let given = options.schema
        do {
            var defined = try DefinedSchemas(given.definitions)
            defined.isStrict = given.strict
            defined.deletesExtraFields = given.deleteExtraFields
            defined.recreatesModifiedFields = given.recreateModifiedFields
            defined.keepsUnknownIndexes = given.keepUnknownIndexes
            guard !defined.isEmpty else { return }
            let catalogue = Catalogue(
                database: database, cache: schema, serverProtectedFields: options.serverProtectedFields,
                allowsCustomObjectIds: options.allowCustomObjectId)
            try await catalogue.apply(defined)
        } catch let error as ParseError { throw OptionFault("schema.definitions: \(error.message)") }
    }

    /// Makes the classes of the application. What is there beside them stays.
    private func defineApplication(_ database: Database) async throws {
        let classes = cloud.code.classes
        guard !classes.isEmpty else { return }
        do {
            var defined = try DefinedSchemas(.array(classes.map { .object($0.definition) }))
            defined.keepsUnknownIndexes = true
            let catalogue = Catalogue(
                database: database, cache: schema, serverProtectedFields: options.serverProtectedFields,
                allowsCustomObjectIds: options.allowCustomObjectId)
            try await catalogue.apply(defined)
            for field in classes.flatMap(\.readerFields) {
                await catalogue.expectMany(of: field.className, behind: [field.reader, field.object])
            }
        } catch let error as ParseError { throw OptionFault("the application's classes: \(error.message)") }
    }

    /// What the database itself says where the options say nothing.
    private func readSettings() async throws {
        guard options.hashSessionTokens == nil else { return }
        let configuration = configurationAtStart
        let settings = try await workers[0].run { _, loop in
            let database = Database(loop: loop, configuration: configuration)
            defer { loop.spawn { await database.close() } }
            return try await DatabaseSettings(database)
        }
        hashesSessionTokens.withLock { $0 = settings.hashesSessionTokens }
    }

    /// Starts each worker's server, then listens.
    func start() async throws {
        try await readSettings()
        if let tls = try certificate() { warn(of: tls) }
        for worker in workers {
            let server = try await Resident(on: worker) { loop in
                let server = try WorkerServer(loop: loop, node: self)
                try await server.prepare()
                return server
            }
            servers.withLock { $0.append(server) }
        }
        try await first?.run { try await $0.prepareNode() }
        // Now it can read and write, and nobody asks for anything yet.
        try await first?.run { try await $0.begin() }
        if let host = ScriptHost(options, registry: cloud, background: NodeCaller(node: self)) {
            try await host.load()
            scripts.withLock { $0 = host }
        }
        let end = end
        await workers[0].run { _, loop in
            let signals = SignalSource([SIGTERM, SIGINT, SIGHUP], loop: loop) { signal in
                if signal == SIGHUP { self.reload() } else { end.resume() }
            }
            loop.keep(signals)
            self.listener.start(on: loop)
            self.tidy(loop)
        }
        let configuration = database
        await first?.run {
            $0.buildIndexes(configuration)
            $0.runJobs()
        }
    }

    /// The server that does what is done once a node.
    private var first: Resident<WorkerServer>? { servers.withLock(\.first) }

    /// Every minute.
    private func tidy(_ loop: Loop) {
        loop.schedule(after: 60_000_000_000) {
            self.tidy(loop)
            let server = self.first
            loop.spawn {
                do { try await server?.run { try await $0.tidy() } } catch {
                    Log.shared.warning("old request ids could not be deleted; it is tried again", ["error": "\(error)"])
                }
            }
        }
    }

    func waitForEnd() async { try? await end.wait() }

    /// Stops accepting, finishes what runs, closes.
    func drain() async {
        await workers[0].run { _, loop in self.listener.stop(on: loop) }
        let patience = UInt64(options.drainTimeout * 1e9)
        let draining = servers.withLock { servers in
            defer { servers = [] }
            return servers
        }
        await withTaskGroup(of: Void.self) { group in
            for server in draining {
                group.addTask {
                    await server.run { await $0.drain(atMost: patience) }
                    await server.end()
                }
            }
        }
        await hookTable.stop()
        scripts.withLock { $0 }?.stop()
        for worker in workers { await worker.stop() }
    }

    // MARK: TLS

    private func certificate() throws -> TLS? {
        guard let certificate = options.tlsCertificate else { return nil }
        guard let key = options.tlsKey else {
            throw OptionFault("tlsCertificate needs tlsKey beside it: the file of the certificate's private key")
        }
        return try TLS(certificateFile: certificate, keyFile: key)
    }

    /// A certificate that clients refuse, or will soon, is told at the start and at each reload.
    private func warn(of tls: TLS) {
        guard let certificate = try? Certificate(tls) else { return }
        switch certificate.state() {
        case .notYet:
            Log.shared.error(
                "clients refuse the certificate: it is not good yet", ["from": .text(certificate.firstDay)])
        case .ended:
            Log.shared.error("clients refuse the certificate: it has ended", ["on": .text(certificate.lastDay)])
        case .good(let days) where days < Certificate.daysOfWarning:
            Log.shared.warning("the certificate ends soon", ["on": .text(certificate.lastDay)])
        case .good: break
        }
    }

    /// SIGHUP: new connections get the certificate as its file is now, new requests the cloud code. A file that can't be
    /// used changes nothing.
    private func reload() {
        ServiceManager.tell(.reloading)
        Task {
            await reloadCertificate()
            await reloadScripts()
            ServiceManager.tell(.ready)
        }
    }

    private func reloadCertificate() async {
        do {
            if let tls = try certificate() {
                for server in servers.withLock({ $0 }) { try await server.run { try $0.reload(tls) } }
                Log.shared.info("the certificate was read again")
                warn(of: tls)
            }
        } catch {
            Log.shared.error("the certificate cannot be used; the old one stays", ["error": "\(error)"])
        }
    }

    private func reloadScripts() async {
        guard let host = scripts.withLock({ $0 }) else { return }
        do {
            try await host.load()
            Log.shared.info("the cloud code was loaded again")
        } catch {
            Log.shared.error("the cloud code cannot be loaded; the old one stays", ["error": "\(error)"])
        }
    }

    // MARK: cloud code

    /// Serves a request of cloud code that belongs to no client's.
    func serve(_ request: CloudRequest) async throws -> CloudResponse? {
        try await first?.run { try await $0.serve(request) }
    }

    // MARK: for the workers

    func makeServer(_ loop: Loop, _ handler: @escaping HTTPServer.Handler) throws -> HTTPServer {
        let server = try HTTPServer(loop: loop, limits: limits, tls: try certificate(), handler: handler)
        listener.add(server)
        return server
    }

    func makeAPI(_ database: Database) -> API {
        let catalogue = Catalogue(
            database: database, cache: schema, serverProtectedFields: options.serverProtectedFields,
            allowsCustomObjectIds: options.allowCustomObjectId)
        let viewers = viewers
        var accountOptions = accountOptions
        accountOptions.hashesSessionTokens = hashesSessionTokens.withLock { $0 }
        if let mailer {
            accountOptions.mail.send = { mail, operation in
                if case .queued = try await mailer.send(Mail(mail), in: operation) { true } else { false }
            }
        }
        var storeOptions = options.storeOptions
        for defined in cloud.code.classes {
            storeOptions.findDefaults[defined.name] = defined.finds
            storeOptions.readerFields[defined.name] = defined.readerFields
        }
        let store = Store(
            catalogue: catalogue, database: database, options: storeOptions, denylist: denylist,
            hooks: Hooks(accountOptions.rules)
        ) { channel, payload in
            if channel == AccessChange.channel { viewers.forget(payload) }
        }
        return API(
            options: options, accounts: Accounts(store: store, options: accountOptions, cache: viewers), routes: routes,
            registry: cloud, hookTable: hookTable, globalConfig: globalConfig, mailer: mailer,
            ownPages: ownPages, presence: presence)
    }

    func makeDatabase(_ loop: Loop) -> Database {
        Database(loop: loop, configuration: database, listener: notifications)
    }
}
