import CLibPQ
import Glibc

/// A PostgreSQL server that belongs to this program: made in a data folder, reached over a Unix socket in a folder
/// that only its owner may enter, started again when it ends unasked, stopped with the program (killed or not).
///
/// Layout under the data folder: `postgres/` (the cluster), `postgres.log` (what PostgreSQL logs), `socket/`,
/// `cluster.lock` (held while in use). The log tells of the server, not of statements and their data. Durability is as
/// PostgreSQL ships it unless `isDurable` is false. Its calls block (starting takes a second the first time, 0.1 s
/// later): call them before the workers start.
public final class PrivateCluster: Sendable {
    public struct Options: Sendable {
        public var dataFolder: String
        /// PostgreSQL's bin folder; found by itself when nil.
        public var binaries: String?
        /// Who runs the server when this program is root, since PostgreSQL refuses to run as root.
        public var systemUser = "postgres"
        public var maxConnections = 100
        /// Other server settings, such as `["shared_buffers": "64MB"]`.
        public var settings: [String: String] = [:]
        /// False only for tests: acknowledged writes may then be lost when the machine fails.
        public var isDurable = true
        /// How long to wait until the server says that it is starting. From then on there is no limit: recovery after
        /// a crash takes as long as it takes.
        public var startLimitSeconds = 120.0
        /// Called every ten seconds of a start that takes long, with the seconds so far and the last line of the log.
        public var onSlowStart: @Sendable (_ seconds: Int, _ lastLine: String) -> Void = { _, _ in }
        /// Bytes from which on `postgres.log` becomes `postgres.log.1`.
        public var logLimit = 10 << 20
        /// Called with the exit code, on a thread of its own, when the server ended unasked and is about to be started
        /// again.
        public var onUnexpectedEnd: @Sendable (Int32) -> Void = { _ in }
        public init(dataFolder: String) { self.dataFolder = dataFolder }
    }

    /// Why a cluster can't be started; the text is meant for who runs the program.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        public let description: String
        init(_ description: String) { self.description = description }
    }

    public let options: Options
    public let binaries: PostgresBinaries
    public let socketFolder: String
    let files: ClusterFiles
    private let lock: FolderLock
    private let server: ServerProcess

    /// Makes the cluster where there is none yet, starts it, and waits until it accepts connections.
    public static func start(_ options: Options) throws -> PrivateCluster { try PrivateCluster(options) }

    private init(_ options: Options) throws {
        self.options = options
        let runner = try Runner(systemUser: options.systemUser)
        files = try ClusterFiles(dataFolder: options.dataFolder, runner: runner)
        do {
            binaries = try PostgresBinaries.find(folder: options.binaries, majorVersion: files.majorVersion)
        } catch let failure as ChildProcess.Failure {
            throw Failure("\(files.cluster): \(failure)")
        }
        lock = try FolderLock(path: files.lock, folder: files.dataFolder)
        try Self.initialize(files, binaries, runner)
        socketFolder = try files.makeSocketFolder()
        server = ServerProcess(files: files, binaries: binaries, runner: runner, options: options, socketFolder)
        try server.start()
    }

    deinit { stop() }

    /// How to reach a database of this cluster, for `DatabaseConfiguration`.
    public func conninfo(database: String = "postgres") -> String {
        Self.conninfo(socketFolder, database)
    }

    private static func conninfo(_ socketFolder: String, _ database: String) -> String {
        // Errors of statements come here anyway, and may carry the values of a row: they are not for the server's log.
        "host=\(quotedForConninfo(socketFolder)) port=5432 user=postgres dbname=\(quotedForConninfo(database)) "
            + "options='-c log_min_messages=fatal'"
    }

    /// How to reach the private cluster of a data folder that another program runs; nil where none does, or where this
    /// user may not look.
    public static func conninfoOfRunning(dataFolder: String, database: String) -> String? {
        socketFolder(ofRunning: dataFolder + "/postgres").map { conninfo($0, database) }
    }

    /// The folder of a running cluster's socket: the fifth line of its postmaster.pid.
    public static func socketFolder(ofRunning cluster: String) -> String? {
        guard let file = fopen(cluster + "/postmaster.pid", "re") else { return nil }
        defer { fclose(file) }
        var content = [UInt8](repeating: 0, count: 8192)
        let count = fread(&content, 1, content.count, file)
        let lines = String(decoding: content[..<count], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 4, let process = Int32(lines[0]), kill(process, 0) == 0 || errno == EPERM else {
            return nil
        }
        return String(lines[4])
    }

    /// The postmaster's process.
    public var processID: Int32 { server.processID }

    public var isRunning: Bool { server.isRunning }

    /// Fast shutdown: open transactions are rolled back, all else is on disk. After 30 s, immediate shutdown.
    public func stop() {
        server.stop()
        files.removeSocketFolder(socketFolder)
        lock.release()
    }

    /// Lets go of the folder and leaves the server running, as when this program is killed; for tests of recovery.
    package func abandon() {
        server.forget()
        lock.release()
    }

    /// Runs SQL on a connection of its own, blocking; for setting up.
    public func execute(_ sql: String, database: String = "postgres") throws {
        let handle = PQconnectdb(conninfo(database: database))
        defer { PQfinish(handle) }
        guard PQstatus(handle) == CONNECTION_OK else {
            throw PostgresError(.unavailable, PostgresError.message(of: handle))
        }
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        guard let result = PQexec(handle, sql) else {
            throw PostgresError(.connectionLost(mayHaveRun: true), PostgresError.message(of: handle))
        }
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY else {
            throw PostgresError(result: result)
        }
    }

    /// Makes a database unless it is there.
    public func createDatabase(_ name: String) throws {
        do { try execute("CREATE DATABASE \"\(name)\"") } catch let error as PostgresError
            where error.sqlState == "42P04"
        {}
    }

    private static func initialize(
        _ files: ClusterFiles, _ binaries: PostgresBinaries, _ runner: Runner
    ) throws {
        if let version = files.majorVersion {
            guard version == binaries.majorVersion else {
                throw Failure(
                    "The data folder \(files.cluster) belongs to PostgreSQL \(version), but the programs found in "
                        + "\(binaries.folder) are version \(binaries.majorVersion). Install PostgreSQL \(version), or "
                        + "move the data with pg_upgrade.")
            }
            return
        }
        // initdb writes PG_VERSION early; a folder that it did not finish is made anew.
        let unfinished = try files.makeNewClusterFolder()
        let result = try files.reach(unfinished) { path, descriptor in
            try runner.run(
                [
                    binaries.path("initdb"), "--pgdata", path, "--username=postgres", "--auth=trust",
                    // Text is compared byte by byte, that is by code point, as MongoDB and so the reference does, with
                    // the fastest comparison and no dependence on the C library's version; what is a letter, and its
                    // upper case, follows Unicode.
                    "--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8", "--lc-messages=C", "--no-instructions",
                ], folder: descriptor)
        }
        guard result.exitCode == 0, rename(unfinished, files.cluster) == 0 else {
            throw Failure("PostgreSQL's initdb failed in \(files.cluster): \(result.output)")
        }
    }
}
