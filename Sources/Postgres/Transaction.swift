import Core

/// How much a transaction sees of others (PostgreSQL manual, 13.2).
public enum Isolation: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"
}

/// An open transaction: statements run one after another on its own connection. Ends with the body it was given to.
///
/// BEGIN and SAVEPOINT travel with the statement that follows them; a transaction that runs no statement costs nothing.
public final class Transaction {
    let connection: Connection
    /// What goes ahead of the next statement.
    private var pending: [String]
    private let isReadOnly: Bool
    private var savepoints = 0
    private var hasEnded = false
    /// A statement lost a race; the transaction is worth running again.
    private(set) var lostRace = false
    /// The connection went away before COMMIT was sent, so that nothing of the transaction stands; and not because
    /// the body had left it idle for too long, as it would again.
    private(set) var lostConnection = false
    /// COMMIT was sent.
    private(set) var commitWasSent = false
    private var isInterrupted = false

    init(connection: Connection, isolation: Isolation, isReadOnly: Bool) {
        self.connection = connection
        self.isReadOnly = isReadOnly
        pending = ["BEGIN ISOLATION LEVEL \(isolation.rawValue)\(isReadOnly ? " READ ONLY" : "")"]
    }

    /// False once the body has ended, or the connection is gone.
    public var isOpen: Bool { !hasEnded && !isInterrupted && !connection.isCopying && connection.phase == .ready }

    /// Runs a statement in this transaction.
    public func execute(_ statement: Statement, _ parameters: [Parameter] = []) async throws -> Rows {
        try await perform(Command(prefix: takePending(), statement, parameters))
    }

    /// Runs a statement that can't be prepared; no parameters.
    public func run(_ sql: String) async throws -> Rows {
        try await perform(Command(prefix: takePending() + [sql], nil))
    }

    /// Told to all who listen when this transaction commits; not at all if it does not.
    public func notify(channel: String, payload: String = "") async throws {
        _ = try await execute(Database.notifyStatement, [.text(channel), .text(payload)])
    }

    /// Runs `body`; when it throws, what it did is undone, and the transaction goes on.
    public func savepoint<R>(_ body: () async throws -> R) async throws -> R {
        savepoints += 1
        let name = "p\(savepoints)"
        pending.append("SAVEPOINT \(name)")
        let result: R
        do { result = try await body() } catch {
            if let index = pending.firstIndex(of: "SAVEPOINT \(name)") {
                pending.removeSubrange(index...)
            } else if isOpen, !Task.isCancelled {
                // What is pending belongs to savepoints within this one, which end with it.
                pending = []
                // That a race was lost stays known: where the body gives up for it, it is worth running again.
                _ = try await perform(Command(prefix: ["ROLLBACK TO \(name)", "RELEASE \(name)"], nil))
            }
            throw error
        }
        if let index = pending.firstIndex(of: "SAVEPOINT \(name)") {
            pending.removeSubrange(index...)
        } else {
            pending.append("RELEASE \(name)")
        }
        return result
    }

    /// Sees to it that the transaction has begun on the server.
    func prepareForCopy() async throws {
        guard isOpen else { throw PostgresError(.closed, "the transaction has ended") }
        guard !pending.isEmpty else { return }
        _ = try await perform(Command(prefix: takePending(), nil))
    }

    // MARK: the end

    func commit() async throws {
        // Only BEGIN is pending: nothing was run.
        if pending.first?.hasPrefix("BEGIN") == true { return hasEnded = true }
        // The server may have gone since the last statement: then COMMIT is not sent, and the body may run again.
        if connection.phase == .ready, connection.count == 0 { connection.receive() }
        if isOpen { commitWasSent = true }
        let rows = try await perform(Command(prefix: takePending() + ["COMMIT"], nil))
        hasEnded = true
        guard rows.commandTag == "COMMIT" else {
            throw PostgresError(
                .server, "the transaction was rolled back, since a statement in it had failed", sqlState: "25P02")
        }
    }

    /// Undoes everything. Does not wait when the task was cancelled: the pool sees to it.
    func rollBack() async {
        guard isOpen, pending.first?.hasPrefix("BEGIN") != true, connection.count == 0 else { return hasEnded = true }
        _ = try? await perform(Command(prefix: ["ROLLBACK"], nil))
        hasEnded = true
    }

    func end() { hasEnded = true }

    // MARK: running

    private func takePending() -> [String] {
        defer { pending = [] }
        return pending
    }

    private func perform(_ command: Command) async throws -> Rows {
        guard !hasEnded else { throw PostgresError(.closed, "the transaction has ended") }
        // After a cancelled statement nothing more is sent: the connection is being cleaned.
        guard !isInterrupted else { throw CancellationError() }
        guard connection.phase == .ready else {
            throw lost(connection.closedBy ?? PostgresError(.closed, "the transaction's connection is gone"))
        }
        command.isReadOnly = isReadOnly
        connection.run(command)
        do { try await command.waiter.wait() } catch {
            isInterrupted = true
            throw error
        }
        switch command.outcome {
        case .failed(let error, let wasStale):
            if wasStale || error.isRetryableConflict { lostRace = true }
            if case .connectionLost = error.kind { throw lost(error) }
            // Nothing of the command was sent: what was to go ahead of it goes with the next one.
            if error.kind == .parameter { pending = command.prefix + pending }
            throw error
        default: return try command.rows()
        }
    }
}

extension Transaction {
    /// The connection is gone; what that means for the transaction.
    private func lost(_ cause: PostgresError) -> PostgresError {
        lostConnection = !commitWasSent && !cause.isIdleTransactionTimeout
        var error = cause
        error.kind = .connectionLost(mayHaveRun: commitWasSent)
        return error
    }
}

extension Database {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws or the task is cancelled.
    ///
    /// When the transaction lost a race (serialization failure, deadlock), or its connection before COMMIT was sent,
    /// `body` runs again from its start, up to `retries` times, after a short random pause; so what it does beside
    /// the database must bear repeating. A body that leaves the transaction idle until the server ends it
    /// (`idleTransactionTimeout`) is not run again. After `connectionLost(mayHaveRun: true)` the COMMIT may have taken
    /// effect.
    public func transaction<R>(
        isolation: Isolation = .readCommitted, readOnly: Bool = false, retries: Int = 5,
        _ body: (Transaction) async throws -> R
    ) async throws -> R {
        var attempt = 0
        while true {
            let transaction = Transaction(
                connection: try await owned.acquire(), isolation: isolation, isReadOnly: readOnly)
            do {
                defer {
                    transaction.end()
                    owned.release(transaction.connection)
                }
                do {
                    let result = try await body(transaction)
                    try await transaction.commit()
                    return result
                } catch {
                    await transaction.rollBack()
                    throw error
                }
            } catch {
                let retryable = transaction.lostRace || transaction.lostConnection
                guard retryable, attempt < retries, !Task.isCancelled else { throw error }
                attempt += 1
                let longest = min(UInt64(5_000_000) << UInt64(min(attempt, 6)), 200_000_000)
                try await loop.sleep(nanoseconds: UInt64.random(in: 500_000...longest))
            }
        }
    }
}
