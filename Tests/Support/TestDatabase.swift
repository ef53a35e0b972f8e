import Core
import Postgres
import Synchronization

/// A database of its own for one test, dropped when the last reference goes.
public final class TestDatabase: Sendable {
    public let name: String
    public let cluster: PrivateCluster

    /// Fills a template database, once for each test process.
    public struct Template: Sendable {
        public let name: String
        let prepare: @Sendable (_ conninfo: String) async throws -> Void
        /// - Parameter prepare: Called with the connection string of the database to fill; it must have closed its
        ///   connections when it returns.
        public init(_ name: String, _ prepare: @escaping @Sendable (_ conninfo: String) async throws -> Void) {
            self.name = name
            self.prepare = prepare
        }
    }

    private static let counter = Atomic(0)
    private static let templates = Mutex<[String: Task<Void, any Error>]>([:])

    private init(name: String, cluster: PrivateCluster) {
        self.name = name
        self.cluster = cluster
    }

    /// Makes a database, empty or as the template left its own. About 30 ms.
    public static func make(template: Template? = nil) async throws -> TestDatabase {
        let cluster = try await blocking { TestCluster.shared }
        let name = "test_\(counter.add(1, ordering: .relaxed).newValue)"
        var source = "template0"
        if let template {
            source = "template_\(template.name)"
            let task = templates.withLock { templates in
                if let task = templates[template.name] { return task }
                let task = Task {
                    try await blocking { try cluster.createDatabase("template_\(template.name)") }
                    try await template.prepare(cluster.conninfo(database: "template_\(template.name)"))
                }
                templates[template.name] = task
                return task
            }
            try await task.value
        }
        // Copying through the WAL is the faster way for a small template.
        let sql = "CREATE DATABASE \(name) TEMPLATE \(source) STRATEGY wal_log"
        try await blocking { try cluster.execute(sql) }
        return TestDatabase(name: name, cluster: cluster)
    }

    public var conninfo: String { cluster.conninfo(database: name) }

    /// What a busy machine makes slow is no failure: whoever tests a time limit sets it.
    public var configuration: DatabaseConfiguration {
        var configuration = DatabaseConfiguration(conninfo)
        configuration.statementTimeout = .seconds(240)
        configuration.idleTransactionTimeout = .seconds(240)
        configuration.waitBound = .seconds(60)
        return configuration
    }

    /// Runs SQL, several statements if need be, on a connection of its own.
    public func execute(_ sql: String) async throws {
        let (name, cluster) = (name, cluster)
        try await blocking { try cluster.execute(sql, database: name) }
    }

    /// Runs `body` on a new worker with a `Database` of its own, closed afterwards.
    public func withDatabase<R: Sendable>(
        _ configure: @Sendable (inout DatabaseConfiguration) -> Void = { _ in },
        _ body: @Sendable (isolated Worker, Database) async throws -> R
    ) async throws -> R {
        var configuration = self.configuration
        configure(&configuration)
        let settled = configuration
        let worker = Worker(name: "test")
        let result = try await worker.run { worker, loop in
            let database = Database(loop: loop, configuration: settled)
            do {
                let result = try await body(worker, database)
                await database.close()
                return result
            } catch {
                await database.close()
                throw error
            }
        }
        await worker.stop()
        return result
    }

    deinit {
        // Dropping waits for every backend of the server to take notice.
        let (name, cluster) = (name, cluster)
        startThread { try? cluster.execute("DROP DATABASE IF EXISTS \(name) WITH (FORCE)") }
    }
}
