import Glibc
import Synchronization

/// The postmaster of a private cluster: started, watched, stopped; one that an earlier program left is stopped first.
final class ServerProcess: Sendable {
    private let files: ClusterFiles
    private let binaries: PostgresBinaries
    private let runner: Runner
    private let options: PrivateCluster.Options
    private let socketFolder: String
    private let child = Mutex<ChildProcess?>(nil)

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

    var processID: Int32 { child.withLock { $0?.processID ?? 0 } }

    var isRunning: Bool { child.withLock { $0.map { $0.exitCode == nil } ?? false } }

    func start() throws {
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

    private func startOnce() throws -> Bool {
        var settings = options.settings
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
        var command = [binaries.path("postgres"), "-D", files.cluster]
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) { command += ["-c", "\(name)=\(value)"] }
        let log = try files.openLog()
        defer { close(log) }
        let started = try ChildProcess.start(
            runner.command(command, dyingWithParent: true), environment: runner.environment, output: log)
        child.withLock { $0 = started }
        var left = Int(options.startLimitSeconds * 200)
        while left > 0 {
            if started.exitCode != nil { return false }
            if isReady(started.processID) { return true }
            left -= 1
            usleep(5000)
        }
        stop()
        throw PrivateCluster.Failure(
            "PostgreSQL was not ready after \(Int(options.startLimitSeconds)) s. The end of \(files.log):\n"
                + files.lastWords)
    }

    /// postmaster.pid: process, data folder, start time, port, socket folder, address, shared memory, status
    /// (PostgreSQL's utils/pidfile.h).
    private func isReady(_ processID: Int32) -> Bool {
        let lines = (files.readFile(files.postmasterFile) ?? "").split(
            separator: "\n", omittingEmptySubsequences: false)
        return lines.count >= 8 && Int32(lines[0]) == processID && lines[7].hasPrefix("ready")
    }

    func stop() {
        guard let child = child.withLock({ $0 }), child.exitCode == nil else { return }
        for (signal, seconds) in [(SIGINT, 30.0), (SIGQUIT, 10.0), (SIGKILL, 10.0)] {
            child.signal(signal)
            if child.wait(seconds: seconds) != nil { return }
        }
    }

    func forget() { child.withLock { $0 = nil } }

    /// Ends a postmaster that outlived the program that started it, and removes a postmaster.pid whose process is
    /// gone or another program. The folder's lock is held, so no other Hermes is using it.
    func stopOrphan() throws {
        guard let first = files.readFile(files.postmasterFile)?.split(separator: "\n").first,
            let processID = Int32(first), processID > 1
        else { return }
        guard isPostmasterHere(processID) else {
            unlink(files.postmasterFile)
            return
        }
        // It may be ending already, since its parent is gone.
        for (signal, tenths) in [(Int32(0), 5), (SIGINT, 300), (SIGQUIT, 100), (SIGKILL, 50)] {
            if signal != 0 { kill(processID, signal) }
            for _ in 0..<tenths {
                guard isPostmasterHere(processID) else { return }
                usleep(100_000)
            }
        }
        throw PrivateCluster.Failure(
            "The PostgreSQL server (process \(processID)) that an earlier start left in \(files.cluster) does not end.")
    }

    private func isPostmasterHere(_ processID: Int32) -> Bool {
        guard let command = files.readFile("/proc/\(processID)/cmdline") else { return false }
        let arguments = command.split(separator: "\0")
        return arguments.contains { $0.hasSuffix("postgres") } && arguments.contains { $0 == files.cluster }
    }
}
