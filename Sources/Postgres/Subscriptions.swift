import Core

/// Who on one worker wants to hear what.
///
/// PostgreSQL keeps nothing for those who were away: after a gap, `onConnected` is the moment to forget whatever was
/// remembered on the strength of notifications.
final class Subscriptions {
    struct Subscription {
        let handler: (String) -> Void
        let onConnected: () -> Void
        let onLost: () -> Void
    }

    private let loop: Loop
    let listener: NodeListener
    private var channels: [String: [Subscription]] = [:]
    private var member: NodeListener.Member?
    /// `connected` has arrived here, and no `lost` since.
    private var isConnected = false

    init(loop: Loop, listener: NodeListener) {
        self.loop = loop
        self.listener = listener
    }

    /// The monotonic time up to which all notifications have arrived here; 0 while that can't be said.
    var lastHeard: UInt64 {
        guard isConnected, let member else { return 0 }
        // First the time: what was posted before it was set is seen below.
        let heard = listener.lastHeard
        return member.isUpToDate ? heard : 0
    }

    func listen(_ channel: String, _ subscription: Subscription) {
        channels[channel, default: []].append(subscription)
        let member = self.member ?? makeMember()
        self.member = member
        guard listener.listen(member, channel) else { return }
        isConnected = true
        subscription.onConnected()
    }

    func close() async {
        let done = Waiter()
        detach(done)
        try? await done.wait()
    }

    func detach(_ done: Waiter = Waiter()) {
        isConnected = false
        channels = [:]
        guard let member else { return done.resume() }
        self.member = nil
        listener.leave(member, done: done)
    }

    /// Carries this object to where it belongs.
    /// - Safety: it is looked into only by what is posted to the executor of the object's own worker.
    private struct Box: @unchecked Sendable { weak var subscriptions: Subscriptions? }

    private func makeMember() -> NodeListener.Member {
        let box = Box(subscriptions: self)
        return NodeListener.Member(executor: loop.executor) { event in box.subscriptions?.take(event) }
    }

    private func take(_ event: NodeListener.Event) {
        switch event {
        case .connected:
            isConnected = true
            for subscription in channels.values.joined() { subscription.onConnected() }
        case .lost:
            isConnected = false
            for subscription in channels.values.joined() { subscription.onLost() }
        case .notification(let channel, let payload):
            channels[channel]?.forEach { $0.handler(payload) }
        }
    }
}

extension Database {
    /// Calls `handler` with the payload of each notification on `channel`, on this worker, outside of any task.
    ///
    /// One connection of the node serves all channels. `onConnected` is called each time when listening begins:
    /// whatever was notified before may have been missed. `onLost` is called when the connection is lost.
    public func listen(
        channel: String, handler: @escaping (String) -> Void, onConnected: @escaping () -> Void = {},
        onLost: @escaping () -> Void = {}
    ) {
        subscriptions.listen(channel, .init(handler: handler, onConnected: onConnected, onLost: onLost))
    }

    /// Whether notifications can be relied on now: the connection listens and has proved so within `silence`.
    public var isListening: Bool {
        let heard = lastHeard
        guard heard > 0 else { return false }
        let now = Loop.monotonicNow()
        return now <= heard || now - heard < configuration.silence.nanoseconds
    }

    /// The monotonic time in nanoseconds up to which all notifications have certainly arrived; 0 while that can't be
    /// said.
    public var lastHeard: UInt64 { subscriptions.lastHeard }
}
