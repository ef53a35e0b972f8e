import Core

/// PostgreSQL as one worker sees it: this worker's connections. Not `Sendable`; make one on each worker.
///
/// Connections are made when first needed and again, with growing pauses, when lost. A statement that can't get one
/// within `waitBound` fails. When its task is cancelled, a running statement is cancelled on the server too.
public final class Database {
    public let loop: Loop
    public let configuration: DatabaseConfiguration
    private let shared: SharedPool
    let owned: OwnedPool
    private let grouped: GroupedWrites
    let subscriptions: Subscriptions

    /// - Parameter listener: What the node's workers share to hear notifications over one connection; without it this
    ///   database makes one for itself when it first listens.
    public convenience init(loop: Loop, configuration: DatabaseConfiguration, listener: NodeListener? = nil) {
        self.init(
            loop: loop, configuration: configuration, listener: listener,
            hosts: Hosts(loop: loop, configuration: configuration))
    }

    init(loop: Loop, configuration: DatabaseConfiguration, listener: NodeListener?, hosts: Hosts) {
        self.loop = loop
        self.configuration = configuration
        let buffer = ParameterBuffer()
        shared = SharedPool(loop: loop, configuration: configuration, hosts: hosts, buffer: buffer)
        owned = OwnedPool(loop: loop, configuration: configuration, hosts: hosts, buffer: buffer)
        grouped = GroupedWrites(loop: loop, configuration: configuration, hosts: hosts, buffer: buffer, owned: owned)
        subscriptions = Subscriptions(loop: loop, listener: listener ?? NodeListener(configuration))
        // Reads would go on with what a replica knows.
        owned.onReadOnlyServer = { [weak shared, weak grouped] in
            shared?.renew()
            grouped?.renew()
        }
    }

    /// Runs a statement without side effects on a connection that others use at the same time; the server refuses one
    /// that writes (25006). It may run more than once: after a lost connection or a deadlock, or when it would have
    /// waited behind a slow one.
    public func read(_ statement: Statement, _ parameters: [Parameter] = []) async throws -> Rows {
        try await run(shared: Command(statement, parameters))
    }

    func run(shared command: Command) async throws -> Rows { try await shared.run(command) }

    /// Runs several such statements, which leave together.
    public func readAll(_ statements: [(statement: Statement, parameters: [Parameter])]) async throws -> [Rows] {
        try await shared.run(statements.map { Command($0.statement, $0.parameters) })
    }

    /// Runs one statement, committed when this returns, on a connection of its own. After an error of kind
    /// `connectionLost(mayHaveRun: true)`, and after cancellation, it may or may not have taken effect.
    public func write(_ statement: Statement, _ parameters: [Parameter] = []) async throws -> Rows {
        try await owned.write(statement, parameters)
    }

    /// The same for a statement that writes one row: it may share its commit, though not its errors, with others that
    /// come at the same time. It does not end on the server when its task is cancelled.
    /// - Parameter key: which row it is about: all nodes must give the same row the same key.
    public func writeRow(_ statement: Statement, _ parameters: [Parameter], key: UInt64) async throws -> Rows {
        try await grouped.run(statement, parameters, key: key)
    }

    /// Runs one statement and sends nothing else meanwhile: for what must not be prepared or run in a transaction,
    /// such as VACUUM or CREATE INDEX CONCURRENTLY. No parameters.
    public func run(_ sql: String) async throws -> Rows {
        let connection = try await owned.acquire()
        defer { owned.release(connection) }
        let command = Command(prefix: [sql], nil)
        connection.run(command)
        try await command.waiter.wait()
        return try command.rows()
    }

    /// Tells all who listen to `channel`, at once. It makes commits wait for one another, so it is for what is rare.
    public func notify(channel: String, payload: String = "") async throws {
        _ = try await write(Database.notifyStatement, [.text(channel), .text(payload)])
    }

    static let notifyStatement: Statement = "SELECT pg_notify($1, $2)"

    /// Whether PostgreSQL answers; throws why not.
    public func ping() async throws { _ = try await read("SELECT 1") }

    /// Closes all connections; what still waits fails with an error of kind `closed`.
    public func close() async {
        shared.close()
        grouped.close()
        owned.close()
        await subscriptions.close()
    }

    deinit {
        shared.close()
        grouped.close()
        owned.close()
        subscriptions.detach()
    }
}
