import Core
import Foundation
import Glibc
import Postgres
import Synchronization
import Wire

/// `hermes serve` as a program of its own, the one that was built beside these tests.
public final class HermesProcess: Sendable {
    public static let appId = "test"
    public static let masterKey = "the master key of the tests"

    /// Where it listens, once `waitUntilReady` has returned.
    public var port: Int { boundPort.withLock { $0 } }
    private let boundPort = Mutex(0)
    public let child: ChildProcess
    /// What it printed goes here.
    public let log: String

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
        public init(description: String) { self.description = description }
    }

    /// A new, empty folder that the cluster's own user may enter; remove it with `removeFolder`.
    public static func makeFolder(_ name: String) -> String {
        let path = FileManager.default.temporaryDirectory.path + "/hermes-\(name)-\(getpid())"
        removeFolder(path)
        mkdir(path, 0o755)
        return path
    }

    public static var program: String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/hermes"
    }

    /// Starts a server; does not wait until it serves.
    ///
    /// - Parameters:
    ///   - folder: For its configuration and its log; its data too, unless it is given a database.
    ///   - conninfo: The database to use instead of a private cluster.
    ///   - options: Over those that all tests have.
    ///   - variables: Over the environment of the tests.
    public init(
        folder: String, name: String = "server", conninfo: String? = nil, options: [(String, JSON)] = [],
        variables: [String: String] = [:]
    ) throws {
        log = "\(folder)/\(name).log"
        // Port 0: the system gives one that is free, and the banner tells it.
        var configuration = JSONObject([
            ("appId", .string(HermesProcess.appId)), ("masterKey", .string(HermesProcess.masterKey)), ("port", 0),
        ])
        for (name, value) in options { configuration[name] = value }
        let file = "\(folder)/\(name).json"
        try Data(JSON.object(configuration).bytes).write(to: URL(fileURLWithPath: file))
        var environment = ProcessInfo.processInfo.environment
        environment["DATABASE_URL"] = conninfo
        environment.merge(variables) { _, new in new }
        let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { close(output) }
        // Tests that end badly leave no server behind.
        child = try ChildProcess.start(
            [
                "/usr/bin/setpriv", "--pdeathsig", "KILL", HermesProcess.program, "serve", "--config", file, "--data",
                "\(folder)/data",
            ], environment: environment, output: output)
    }

    /// Waits until it says that it serves.
    public func waitUntilReady(_ loop: Loop) async throws {
        for _ in 0..<6000 {
            if let match = printed.firstMatch(of: /listening on .* port ([0-9]+)\n/), let port = Int(match.1) {
                boundPort.withLock { $0 = port }
                return
            }
            if let exit = child.exitCode { throw Failure(description: "hermes ended with \(exit): \(printed)") }
            try await loop.sleep(nanoseconds: 10_000_000)
        }
        throw Failure(description: "hermes did not get ready: \(printed)")
    }

    public var printed: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The exit code, once it has ended; nil after `seconds`.
    public func exit(within seconds: Double) async throws -> Int32? {
        try await blocking { [child] in child.wait(seconds: seconds) }
    }

    /// Resident memory in bytes.
    public var residentMemory: Int {
        let fields = (try? String(contentsOfFile: "/proc/\(child.processID)/statm", encoding: .utf8)) ?? ""
        let pages = fields.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The postmaster of the private cluster under `folder`; nil where none runs.
    public static func postmaster(_ folder: String) -> pid_t? {
        let file = try? String(contentsOfFile: "\(folder)/data/postgres/postmaster.pid", encoding: .utf8)
        guard let line = file?.split(separator: "\n").first, let process = pid_t(line) else { return nil }
        return kill(process, 0) == 0 ? process : nil
    }
}

/// Runs `body` on a worker of its own.
public func onWorker(_ body: @Sendable (Loop) async throws -> Void) async throws {
    SignalSource.ignoreBrokenPipes()
    let worker = Worker(name: "client")
    var failure: (any Error)?
    do { try await worker.run { _, loop in try await body(loop) } } catch { failure = error }
    await worker.stop()
    if let failure { throw failure }
}

public func removeFolder(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
