import Core

/// The connection that listens for a whole node, on a thread of its own: however busy the workers are, it proves in
/// time that it can be relied on. Comes back by itself.
final class ListeningConnection: ConnectionOwner {
    private let loop: Loop
    private let configuration: DatabaseConfiguration
    private let node: NodeListener
    private let hosts: Hosts
    private let buffer = ParameterBuffer()
    private var connection: Connection?
    private var timer: Loop.Timer?
    /// When somebody was last seen to rely on what is heard.
    private var demandedAt: UInt64 = 0
    private var isResting = false
    private var backoff = Backoff()
    private var isClosed = false
    /// Since when there is none; nil while there is, and before there ever was.
    private var lostAt: UInt64?
    /// What the server has said it listens to.
    private var listened: Set<String> = []

    init(loop: Loop, configuration: DatabaseConfiguration, node: NodeListener) {
        self.loop = loop
        self.configuration = configuration
        self.node = node
        hosts = Hosts(loop: loop, configuration: configuration)
    }

    /// Listens to all channels that are wanted by now.
    func update() {
        guard let connection else { return connect() }
        if connection.phase == .ready { beginListening(connection) }
    }

    /// Somebody asks again: proves at once that nothing was missed.
    func wake() {
        guard isResting, let connection, connection.phase == .ready else { return }
        beat(connection)
    }

    func run(_ sql: String) { connection?.run(Command(prefix: [sql], nil) { _ in }) }

    func close() {
        isClosed = true
        timer?.cancel()
        connection?.close()
        connection = nil
    }

    private func connect() {
        guard !isClosed, connection == nil else { return }
        timer?.cancel()
        let connection = Connection(
            loop: loop, configuration: configuration, hosts: hosts, buffer: buffer, owner: self)
        connection.onNotification = { [weak self] channel, payload in self?.node.notified(channel, payload) }
        self.connection = connection
        connection.connect()
    }

    private func beginListening(_ connection: Connection) {
        let channels = node.wantedChannels
        let sent = Loop.monotonicNow()
        let quoted = channels.map { "\"" + $0.flatMap { $0 == "\"" ? [$0, $0] : [$0] } + "\"" }
        let command = Command(prefix: quoted.map { "LISTEN \($0)" }, nil) { [weak self, weak connection] outcome in
            guard let self, let connection, connection === self.connection else { return }
            guard case .rows = outcome else { return giveUp(connection, "LISTEN failed") }
            listened = channels
            node.connected(to: channels, at: sent)
            if let lostAt {
                Log.shared.info(
                    "PostgreSQL is reached again",
                    ["seconds": .number(Double((loop.now - lostAt) / 100_000_000) / 10)])
            }
            lostAt = nil
            demandedAt = loop.now
            scheduleBeat(connection)
        }
        connection.run(command)
    }

    /// When the next sign of life is asked for: soon, or, when nobody has relied on the last ones, later.
    private func scheduleBeat(_ connection: Connection) {
        timer?.cancel()
        if node.takeDemand() { demandedAt = loop.now }
        isResting = loop.now - demandedAt >= configuration.restsAfter.nanoseconds && node.rest()
        let pause = isResting ? configuration.restingHeartbeat : configuration.heartbeat
        timer = loop.schedule(after: pause.nanoseconds) { [weak self, weak connection] in
            guard let self, let connection, connection.phase == .ready else { return }
            beat(connection)
        }
    }

    /// Asks for a sign of life; the next one goes when this one was answered. PostgreSQL sends the notifications of
    /// earlier commits before it answers. The answer names the channels: where a pooler stands in between, somebody
    /// else's backend may answer.
    private func beat(_ connection: Connection) {
        timer?.cancel()
        isResting = false
        let sent = Loop.monotonicNow()
        connection.run(
            Command("SELECT pg_listening_channels()") { [weak self, weak connection] outcome in
                guard let self, let connection, case .rows(let rows) = outcome else { return }
                let channels = Set((0..<rows.count).map { rows.string($0, 0) })
                guard listened.isSubset(of: channels) else {
                    Log.shared.error(
                        "the connection that listens no longer does: a pooler in between must work by session")
                    return giveUp(connection, "the connection no longer listens")
                }
                node.heard(at: sent)
                scheduleBeat(connection)
            })
        watchForSilence(connection)
    }

    /// A connection that does not answer at all for long is given up, and another one made.
    private func watchForSilence(_ connection: Connection) {
        timer = loop.schedule(after: max(configuration.silence.nanoseconds * 10, 2_000_000_000)) {
            [weak connection] in
            connection?.lose(PostgresError(.timeout, "the listening connection fell silent"))
        }
    }

    /// Not within the connection's own call.
    private func giveUp(_ connection: Connection, _ reason: String) {
        node.lost()
        loop.schedule(after: 0) { connection.lose(PostgresError(.unavailable, reason)) }
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
        node.lost()
        backoff.failed(error, loop)
        timer?.cancel()
        guard !isClosed else { return }
        if lostAt == nil {
            lostAt = loop.now
            // Of all connections this one alone is always there: it knows first, and when it is over.
            Log.shared.warning("PostgreSQL is no longer reached; it is tried again", ["error": .text("\(error)")])
        }
        timer = loop.schedule(after: backoff.delay()) { [weak self] in self?.connect() }
    }
}
