import CLibPQ
import Core

/// A connection that listens: it says when it can be relied on, and comes back by itself.
///
/// PostgreSQL keeps nothing for those who were away: after a gap, `onConnected` is the moment to forget whatever was
/// remembered on the strength of notifications.
final class Listener: ConnectionOwner {
    private let loop: Loop
    private let configuration: DatabaseConfiguration
    private let buffer: ParameterBuffer
    private var connection: Connection?
    private var channels: [String: [Subscription]] = [:]
    private var timer: Loop.Timer?
    private var backoff = Backoff()
    private var isClosed = false
    /// Until then nothing that was committed can have been missed: when the last heartbeat answered was sent.
    private var heard: UInt64 = 0
    private var isSure = false

    struct Subscription {
        let handler: (String) -> Void
        let onConnected: () -> Void
        let onLost: () -> Void
    }

    init(loop: Loop, configuration: DatabaseConfiguration, buffer: ParameterBuffer) {
        self.loop = loop
        self.configuration = configuration
        self.buffer = buffer
    }

    deinit { timer?.cancel() }

    var lastHeard: UInt64 { heard }

    var isListening: Bool {
        isSure && Loop.monotonicNow() &- heard < configuration.silence.nanoseconds
    }

    func listen(_ channel: String, _ subscription: Subscription) {
        let isNew = channels[channel] == nil
        channels[channel, default: []].append(subscription)
        guard let connection else { return connect() }
        guard connection.phase == .ready else { return }
        if isNew {
            beginListening(connection)
        } else if isSure {
            subscription.onConnected()
        }
    }

    func close() {
        isClosed = true
        isSure = false
        timer?.cancel()
        connection?.close()
        connection = nil
        channels = [:]
    }

    private func connect() {
        guard !isClosed, connection == nil else { return }
        let connection = Connection(loop: loop, configuration: configuration, buffer: buffer, owner: self)
        connection.onNotification = { [weak self] channel, payload in
            self?.channels[channel]?.forEach { $0.handler(payload) }
        }
        self.connection = connection
        connection.connect()
    }

    private func beginListening(_ connection: Connection) {
        let sent = Loop.monotonicNow()
        let quoted = channels.keys.map { "\"" + $0.flatMap { $0 == "\"" ? [$0, $0] : [$0] } + "\"" }
        let command = Command(prefix: quoted.map { "LISTEN \($0)" }, nil) { [weak self] outcome in
            guard let self, let connection = self.connection else { return }
            guard case .rows = outcome else {
                // Not within the connection's own call.
                loop.schedule(after: 0) { connection.lose(PostgresError(.unavailable, "LISTEN failed")) }
                return
            }
            heard = sent
            isSure = true
            for subscription in channels.values.joined() { subscription.onConnected() }
            beat(connection)
        }
        connection.run(command)
    }

    /// Asks for a sign of life; the next one goes when this one was answered. PostgreSQL sends the notifications of
    /// earlier commits before it answers.
    private func beat(_ connection: Connection) {
        timer?.cancel()
        timer = loop.schedule(after: configuration.heartbeat.nanoseconds) { [weak self, weak connection] in
            guard let self, let connection, connection.phase == .ready else { return }
            let sent = Loop.monotonicNow()
            connection.run(
                Command("SELECT 1") { [weak self, weak connection] outcome in
                    guard let self, let connection, case .rows = outcome else { return }
                    heard = sent
                    beat(connection)
                })
            watchForSilence(connection)
        }
    }

    /// A connection that does not answer at all for long is given up, and another one made.
    private func watchForSilence(_ connection: Connection) {
        timer = loop.schedule(after: max(configuration.silence.nanoseconds * 10, 2_000_000_000)) {
            [weak connection] in
            connection?.lose(PostgresError(.timeout, "the listening connection fell silent"))
        }
    }

    // MARK: ConnectionOwner

    func connectionIsReady(_ connection: Connection) {
        backoff.succeeded()
        beginListening(connection)
    }

    func connection(_ connection: Connection, finished command: Command, _ outcome: Command.Outcome) {}

    func connection(
        _ connection: Connection, wasLost error: PostgresError, unfinished: [Command], wasReady: Bool
    ) {
        self.connection = nil
        let wasSure = isSure
        isSure = false
        if wasSure { for subscription in channels.values.joined() { subscription.onLost() } }
        backoff.failed(error, loop)
        timer?.cancel()
        guard !isClosed else { return }
        timer = loop.schedule(after: backoff.delay()) { [weak self] in self?.connect() }
    }
}

extension Database {
    /// Calls `handler` with the payload of each notification on `channel`, on this worker, outside of any task.
    ///
    /// One connection serves all channels. `onConnected` is called each time when listening begins: whatever was
    /// notified before may have been missed. `onLost` is called when the connection is lost.
    public func listen(
        channel: String, handler: @escaping (String) -> Void, onConnected: @escaping () -> Void = {},
        onLost: @escaping () -> Void = {}
    ) {
        listener.listen(channel, .init(handler: handler, onConnected: onConnected, onLost: onLost))
    }

    /// Whether notifications can be relied on now: the connection listens and has proved so within `silence`.
    public var isListening: Bool { listener.isListening }

    /// The monotonic time in nanoseconds up to which all notifications have certainly arrived; 0 before the first.
    public var lastHeard: UInt64 { listener.lastHeard }
}
