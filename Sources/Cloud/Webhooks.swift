import Core
import Synchronization
import Wire

/// Webhooks as a provider of cloud code. Its handlers can be called from any thread; all calls leave from one worker.
public final class Webhooks: Sendable {
    private let options: WebhookOptions
    /// Made with the first call.
    private let worker = Mutex<Worker?>(nil)

    public init(_ options: WebhookOptions) { self.options = options }

    /// Cloud code that calls these.
    public func code(_ webhooks: [Webhook]) -> CloudCode {
        var code = CloudCode()
        for webhook in webhooks {
            var handler = CloudHandler(webhook.name) { [self] call in try await run(webhook, call) }
            // Its own limit comes first, and says what was slow.
            handler.timeLimit = options.limit(of: webhook.kind) + 5
            switch webhook.kind {
            case .function(let name): code.functions[name] = handler
            case .job(let name): code.jobs[name] = handler
            case .trigger(let trigger): code.triggers[trigger, default: []].append(handler)
            }
        }
        return code
    }

    private func run(_ webhook: Webhook, _ call: CloudCall) async throws -> CloudAnswer {
        let worker = worker.withLock { worker in
            let made = worker ?? Worker(name: "webhooks")
            worker = made
            return made
        }
        let options = options
        return try await worker.run { _, loop in
            let known = loop.first(WebhookCaller.self)
            let caller = known ?? WebhookCaller(loop: loop, options: options)
            if known == nil { loop.keep(caller) }
            return try await caller.call(webhook, call)
        }
    }

    /// Ends what runs. Nothing may be called any more.
    public func stop() async {
        guard let worker = worker.withLock({ $0 }) else { return }
        await worker.run { _, loop in loop.first(WebhookCaller.self)?.close() }
        await worker.stop()
    }
}
