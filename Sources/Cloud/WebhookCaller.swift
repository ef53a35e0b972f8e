import Core
import HTTP
import Wire

/// Calls webhooks, on a worker of its own.
final class WebhookCaller {
    private let loop: Loop
    private let options: WebhookOptions
    private let http: HTTPClient
    private var hosts: [String: WebhookHost] = [:]
    private let duration = Metrics.shared.histogram(
        "hermes_webhook_seconds", help: "How long calls of webhooks took, waiting for their turn included.")
    private let failures = Metrics.shared.counter(
        "hermes_webhook_failures_total", help: "Calls of webhooks that brought no answer that could be used.")

    init(loop: Loop, options: WebhookOptions) {
        self.loop = loop
        self.options = options
        http = HTTPClient(loop: loop, connectionsPerHost: options.callsPerHost)
    }

    func close() { http.close() }

    /// - Throws: 141, whatever goes wrong; `CancellationError`.
    func call(_ webhook: Webhook, _ call: CloudCall) async throws -> CloudAnswer {
        let started = Loop.monotonicNow()
        do {
            let response = try await send(webhook, call, started)
            duration.observe(Double(Loop.monotonicNow() - started) / 1e9)
            return try answer(response, webhook).withoutWhatStands(call)
        } catch let fault as Fault {
            failures.add()
            Log.shared.error(
                "a webhook failed",
                ["hook": .text(webhook.name), "host": .text(webhook.host), "error": .text(fault.reason)])
            throw ParseError(141, fault.message)
        }
    }

    /// What went wrong: for the log, and for the client, who learns nothing of where webhooks lie.
    private struct Fault: Error {
        let reason: String
        let message: String
        init(_ message: String, reason: String? = nil) {
            self.message = message
            self.reason = reason ?? message
        }
    }

    private func send(_ webhook: Webhook, _ call: CloudCall, _ started: UInt64) async throws -> HTTPClientResponse {
        let seconds = options.limit(of: webhook.kind)
        let deadline = started &+ UInt64(seconds * 1e9)
        let host = host(webhook.host)
        do { try await host.enter(by: deadline) } catch let error as ParseError { throw Fault(error.message) }
        var outcome = WebhookHost.Outcome.abandoned
        defer { host.leave(outcome) }
        let now = Loop.monotonicNow()
        let request = request(webhook, call, timeout: deadline > now ? deadline - now : 1)
        do {
            let response = try await http.send(request)
            // What stands before the application's server says that this one is not there.
            outcome = [502, 503, 504].contains(response.status) ? .failed : .answered
            return response
        } catch let error as HTTPClientError {
            outcome = error == .responseTooLarge || error == .addressRefused ? .answered : .failed
            throw fault(error, seconds)
        }
    }

    private func host(_ name: String) -> WebhookHost {
        if let host = hosts[name] { return host }
        let host = WebhookHost(name, loop: loop, options: options)
        hosts[name] = host
        return host
    }

    private func request(_ webhook: Webhook, _ call: CloudCall, timeout: UInt64) -> HTTPClientRequest {
        let payload = WebhookPayload(sendsSessionTokens: options.sendsSessionTokens)
        let body = JSON.object(payload.body(of: call, webhook.kind)).bytes
        var headers = [("Content-Type", "application/json"), ("User-Agent", "Hermes")]
        if let key = options.key {
            let signature = WebhookSignature(body, key: key, time: Int(Timestamp.now.milliseconds / 1000))
            headers += [("X-Parse-Webhook-Key", key), ("X-Hermes-Signature", signature.value)]
        }
        var request = HTTPClientRequest(
            method: "POST", url: webhook.url, headers: headers, body: body, timeout: timeout,
            maxResponseSize: options.answerLimit)
        request.refuses = refuses
        return request
    }

    private var refuses: @Sendable (PeerAddress.Host) -> Bool {
        let allowsPrivate = options.allowsPrivateNetworks
        return { $0.isLinkLocal || !allowsPrivate && $0.isPrivate }
    }

    private func fault(_ error: HTTPClientError, _ seconds: Double) -> Fault {
        switch error {
        case .timedOut: Fault("The webhook did not answer within \(JSON.number(seconds)) s.")
        case .responseTooLarge: Fault("The webhook's answer is larger than \(options.answerLimit) bytes.")
        case .addressRefused: Fault("The webhook's address may not be called.")
        case .badURL, .badHeader, .failed: Fault("The webhook cannot be reached.", reason: "\(error)")
        }
    }

    private func answer(_ response: HTTPClientResponse, _ webhook: Webhook) throws -> CloudAnswer {
        guard (200..<300).contains(response.status) else {
            throw Fault("The webhook answered with the status \(response.status).")
        }
        do throws(WebhookAnswer.Problem) {
            return try WebhookAnswer.read(response.body, of: webhook.kind)
        } catch {
            switch error {
            // An answer like any other, and the application's own affair.
            case .refused(let message): throw ParseError(141, message)
            case .nonsense(let what): throw Fault("The webhook's answer \(what).")
            }
        }
    }
}
