import CLibPQ

/// Why a statement has no result. Errors are data; who presents them decides on words and status.
///
/// Printing one (in a log, say) never shows `detail` and `hint`: PostgreSQL puts the contents of rows there.
public struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    public enum Kind: Sendable, Hashable {
        /// PostgreSQL refused the statement: `sqlState` and the fields beside it say why. It had no effect.
        case server
        /// The connection went away. `mayHaveRun` is false where the statement certainly had no effect.
        case connectionLost(mayHaveRun: Bool)
        /// No connection could be made within the bound on waiting.
        case unavailable
        /// All connections were busy for as long as the bound on waiting.
        case poolExhausted
        /// A read's rows were more than results may hold of memory, all by themselves.
        case resultTooLarge
        /// The same together with what others hold: there will be room when they have ended.
        case noRoom
        /// The peer did not answer within a time limit of our own.
        case timeout
        /// A parameter that PostgreSQL can't hold: a NUL in text, or more than 65,535 parameters.
        case parameter
        /// A column of the result has another type than the program expects.
        case resultType
        /// The `Database`, `Transaction` or cluster is closed.
        case closed
    }

    public var kind: Kind
    /// Five characters as PostgreSQL's appendix A lists them; empty unless `kind` is `server`.
    public var sqlState: String
    public var message: String
    /// May hold a row's values, such as `Key (email)=(…) already exists.`: not for logs, not for clients.
    public var detail: String?
    /// May hold values too.
    public var hint: String?
    public var schema: String?
    public var table: String?
    public var column: String?
    public var constraint: String?
    /// Position in the statement's text, in characters from 1.
    public var position: Int?

    /// The server ends the connection with it.
    private(set) var isFatal = false

    public init(_ kind: Kind, _ message: String, sqlState: String = "") {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
    }

    public var description: String {
        sqlState.isEmpty ? "\(kind): \(message)" : "\(sqlState): \(message)"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }

    public var isUniqueViolation: Bool { sqlState == "23505" }
    /// Ended by `statement_timeout`.
    public var isStatementTimeout: Bool { sqlState == "57014" }
    /// It waited for a lock for longer than `lock_timeout`.
    var isLockTimeout: Bool { sqlState == "55P03" }
    /// The transaction lost a race (serialization failure or deadlock) and may win the next one.
    public var isRetryableConflict: Bool { sqlState == "40001" || sqlState == "40P01" }
    /// The database can't be reached or is overloaded: worth another try later (HTTP 503).
    public var isUnavailable: Bool {
        switch kind {
        case .connectionLost, .unavailable, .poolExhausted, .timeout: return true
        case .server: return sqlState.hasPrefix("53") || sqlState.hasPrefix("57P") || sqlState.hasPrefix("08")
        case .parameter, .resultType, .closed, .resultTooLarge, .noRoom: return false
        }
    }
    /// For what waited as long as it may, while the first connection was still being made.
    static var notConnectedYet: PostgresError {
        PostgresError(.unavailable, "PostgreSQL has not answered for as long as a statement may wait")
    }
    /// The server takes no writes: it is a replica, or became one.
    public var isReadOnlyServer: Bool { sqlState == "25006" }
    /// The statement does not suit the tables as they are now: a column or table is gone, or has another type. Worth
    /// one more try with a statement made from a schema that was read anew.
    public var meansSchemaChanged: Bool {
        ["42703", "42P01", "42804", "42883", "0A000"].contains(sqlState) || kind == .resultType
    }
    /// The server ended the connection since its transaction was idle for longer than it may be.
    var isIdleTransactionTimeout: Bool { sqlState == "25P03" }
    /// The prepared statement is out of date: a table changed its shape, or the statement is gone.
    var meansPlanIsStale: Bool { sqlState == "0A000" || sqlState == "26000" }

    /// The error that a result carries.
    init(result: OpaquePointer) {
        // Field codes from postgres_ext.h.
        func field(_ code: Unicode.Scalar) -> String? {
            PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
        }
        kind = .server
        sqlState = field("C") ?? ""
        message = field("M") ?? String(cString: PQresultErrorMessage(result)).trimmingEnd()
        detail = field("D")
        hint = field("H")
        schema = field("s")
        table = field("t")
        column = field("c")
        constraint = field("n")
        let severity = field("V")
        isFatal = severity == "FATAL" || severity == "PANIC"
        position = field("P").flatMap { Int($0) }
    }

    /// What libpq says of a connection.
    static func message(of handle: OpaquePointer?) -> String {
        guard let handle, let message = PQerrorMessage(handle) else { return "no connection" }
        // libpq's hints stand on lines of their own, behind a tab.
        let lines = String(cString: message).split(whereSeparator: \.isNewline)
        return lines.map { $0.drop { $0 == "\t" }.trimmingEnd() }.joined(separator: ". ")
    }
}

extension StringProtocol {
    fileprivate func trimmingEnd() -> String {
        var text = self[...]
        while let last = text.last, last.isWhitespace { text = text.dropLast() }
        return String(text)
    }
}
