import Core

/// How many connections all workers of a node may open together.
extension DatabaseConfiguration {
    /// The most that `workers` workers open: their own, and the node's one that listens.
    public func connections(workers: Int) -> Int {
        workers * (max(sharedLimit, sharedConnections, 1) + ownedLimit + groupedConnections) + 1
    }

    /// These limits, lowered for each worker until the sum is at most `available`: grouped writes get an eighth, fast
    /// reads keep up to two connections, writes get two thirds of the rest, slow reads what is left. One for reads and
    /// one for writes are the least that a worker can do with, so the sum may still be above `available`.
    public func fitted(workers: Int, available: Int) -> DatabaseConfiguration {
        guard connections(workers: workers) > available else { return self }
        var fitted = self
        var each = max(2, (available - 1) / max(workers, 1))
        fitted.groupedConnections = min(groupedConnections, each / 8)
        each -= fitted.groupedConnections
        fitted.sharedConnections = max(1, min(sharedConnections, each / 3))
        let rest = each - fitted.sharedConnections
        fitted.ownedLimit = max(1, min(ownedLimit, rest - rest / 3))
        fitted.sharedLimit = max(fitted.sharedConnections, min(sharedLimit, each - fitted.ownedLimit))
        return fitted
    }

    /// Asks the server how many connections it has left, and lowers the limits to that; says so in the log.
    ///
    /// - Throws: `PostgresError` where the server can't be asked.
    public func fitted(workers: Int) async throws -> DatabaseConfiguration {
        let worker = Worker(name: "budget")
        var configuration = self
        // What is asked with is not to count.
        configuration.sharedConnections = 1
        configuration.sharedLimit = 1
        let settled = configuration
        let available: Int
        do {
            available = try await worker.run { _, loop in
                let database = Database(loop: loop, configuration: settled)
                do {
                    let available = try await database.availableConnections()
                    await database.close()
                    return available
                } catch {
                    await database.close()
                    throw error
                }
            }
        } catch {
            await worker.stop()
            throw error
        }
        await worker.stop()
        let fitted = fitted(workers: workers, available: available)
        if fitted.connections(workers: workers) < connections(workers: workers) {
            Log.shared.warning(
                "PostgreSQL has fewer connections left than all workers may want: each gets fewer",
                [
                    "left": .int(available), "wanted": .int(connections(workers: workers)),
                    "workers": .int(workers), "writes each": .int(fitted.ownedLimit),
                    "reads each": .int(fitted.sharedLimit),
                ])
        }
        return fitted
    }
}

extension Database {
    /// How many connections the server, the database and this role leave to this program: what others hold now is
    /// taken off, and so is what the server keeps for its administrators.
    ///
    /// - Parameter ignoringOwn: Connections of the same user, name and machine are not taken off: those of a Hermes that
    ///   runs here.
    public func availableConnections(ignoringOwn: Bool = false) async throws -> Int {
        Int(try await read(Self.limitsStatement, [.bool(ignoringOwn)]).int(0, 0))
    }

    // reserved_connections came with PostgreSQL 16. A superuser has no limit of its own.
    private static let limitsStatement: Statement = """
        WITH own AS (
            SELECT usename, application_name, client_addr FROM pg_stat_activity WHERE pid = pg_backend_pid()
        ), held AS (
            SELECT a.datname, a.usename FROM pg_stat_activity a, own
            WHERE a.backend_type IN ('client backend', 'walsender') AND a.pid <> pg_backend_pid()
                AND NOT ($1::bool AND (a.usename, a.application_name) = (own.usename, own.application_name)
                    AND a.client_addr IS NOT DISTINCT FROM own.client_addr)
        )
        SELECT least(
            current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8
                - coalesce(current_setting('reserved_connections', true)::int8, 0) - (SELECT count(*) FROM held),
            (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
                - (SELECT count(*) FROM held WHERE datname = current_database()),
            (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = session_user AND NOT rolsuper)
                - (SELECT count(*) FROM held WHERE usename = session_user))
        """
}
