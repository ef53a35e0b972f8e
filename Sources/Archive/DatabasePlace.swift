import Glibc
import Postgres

/// Where a database is: behind a connection string, or in a data folder as a private cluster, running or not.
public struct DatabasePlace: Sendable {
    /// A database of somebody else's; nil for the private cluster.
    public var uri: String?
    public var dataFolder: String
    /// The private cluster's database.
    public var name: String

    public init(uri: String?, dataFolder: String, name: String) {
        (self.uri, self.dataFolder, self.name) = (uri, dataFolder, name)
    }

    /// A database that can be reached until `close()`.
    final class Opened: Sendable {
        let conninfo: String
        /// Started for the time of this work, where nobody ran it.
        private let cluster: PrivateCluster?

        init(_ conninfo: String, _ cluster: PrivateCluster? = nil) {
            (self.conninfo, self.cluster) = (conninfo, cluster)
        }

        func close() { cluster?.stop() }
    }

    private var cluster: String { dataFolder + "/postgres" }

    /// Whether there is a private cluster, as far as this user may look.
    private var hasCluster: Bool { access(cluster + "/PG_VERSION", F_OK) == 0 || errno == EACCES }

    /// Whether a server runs on the private cluster.
    var isRunning: Bool {
        uri == nil && PrivateCluster.conninfoOfRunning(dataFolder: dataFolder, database: name) != nil
    }

    /// What is there already: of a stopped private cluster, started for this work. Blocks for a second then.
    func open() throws -> Opened {
        if let uri { return Opened(uri) }
        guard hasCluster else {
            throw ArchiveFailure(
                "There is no database in \(dataFolder). Tell another folder with --data, or --database-url.")
        }
        if let conninfo = PrivateCluster.conninfoOfRunning(dataFolder: dataFolder, database: name) {
            return Opened(conninfo)
        }
        return try start()
    }

    /// What is there, running or not, or a new private cluster.
    func openOrMake() throws -> Opened {
        if let conninfo = uri ?? PrivateCluster.conninfoOfRunning(dataFolder: dataFolder, database: name) {
            return Opened(conninfo)
        }
        return try start()
    }

    /// What is there, or a new private cluster. Refused while a server runs on it.
    func make() throws -> Opened {
        if let uri { return Opened(uri) }
        guard !isRunning else {
            throw ArchiveFailure(
                "A server runs in \(dataFolder): it has a database already. Stop it and take another folder (--data), "
                    + "or move \(cluster) away.")
        }
        return try start()
    }

    private func start() throws -> Opened {
        var options = PrivateCluster.Options(dataFolder: dataFolder)
        // Long work has the machine to itself: fewer checkpoints, and an index's pages stay in memory.
        let megabytes = sysconf(Int32(_SC_PHYS_PAGES)) / 1024 * sysconf(Int32(_SC_PAGESIZE)) / 1024
        options.settings = [
            "shared_buffers": "\(min(max(megabytes / 8, 64), 2048))MB", "max_wal_size": "8GB",
            "checkpoint_timeout": "30min",
        ]
        if geteuid() == 0 {
            var information = stat()
            let place = hasCluster ? cluster : dataFolder
            if stat(place, &information) == 0, information.st_uid != 0, let user = getpwuid(information.st_uid) {
                let owner = String(cString: user.pointee.pw_name)
                guard hasCluster else {
                    throw ArchiveFailure(
                        "\(dataFolder) belongs to the user \(owner): do this as that user (sudo -u \(owner) hermes …).")
                }
                options.systemUser = owner
            }
        }
        let cluster = try PrivateCluster.start(options)
        do { try cluster.createDatabase(name) } catch {
            cluster.stop()
            throw error
        }
        return Opened(cluster.conninfo(database: name), cluster)
    }
}

extension DatabaseConfiguration {
    /// For work that takes as long as it takes, on a connection or two.
    static func forLongWork(_ conninfo: String, name: String) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration(conninfo)
        configuration.applicationName = "hermes \(name)"
        configuration.statementTimeout = .zero
        configuration.idleTransactionTimeout = .zero
        configuration.connectTimeout = .seconds(10)
        configuration.waitBound = .seconds(15)
        return configuration
    }
}
