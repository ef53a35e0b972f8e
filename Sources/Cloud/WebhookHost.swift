import Core
import Wire

/// One host that webhooks lie on: so many calls at once, so many that wait, and a breaker for when it is out of order.
/// Lives on the webhooks' worker.
final class WebhookHost {
    enum Outcome { case answered, failed, abandoned }

    private final class Ticket {
        let waiter = Waiter()
        var isGranted = false
    }

    let name: String
    private let loop: Loop
    private let options: WebhookOptions
    private var breaker: CircuitBreaker
    private var running = 0
    private var waiting: [Ticket] = []
    private static let paused = Metrics.shared.gauge(
        "hermes_webhook_hosts_paused", help: "Hosts of webhooks that are not called now, since they are out of order.")

    init(_ name: String, loop: Loop, options: WebhookOptions) {
        self.name = name
        self.loop = loop
        self.options = options
        breaker = CircuitBreaker(threshold: options.failuresBeforePause, pause: UInt64(options.pause * 1e9))
    }

    /// Waits for this call's turn. Returning binds the caller to `leave`.
    ///
    /// - Parameter deadline: on the monotonic clock, in nanoseconds.
    /// - Throws: 141 where the host is out of order, or too many wait, or the turn did not come in time.
    func enter(by deadline: UInt64) async throws {
        guard !breaker.refuses(at: Loop.monotonicNow()) else { throw outOfOrder }
        if running < options.callsPerHost {
            running += 1
        } else {
            try await waitForTurn(by: deadline)
        }
        // It may have opened while this call waited.
        guard breaker.admit(at: Loop.monotonicNow()) else {
            passOn()
            throw outOfOrder
        }
    }

    private func waitForTurn(by deadline: UInt64) async throws {
        guard waiting.count < options.queuePerHost else {
            throw ParseError(141, "Too many calls wait for this webhook. Try again in a moment.")
        }
        let ticket = Ticket()
        waiting.append(ticket)
        let now = Loop.monotonicNow()
        let timer = loop.schedule(after: deadline > now ? deadline - now : 0) {
            ticket.waiter.resume(throwing: ParseError(141, "The webhook's turn did not come in time."))
        }
        defer { timer.cancel() }
        do {
            try await ticket.waiter.wait()
        } catch {
            // The turn may have come in the same moment: then it is another's.
            if ticket.isGranted { passOn() } else { waiting.removeAll { $0 === ticket } }
            throw error
        }
    }

    /// Ends a call's turn, with what came of it.
    func leave(_ outcome: Outcome) {
        let before = breaker.state
        let now = Loop.monotonicNow()
        switch outcome {
        case .answered: breaker.succeeded()
        case .failed: breaker.failed(at: now)
        case .abandoned: breaker.abandoned(at: now)
        }
        tell(before)
        passOn()
    }

    /// Gives a turn to who has waited longest.
    private func passOn() {
        guard !waiting.isEmpty else {
            running -= 1
            return
        }
        let next = waiting.removeFirst()
        next.isGranted = true
        next.waiter.resume()
    }

    private func tell(_ before: CircuitBreaker.State) {
        switch (before, breaker.state) {
        case (.closed, .open):
            WebhookHost.paused.add(1)
            Log.shared.warning(
                "a host of webhooks is out of order and gets a pause",
                ["host": .text(name), "failures": .int(options.failuresBeforePause), "seconds": .number(options.pause)])
        case (.open, .closed), (.halfOpen, .closed):
            WebhookHost.paused.add(-1)
            Log.shared.info("a host of webhooks answers again", ["host": .text(name)])
        default: break
        }
    }

    private var outOfOrder: ParseError {
        ParseError(141, "The webhook's server is out of order. Try again in a moment.")
    }
}
