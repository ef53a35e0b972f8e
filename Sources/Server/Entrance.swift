import Core
import HTTP
import Options
import Wire

/// The first to see a request: sends it to the API or to the metrics, and writes the log's line of it.
final class Entrance {
    private let api: API
    private let mount: MountPath
    private let options: ServerOptions
    private let duration = Metrics.shared.histogram(
        "hermes_request_seconds", help: "How long requests took, from their last byte to their answer.")
    private let answers: [Counter]

    init(api: API, options: ServerOptions) {
        self.api = api
        self.options = options
        mount = MountPath(options.mountPath)
        answers = (1...5).map {
            Metrics.shared.counter(
                "hermes_requests_total", help: "Requests answered, by class of status.", labels: ["status": "\($0)xx"])
        }
    }

    /// How the body of a request comes, from its head alone.
    func bodyMode(_ request: HTTPRequest) -> HTTPRequest.BodyMode {
        guard let path = mount.split(request.path) else { return .collected(limit: nil) }
        return api.bodyMode(request, path)
    }

    func serve(_ request: HTTPRequest, _ responder: HTTPResponder) async {
        let started = Loop.monotonicNow()
        let method = request.method
        let client = client(of: request)
        let id = request.id
        responder.cancelWhenClientIsGone()
        var user: String?
        var answer: Answer
        if let page = await api.page(request, client: client) {
            answer = page
        } else if let path = mount.split(request.path) {
            answer = await api.answer(request, path: path, client: client, user: &user)
        } else if request.path == "/metrics", method == "GET" {
            answer = metrics(request)
        } else if let page = await api.lostPage(request, client: client) {
            answer = page
        } else {
            answer = Answer(
                status: 404, json: ["error": .string("There is nothing here. The API is at \(options.mountPath).")])
            answer.headers = [("Content-Type", "application/json; charset=utf-8")]
        }
        answer.headers.append(("X-Request-Id", id))
        let bytes = await answer.send(responder)
        let ended = Loop.monotonicNow()
        duration.observe(Double(ended - started) / 1e9)
        count(answer.status)
        // Whoever follows the log would find himself in it, once a second.
        let isLook = answer.status == 200 && method != "OPTIONS" && request.path == "\(options.mountPath)/scriptlog"
        Log.shared.log(
            isLook ? .debug : .info, "request",
            [
                "id": .text(id), "method": .text(method), "path": .text(request.path),
                "status": .int(answer.status), "bytes": .int(bytes),
                "ms": .number(Double((ended - started) / 1000) / 1000), "client": .text(client),
                "user": .text(user ?? "-"),
            ])
    }

    /// Where the request comes from: the peer, or whom a proxy that is believed names.
    private func client(of request: HTTPRequest) -> String {
        guard options.trustProxy != .none, let client = options.trustProxy.client(of: request) else {
            return request.remoteAddress.text
        }
        return client.description
    }

    private func count(_ status: Int) { answers[min(max(status / 100, 1), 5) - 1].add() }

    /// Counts and logs what the HTTP room answered by itself.
    func refused(_ request: HTTPRequest, _ refusal: HTTPRefusal, bytes: Int) {
        count(refusal.status)
        Log.shared.info(
            "request refused",
            [
                "id": .text(request.id), "method": .text(request.method), "path": .text(request.path),
                "status": .int(refusal.status), "bytes": .int(bytes), "client": .text(request.remoteAddress.text),
                "reason": .text(refusal.message),
            ])
    }

    /// For operators only: they show the master or the read-only key, from where it may be used.
    private func metrics(_ request: HTTPRequest) -> Answer {
        guard api.isOperator(request) else {
            return Answer(
                status: 403,
                json: [
                    "error": "Metrics are for operators. Send the master key or the read-only one as a bearer token."
                ])
        }
        return Answer(
            headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
            body: Array(Metrics.shared.exposition().utf8))
    }
}
