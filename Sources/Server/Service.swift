import Cloud
import Core
import Glibc
import HTTP
import Options
import Postgres
import Schema

/// The server's life, from its options to its end.
public enum Service {
    /// Serves until SIGTERM or SIGINT, then drains: requests that run are finished, at most `drainTimeout` long.
    ///
    /// - Parameters:
    ///   - code: what the program that calls this adds to the server.
    ///   - ready: called with the port once connections are accepted.
    /// - Throws: what keeps the server from starting, as a sentence for who started it.
    public static func run(
        _ options: ServerOptions, code: CloudCode = CloudCode(), ready: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws {
        let running = try await start(options, code: code)
        Console.say(running.banner)
        ServiceManager.tell(.ready)
        ready(running.port)
        await running.waitForEnd()
        ServiceManager.tell(.stopping)
        Log.shared.info("draining: no new connections; requests that run are finished")
        await running.stop()
    }

    /// A server that serves.
    public struct Running: Sendable {
        /// What to tell who started it.
        public let banner: String
        fileprivate let node: Node
        fileprivate let cluster: PrivateCluster?
        public var port: Int { node.port }

        /// Waits for SIGTERM or SIGINT.
        public func waitForEnd() async { await node.waitForEnd() }

        /// Finishes the requests that run, at most `drainTimeout` long, and ends.
        public func stop() async {
            await node.drain()
            cluster?.stop()
            Log.shared.flush()
        }
    }

    /// Starts a server, and answers once it accepts connections.
    ///
    /// - Throws: what keeps it from starting, as a sentence for who started it.
    public static func start(_ options: ServerOptions, code: CloudCode = CloudCode()) async throws -> Running {
        SignalSource.ignoreBrokenPipes()
        Log.shared.configure(
            level: Log.Level(options.logLevel), format: options.logFormat == .json ? .json : .text)
        // Beside the connections of clients: those to the database, files, and what each worker needs.
        OpenFiles.allow(options.http.maxConnections + 4096)
        LargeMemory.returnWhenFreed()
        let workers = options.workers ?? options.workerCount
        var cluster: PrivateCluster?
        let conninfo: String
        if let uri = options.databaseURI {
            conninfo = uri
        } else {
            var clusterOptions = PrivateCluster.Options(dataFolder: options.dataFolder)
            clusterOptions.maxConnections = max(200, workers * (options.database.ownedConnections + 12) + 20)
            clusterOptions.settings["shared_buffers"] = "\(sharedBuffers)MB"
            clusterOptions.onUnexpectedEnd = { code in
                Log.shared.error("PostgreSQL ended unasked and is started again", ["exit": .int(Int(code))])
            }
            clusterOptions.onSlowStart = { seconds, line in
                Log.shared.info("PostgreSQL is still starting", ["seconds": .int(seconds), "says": .text(line)])
            }
            let started = try PrivateCluster.start(clusterOptions)
            cluster = started
            try started.createDatabase(PrivateDatabase.name)
            conninfo = started.conninfo(database: PrivateDatabase.name)
        }
        var made: Node?
        do {
            let database = try await options.databaseConfiguration(conninfo).fitted(workers: workers)
            let registry = CloudRegistry()
            registry.set(code, of: .swift)
            let node = try Node(options: options, database: database, workers: workers, cloud: registry)
            made = node
            let version = try await node.migrate()
            try await node.start()
            let banner = Banner.text(options, port: node.port, workers: workers, database: version)
            return Running(banner: banner, node: node, cluster: cluster)
        } catch {
            // What has begun by then would miss its database.
            await made?.drain()
            cluster?.stop()
            throw error
        }
    }
}

extension Service {
    /// Megabytes of the private cluster's page cache: a quarter of the machine's memory, as PostgreSQL's manual
    /// advises, from 128 MB to 4 GB. It takes them as it uses them.
    ///
    /// Of 10,000,000 comments, page 20 of a topic looks at 400 rows that lie far apart: with PostgreSQL's own 128 MB
    /// each is fetched from the system's cache, which takes 2.7 times as long.
    private static var sharedBuffers: Int {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)) / 1024 * sysconf(Int32(_SC_PAGESIZE)) / 1024
        return min(max(memory / 4, 128), 4096)
    }
}

extension ServerOptions {
    /// How each worker is to reach the database, as far as the options say.
    public func databaseConfiguration(_ conninfo: String) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration(conninfo)
        configuration.sharedConnections = database.sharedConnections
        configuration.ownedLimit = database.ownedConnections
        configuration.statementTimeout = .seconds(database.statementTimeout)
        configuration.waitBound = .seconds(database.waitTimeout)
        return configuration
    }
}

extension Log.Level {
    init(_ level: ServerOptions.LogLevel) {
        switch level {
        case .error: self = .error
        case .warning: self = .warning
        case .info: self = .info
        case .debug: self = .debug
        }
    }
}
