import Glibc
import Synchronization

/// The postmaster of a private cluster: started, watched, stopped; one that an earlier program left is stopped first.
final class ServerProcess: Sendable {
    private let files: ClusterFiles
    private let binaries: PostgresBinaries
    private let runner: Runner
    private let options: PrivateCluster.Options
    private let socketFolder: String
    private let state = Mutex(State())

    private struct State {
        var child: ChildProcess?
        var wasReady = false
        var isStopping = false
        var watchesLog = false
    }

    init(
        files: ClusterFiles, binaries: PostgresBinaries, runner: Runner, options: PrivateCluster.Options,
        _ socketFolder: String
    ) {
        self.files = files
        self.binaries = binaries
        self.runner = runner
        self.options = options
        self.socketFolder = socketFolder
    }

    var processID: Int32 { state.withLock { $0.child?.processID ?? 0 } }

    var isRunning: Bool { state.withLock { $0.child.map { $0.exitCode == nil } ?? false } }

    func start() throws {
        try stopOrphan()
        watchLog()
        // After kill -9 of the postmaster its children need a moment to notice; until then a new one refuses.
        var attempts = 0
        while true {
            attempts += 1
            if try startOnce() { return }
            guard attempts < 10, files.lastWords.contains("still in use") else {
                throw PrivateCluster.Failure(
                    "PostgreSQL did not start. The end of \(files.log):\n\(files.lastWords)")
            }
            usleep(300_000)
        }
    }

    /// Looks after the log's size, every few seconds, until the server is stopped.
    private func watchLog() {
        let isFirst = state.withLock { state in
            defer { state.watchesLog = true }
            return !state.watchesLog
        }
        guard isFirst else { return }
        let (files, limit) = (files, options.logLimit)
        var thread = pthread_t()
        let watch = Unmanaged.passRetained(
            LogWatch { [weak self] in
                guard let self, !state.withLock({ $0.isStopping }) else { return false }
                files.rotateLog(limit)
                return true
            })
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let watch = Unmanaged<LogWatch>.fromOpaque(argument).takeRetainedValue()
                while watch.look() { sleep(2) }
                return nil
            }, watch.toOpaque())
        if result == 0 { pthread_detach(thread) } else { watch.release() }
    }

    /// What the thread that watches the log does; false ends it.
    private final class LogWatch: Sendable {
        let look: @Sendable () -> Bool
        init(_ look: @escaping @Sendable () -> Bool) { self.look = look }
    }

    private func startOnce() throws -> Bool {
        var settings = [
            // What the log must not tell: the text of statements, and details, which quote rows.
            "log_min_error_statement": "panic", "log_error_verbosity": "terse",
        ].merging(options.settings) { _, given in given }
        settings["listen_addresses"] = ""
        settings["unix_socket_directories"] = socketFolder
        settings["unix_socket_permissions"] = "0700"
        settings["port"] = "5432"
        settings["max_connections"] = "\(options.maxConnections)"
        settings["cluster_name"] = "hermes"
        settings["logging_collector"] = "off"
        if !options.isDurable {
            settings["fsync"] = "off"
            settings["synchronous_commit"] = "off"
            settings["full_page_writes"] = "off"
        }
        let arguments = settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        let log = try files.openLog()
        defer { close(log) }
        let started = try files.reach(files.cluster) { path, descriptor in
            try ChildProcess.start(
                runner.command([binaries.path("postgres"), "-D", path] + arguments, dyingWithParent: true),
                environment: runner.environment, output: log, folder: descriptor,
                onExit: { [weak self] exitCode in self?.ended(exitCode) })
        }
        state.withLock { $0.child = started }
        var milliseconds = 0
        var silence = 0
        while started.exitCode == nil {
            switch status(started.processID) {
            case "ready"?:
                state.withLock { $0.wasReady = true }
                return true
            // Recovery, perhaps; it says so itself as long as it lives.
            case .some: silence = 0
            case nil: silence += 5
            }
            if Double(silence) > options.startLimitSeconds * 1000 {
                stop()
                throw PrivateCluster.Failure(
                    "PostgreSQL said nothing for \(Int(options.startLimitSeconds)) s. The end of \(files.log):\n"
                        + files.lastWords)
            }
            milliseconds += 5
            if milliseconds % 10_000 == 0 { options.onSlowStart(milliseconds / 1000, files.lastLine) }
            usleep(5000)
        }
        return false
    }

    /// What the postmaster says of itself: starting, standby, ready, stopping; nil before it says anything.
    ///
    /// postmaster.pid: process, data folder, start time, port, socket folder, address, shared memory, status
    /// (PostgreSQL's utils/pidfile.h).
    private func status(_ processID: Int32) -> String? {
        let lines = (files.readFile(files.postmasterFile) ?? "").split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 8, Int32(lines[0]) == processID else { return nil }
        return String(lines[7].prefix { $0 != " " })
    }

    /// Called on the thread that waited for the server: one that ends unasked is started again, as often as need be.
    private func ended(_ exitCode: Int32) {
        // One that never became ready is for `start()` to report.
        guard state.withLock({ $0.wasReady }) else { return }
        var pause: UInt32 = 100_000
        while !state.withLock({ $0.isStopping }) {
            options.onUnexpectedEnd(exitCode)
            state.withLock { $0.wasReady = false }
            if (try? start()) != nil {
                if state.withLock({ $0.isStopping }) { stop() }
                return
            }
            usleep(pause)
            pause = min(pause * 2, 5_000_000)
        }
    }

    func stop() {
        let child = state.withLock { state in
            state.isStopping = true
            return state.child
        }
        guard let child, child.exitCode == nil else { return }
        for (signal, seconds) in [(SIGINT, 30.0), (SIGQUIT, 10.0), (SIGKILL, 10.0)] {
            child.signal(signal)
            if child.wait(seconds: seconds) != nil { return }
        }
    }

    /// Leaves the server to itself.
    func forget() {
        state.withLock { state in
            state.child = nil
            state.isStopping = true
        }
    }

    /// Ends a postmaster that outlived the program that started it, and waits until its backends are gone too. The
    /// folder's lock is held, so no other Hermes is using it.
    private func stopOrphan() throws {
        try stopOrphanedPostmaster()
        // A postmaster that was killed leaves this too. Its number may live on: as another program's, or as a zombie
        // where nobody collects orphans, as in many containers; PostgreSQL would refuse to start.
        unlink(socketFolder + "/.s.PGSQL.5432.lock")
    }

    private func stopOrphanedPostmaster() throws {
        guard let first = files.readFile(files.postmasterFile)?.split(separator: "\n").first,
            let processID = Int32(first), processID > 1
        else { return }
        // It may be ending already, since its parent is gone.
        for (signal, tenths) in [(Int32(0), 5), (SIGINT, 300), (SIGQUIT, 100), (SIGKILL, 50)] {
            if signal != 0, isPostmasterHere(processID) { kill(processID, signal) }
            for _ in 0..<tenths {
                if !isPostmasterHere(processID), !isAnyoneAtWork() {
                    // PostgreSQL would refuse to start where the number belongs to another program of its user by
                    // now. The file guards against backends that are left over: there are none.
                    unlink(files.postmasterFile)
                    return
                }
                usleep(100_000)
            }
        }
        throw PrivateCluster.Failure(
            "The PostgreSQL server (process \(processID)) that an earlier start left in \(files.cluster) does not end.")
    }

    /// Whether any process works in the cluster's folder, as PostgreSQL's all do.
    private func isAnyoneAtWork() -> Bool {
        guard let directory = opendir("/proc") else { return false }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { name in
                String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.first?.isNumber == true, worksHere(name) { return true }
        }
        return false
    }

    private func worksHere(_ process: String) -> Bool {
        guard let folder = realpath("/proc/\(process)/cwd", nil) else { return false }
        defer { free(folder) }
        return String(cString: folder) == files.cluster
    }

    private func isPostmasterHere(_ processID: Int32) -> Bool {
        guard let command = files.readFile("/proc/\(processID)/cmdline") else { return false }
        let arguments = command.split(separator: "\0")
        return arguments.contains { $0.hasSuffix("postgres") }
            && (arguments.contains { $0 == files.cluster } || worksHere("\(processID)"))
    }
}
