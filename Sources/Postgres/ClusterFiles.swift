import Glibc

/// Which system user PostgreSQL's programs run as, and how they are started as such.
struct Runner: Sendable {
    let userID: uid_t
    let groupID: gid_t
    private let prefix: [String]

    /// As root, another user: PostgreSQL refuses to run as root.
    init(systemUser: String) throws {
        guard geteuid() == 0 else {
            userID = geteuid()
            groupID = getegid()
            prefix = []
            return
        }
        guard let user = getpwnam(systemUser) else {
            throw PrivateCluster.Failure(
                "PostgreSQL can't run as root, and there is no system user \(systemUser) to run it as.")
        }
        userID = user.pointee.pw_uid
        groupID = user.pointee.pw_gid
        prefix = ["--reuid", "\(userID)", "--regid", "\(groupID)", "--clear-groups"]
    }

    var environment: [String: String] {
        ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"]
    }

    /// The command line that runs `command` as the user; `dyingWithParent` sends it SIGINT when this program ends.
    func command(_ command: [String], dyingWithParent: Bool = false) -> [String] {
        let setpriv = "/usr/bin/setpriv"
        guard access(setpriv, X_OK) == 0 else { return command }
        let death = dyingWithParent ? ["--pdeathsig", "INT"] : []
        return prefix.isEmpty && death.isEmpty ? command : [setpriv] + prefix + death + ["--"] + command
    }

    func run(_ command: [String], folder: Int32? = nil) throws -> (exitCode: Int32, output: String) {
        try ChildProcess.run(self.command(command), environment: environment, folder: folder)
    }
}

/// The folders and files of a private cluster.
struct ClusterFiles: Sendable {
    let dataFolder: String
    /// Whether folders above the data folder are closed to the server's user.
    let isClosed: Bool
    let runner: Runner

    var cluster: String { dataFolder + "/postgres" }
    var log: String { dataFolder + "/postgres.log" }
    var lock: String { dataFolder + "/cluster.lock" }
    var postmasterFile: String { cluster + "/postmaster.pid" }

    init(dataFolder: String, runner: Runner) throws {
        self.runner = runner
        var path = ""
        for part in dataFolder.split(separator: "/") {
            path += (path.isEmpty && !dataFolder.hasPrefix("/") ? "" : "/") + part
            guard mkdir(path, 0o755) == 0 || errno == EEXIST || errno == EISDIR else {
                throw PrivateCluster.Failure("The folder \(path) can't be made: \(String(cString: strerror(errno))).")
            }
        }
        guard let resolved = realpath(dataFolder, nil) else {
            throw PrivateCluster.Failure("The data folder \(dataFolder) can't be reached.")
        }
        self.dataFolder = String(cString: resolved)
        free(resolved)
        // Only the user itself knows whether it can get there.
        let isRoot = geteuid() == 0
        isClosed = try isRoot && runner.run(["/usr/bin/test", "-x", self.dataFolder]).exitCode != 0
    }

    /// The cluster's major version; nil where there is no cluster yet.
    var majorVersion: Int? {
        readFile(cluster + "/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) }
    }

    /// Calls `body` with the path by which the server's user reaches `folder`, and with the descriptor that its
    /// program must be given for that, if any.
    ///
    /// Started as root, a data folder often lies where only root may go (/root itself). The folder is then opened
    /// here and handed on, so that no permission of the folders above has to be changed.
    func reach<Result>(_ folder: String, _ body: (String, Int32?) throws -> Result) throws -> Result {
        guard isClosed else { return try body(folder, nil) }
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw PrivateCluster.Failure("The folder \(folder) can't be opened: \(String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        return try body(ChildProcess.folderPath, descriptor)
    }

    /// An empty folder for initdb to fill: only its user may enter it, but it lies in a folder that may be ours.
    func makeNewClusterFolder() throws -> String {
        let folder = cluster + ".new"
        try removeTree(folder)
        guard mkdir(folder, 0o700) == 0, chown(folder, runner.userID, runner.groupID) == 0 else {
            throw PrivateCluster.Failure("The folder \(folder) can't be made: \(String(cString: strerror(errno))).")
        }
        return folder
    }

    /// The folder of the socket: within the data folder unless its path is too long for a socket (107 bytes) or
    /// closed to the server's user.
    func makeSocketFolder() throws -> String {
        var folder = dataFolder + "/socket"
        if isClosed || folder.utf8.count + "/.s.PGSQL.5432.lock".utf8.count > 107 {
            // FNV-1a, so that the same data folder finds the same place again.
            let hash = dataFolder.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            folder = "/tmp/hermes-\(String(hash, radix: 36))"
        }
        if mkdir(folder, 0o700) == 0 { _ = chown(folder, runner.userID, runner.groupID) }
        var information = stat()
        guard lstat(folder, &information) == 0, information.st_mode & S_IFMT == S_IFDIR,
            information.st_uid == runner.userID, information.st_mode & 0o077 == 0
        else {
            throw PrivateCluster.Failure(
                "\(folder) must be a folder that only the user who runs PostgreSQL may enter; remove it.")
        }
        return folder
    }

    func removeSocketFolder(_ folder: String) { if folder.hasPrefix("/tmp/") { rmdir(folder) } }

    /// Opens the log for PostgreSQL.
    func openLog() throws -> Int32 {
        let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | Int32(O_CLOEXEC), 0o640)
        guard descriptor >= 0 else {
            throw PrivateCluster.Failure("\(log) can't be written: \(String(cString: strerror(errno))).")
        }
        return descriptor
    }

    /// A log that has grown past `limit` bytes is copied to `postgres.log.1` and emptied: the server's processes keep
    /// its descriptor, and write at its end, wherever that is. What they write within the last instant of the copy is
    /// lost.
    func rotateLog(_ limit: Int) {
        var information = stat()
        guard stat(log, &information) == 0, information.st_size > limit else { return }
        let from = open(log, O_RDWR | Int32(O_CLOEXEC))
        let to = open(log + ".new", O_WRONLY | O_CREAT | O_TRUNC | Int32(O_CLOEXEC), 0o640)
        defer { for descriptor in [from, to] where descriptor >= 0 { close(descriptor) } }
        guard from >= 0, to >= 0 else { return }
        while true {
            let count = sendfile(to, from, nil, 1 << 20)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return }
            if count == 0 { break }
        }
        ftruncate(from, 0)
        rename(log + ".new", log + ".1")
    }

    /// The last line of the log.
    var lastLine: String { lastWords.split(separator: "\n").last.map(String.init) ?? "" }

    /// The last lines of the log, to show with a failure.
    var lastWords: String {
        (readFile(log) ?? "").split(separator: "\n").suffix(6).joined(separator: "\n")
    }

    func removeTree(_ path: String) throws {
        guard access(path, F_OK) == 0 else { return }
        _ = try ChildProcess.run(["/bin/rm", "-rf", "--", path], environment: runner.environment)
    }

    func readFile(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return String(decoding: content, as: UTF8.self) }
            content += chunk[..<count]
        }
    }
}
