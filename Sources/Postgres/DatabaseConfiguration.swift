import Core

/// How one worker reaches PostgreSQL. All figures are for each worker: the sum over all workers must stay under what
/// the server's `max_connections` leaves (`connections(workers:)`, `fitted(workers:available:)`).
public struct DatabaseConfiguration: Sendable {
    /// libpq's connection string, `host=… dbname=…` or `postgresql://…`; TLS is set here (`sslmode`, `sslrootcert`).
    /// Where several hosts are given, each is tried for a part of `connectTimeout` (or for `connect_timeout`), the one
    /// that served last first, and it must take writes unless `target_session_attrs` says otherwise.
    public var conninfo: String
    public var applicationName = "hermes"

    /// Connections that plain reads share in pipeline mode, when reads are fast: the first of them as long as it has
    /// little to do.
    public var sharedConnections = 2
    /// How many there may be when slow reads hold some of them; `sharedConnections` of them, or at least one, are kept
    /// for fast reads.
    public var sharedLimit = 8
    /// A read that runs for longer than this has its connection to itself: others go, or move, elsewhere.
    public var slowRead = Duration.milliseconds(5)
    /// Connections for writes and transactions.
    public var ownedLimit = 16
    /// Connections beside these on which writes of one row share commits: one of them, as long as a round holds all that
    /// gather. 0 for none.
    public var groupedConnections = 2
    /// A connection that was not needed for this long is closed.
    public var idleLimit = Duration.seconds(60)
    /// How long a statement may wait for a connection before it fails.
    public var waitBound = Duration.seconds(5)
    public var connectTimeout = Duration.seconds(5)

    /// PostgreSQL's `statement_timeout`; zero for none.
    public var statementTimeout = Duration.seconds(30)
    /// PostgreSQL's `idle_in_transaction_session_timeout`; zero for none.
    public var idleTransactionTimeout = Duration.seconds(60)
    /// Other settings of the session.
    public var settings: [String: String] = [
        // Compiling costs more than short statements take; their plans only look expensive.
        "jit": "off", "TimeZone": "UTC",
        // What a role or a database may have been given otherwise.
        "search_path": "public", "default_transaction_isolation": "read committed",
        // A statement whose client has gone ends, though nothing is sent or received meanwhile.
        "client_connection_check_interval": "10s",
    ]
    /// Statements that each connection keeps prepared; past it the one unused for longest is dropped.
    public var preparedLimit = 500

    /// What results of reads hold while they come and as long as they are used, from about 1 MB on: a read that finds no
    /// room in it is given up (`resultTooLarge`, `noRoom`). All workers of a node share one.
    public var resultBudget = MemoryBudget(limit: 256 << 20)

    /// How often a listening connection proves that it is alive.
    public var heartbeat = Duration.milliseconds(40)
    /// How often it does so while nobody asks for it; whoever then asks has it prove it at once.
    public var restingHeartbeat = Duration.seconds(1)
    /// For how long nobody must have asked.
    public var restsAfter = Duration.seconds(1)
    /// A listening connection that has proved nothing for this long can't be relied on.
    public var silence = Duration.milliseconds(100)

    public init(_ conninfo: String) { self.conninfo = conninfo }
}

extension Duration {
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return seconds < 0 ? 0 : UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
    var milliseconds: UInt64 { nanoseconds / 1_000_000 }
}
