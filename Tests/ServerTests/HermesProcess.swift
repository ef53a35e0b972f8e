import Core
import Foundation
import Glibc
import Postgres
import TestSupport
import Wire

/// `hermes serve` as a program of its own, the one that was built beside these tests.
final class HermesProcess: Sendable {
    let port: Int
    let child: ChildProcess
    /// What it printed goes here.
    let log: String

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// A new, empty folder that the cluster's own user may enter; remove it with `removeFolder`.
    static func makeFolder(_ name: String) -> String {
        let path = FileManager.default.temporaryDirectory.path + "/hermes-\(name)-\(getpid())"
        removeFolder(path)
        mkdir(path, 0o755)
        return path
    }

    static var program: String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/hermes"
    }

    /// Starts a server; does not wait until it serves.
    ///
    /// - Parameters:
    ///   - folder: For its configuration and its log; its data too, unless it is given a database.
    ///   - conninfo: The database to use instead of a private cluster.
    init(folder: String, name: String = "server", conninfo: String? = nil) throws {
        port = HermesProcess.freePort()
        log = "\(folder)/\(name).log"
        let configuration: JSON = [
            "appId": .string(TestServer.appId), "masterKey": .string(TestServer.masterKey),
            "port": .number(Double(port)),
        ]
        let file = "\(folder)/\(name).json"
        try Data(configuration.bytes).write(to: URL(fileURLWithPath: file))
        var environment = ProcessInfo.processInfo.environment
        environment["DATABASE_URL"] = conninfo
        let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { close(output) }
        // Tests that end badly leave no server behind.
        child = try ChildProcess.start(
            [
                "/usr/bin/setpriv", "--pdeathsig", "KILL", HermesProcess.program, "serve", "--config", file, "--data",
                "\(folder)/data",
            ], environment: environment, output: output)
    }

    /// Waits until it answers.
    func waitUntilReady(_ loop: Loop) async throws {
        let client = Client(loop, port: port)
        defer { client.close() }
        for _ in 0..<3000 {
            if let exit = child.exitCode { throw Failure(description: "hermes ended with \(exit): \(printed)") }
            if let reply = try? await client.send("GET", "/health"), reply.status == 200 { return }
            try await loop.sleep(nanoseconds: 10_000_000)
        }
        throw Failure(description: "hermes did not answer: \(printed)")
    }

    var printed: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The exit code, once it has ended; nil after `seconds`.
    func exit(within seconds: Double) async throws -> Int32? {
        try await blocking { [child] in child.wait(seconds: seconds) }
    }

    /// Resident memory in bytes.
    var residentMemory: Int {
        let fields = (try? String(contentsOfFile: "/proc/\(child.processID)/statm", encoding: .utf8)) ?? ""
        let pages = fields.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The postmaster of the private cluster under `folder`; nil where none runs.
    static func postmaster(_ folder: String) -> pid_t? {
        let file = try? String(contentsOfFile: "\(folder)/data/postgres/postmaster.pid", encoding: .utf8)
        guard let line = file?.split(separator: "\n").first, let process = pid_t(line) else { return nil }
        return kill(process, 0) == 0 ? process : nil
    }

    /// A port that nobody listens on now.
    private static func freePort() -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(descriptor, address, length)
                getsockname(descriptor, address, &length)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// Runs `body` on a worker of its own.
func onWorker(_ body: @Sendable (Loop) async throws -> Void) async throws {
    SignalSource.ignoreBrokenPipes()
    let worker = Worker(name: "client")
    var failure: (any Error)?
    do { try await worker.run { _, loop in try await body(loop) } } catch { failure = error }
    await worker.stop()
    if let failure { throw failure }
}
