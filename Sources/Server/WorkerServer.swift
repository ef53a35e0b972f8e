import Cloud
import Core
import HTTP
import Jobs
import Options
import Postgres
import Schema
import Store
import Wire

/// What one worker serves with: its HTTP server, its database connections, its API.
final class WorkerServer {
    private let database: Database
    private let api: API
    private let server: HTTPServer
    private var builder: IndexBuilder?
    private var jobs: JobRunner?

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

    /// What the application does at each start.
    func begin() async throws {
        api.cloud.refresh()
        let operation = api.store.operation(as: .master)
        // Not within the transaction of whoever starts the first job.
        if !api.cloud.code.jobs.isEmpty { try await api.prepare("_JobStatus", ParseJob.statusFields, operation) }
        for handler in api.cloud.code.starts {
            _ = try await api.cloud.call(handler, JSONObject(), in: api.store.operation(as: .master))
        }
    }

    /// Begins to build the indexes that are asked for. Called on one worker.
    func buildIndexes(_ configuration: DatabaseConfiguration) {
        let builder = IndexBuilder(loop: database.loop, configuration: configuration)
        builder.start(notifications: database)
        self.builder = builder
    }

    /// Begins to do the jobs of the queue. Called on one worker.
    func runJobs() {
        let runner = JobRunner(store: api.store, options: api.options.jobOptions)
        runner.register(api.jobKind)
        runner.register(SessionTidying.kind(api.store))
        runner.register(AccountRemains.kind(api.accounts))
        runner.schedule(SessionTidying.schedule)
        if let mailer = api.mailer { runner.register(mailer.jobKind) }
        let api = api
        runner.scheduleAll { try await api.dueSchedules() }
        runner.start()
        jobs = runner
    }

    /// Serves a request of cloud code that belongs to no client's.
    func serve(_ request: CloudRequest) async throws -> CloudResponse {
        // No client's request may have come since the code was loaded anew, or registered something later.
        api.cloud.refresh()
        guard let caller = OperationCaller(api, api.store.operation(as: Viewer())) else { throw CancellationError() }
        return try await caller.send(request)
    }

    func reload(_ tls: TLS) throws { try server.reload(tls: tls) }

    /// Forgets what no longer has to be remembered. Called now and then, on one worker.
    func tidy() async throws {
        try await api.forgetOldRequests()
        // Options, mails, second factors, exports and tries at names that are nobody's are all counted there.
        _ = try await database.write(RateCount.forget, [])
    }

    func drain(atMost patience: UInt64) async {
        server.stopAccepting()
        await builder?.stop()
        // Jobs have as long as requests, at the same time.
        let jobs = jobs
        let jobsEnd = database.loop.spawn { await jobs?.stop(grace: .nanoseconds(Int64(patience))) }
        await server.drain(atMost: patience)
        await jobsEnd.value
        server.stop()
        await database.close()
    }
}
