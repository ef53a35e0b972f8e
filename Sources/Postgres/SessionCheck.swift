import CLibPQ
import Core

extension Database {
    /// Whether a connection is one session of PostgreSQL's from its beginning to its end. False where a pooler stands in
    /// between that hands each transaction to whichever session is free, as PgBouncer's pool mode `transaction` does:
    /// settings, prepared statements and LISTEN, on which Hermes relies, belong to a session.
    public func keepsSessions() async throws -> Bool {
        let own = try await owned.acquire()
        defer { owned.release(own) }
        guard let handle = own.handle else { throw PostgresError(.closed, "the connection is closed") }
        // Poolers tell their clients a number of their own.
        let backend = try await own.ask("SELECT pg_backend_pid()").int(0, 0)
        guard backend != PQbackendPID(handle) else { return true }
        let neighbours = Database(loop: loop, configuration: configuration)
        defer { loop.spawn { await neighbours.close() } }
        let other = try await neighbours.owned.acquire()
        defer { neighbours.owned.release(other) }
        // One after the other: a pooler has no reason to take two sessions for them.
        for round in 1...3 {
            let marks = [(own, "own \(round)"), (other, "other \(round)")]
            do {
                for (connection, mark) in marks { _ = try await connection.ask(Self.mark, [.text(mark)]) }
                for (connection, mark) in marks
                where try await connection.ask(Self.marked).optionalString(0, 0) != mark { return false }
            } catch let error as PostgresError where error.sqlState == "26000" {
                // The statement was prepared in another session.
                return false
            }
        }
        return true
    }

    private static let mark: Statement = "SELECT set_config('hermes.mark', $1, false)"
    private static let marked: Statement = "SELECT current_setting('hermes.mark', true)"
}

extension Connection {
    /// Runs one statement on a connection that the caller has to itself.
    fileprivate func ask(_ statement: Statement, _ parameters: [Parameter] = []) async throws -> Rows {
        let command = Command(statement, parameters)
        run(command)
        try await command.waiter.wait()
        return try command.rows()
    }
}
