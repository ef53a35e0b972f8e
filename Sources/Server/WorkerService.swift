import Core
import HTTP
import Options
import Postgres
import Schema
import Wire

/// What one worker serves with.
final class WorkerService {
    private let database: Database
    private let api: API
    private let server: HTTPServer
    private var builder: IndexBuilder?

    init(loop: Loop, node: Node) throws {
        let database = node.makeDatabase(loop)
        let api = node.makeAPI(database)
        let front = Front(api: api, mount: MountPath(node.options.mountPath), options: node.options)
        // An async closure that captures something weakly would leave the worker's thread (a fault of Swift 6.3): so
        // it captures only what it needs, and none of that refers back to the server.
        server = try node.makeServer(loop) { request, responder in await front.serve(request, responder) }
        server.answerRefusals(CORS(node.options))
        server.onRefusal = { request, refusal, bytes in front.refused(request, refusal, bytes: bytes) }
        self.database = database
        self.api = api
    }

    /// Reads the schema and begins to follow what other nodes change.
    func prepare() async throws {
        api.store.catalogue.follow()
        api.accounts.follow()
        try await api.store.catalogue.reload()
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

/// The first to see a request: sends it to the API or to the metrics, and writes the log's line of it.
final class Front {
    private let api: API
    private let mount: MountPath
    private let options: ServerOptions
    private let duration = Metrics.shared.histogram(
        "hermes_request_seconds", help: "How long requests took, from their last byte to their answer.")
    private let answers: [Counter]

    init(api: API, mount: MountPath, options: ServerOptions) {
        self.api = api
        self.mount = mount
        self.options = options
        answers = (1...5).map {
            Metrics.shared.counter(
                "hermes_requests_total", help: "Requests answered, by class of status.", labels: ["status": "\($0)xx"])
        }
    }

    func serve(_ request: HTTPRequest, _ responder: HTTPResponder) async {
        let started = Loop.monotonicNow()
        let id = request.id
        let method = request.method
        responder.cancelWhenClientIsGone()
        var answer: Answer
        if let path = mount.split(request.path) {
            answer = await api.answer(request, path: path, id: id)
        } else if request.path == "/metrics", method == "GET" {
            answer = metrics(request)
        } else {
            answer = Answer(
                status: 404, json: ["error": .string("There is nothing here. The API is at \(options.mountPath).")])
            answer.headers = [("Content-Type", "application/json; charset=utf-8")]
        }
        let bytes = await answer.send(responder)
        let ended = Loop.monotonicNow()
        duration.observe(Double(ended - started) / 1e9)
        count(answer.status)
        Log.shared.info(
            "request",
            [
                "id": .text(id), "method": .text(method), "path": .text(request.path), "status": .int(answer.status),
                "bytes": .int(bytes), "ms": .number(Double((ended - started) / 1000) / 1000),
            ])
    }

    func count(_ status: Int) { answers[min(max(status / 100, 1), 5) - 1].add() }

    /// Only for who may use the master key from where it comes.
    private func metrics(_ request: HTTPRequest) -> Answer {
        guard let client = options.trustProxy.client(of: request), options.masterKeyIps.contains(client) else {
            return Answer(status: 403, json: ["error": "Metrics are for addresses in masterKeyIps."])
        }
        return Answer(
            headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
            body: Array(Metrics.shared.exposition().utf8))
    }
}
