import Core
import Foundation
import Postgres
import Wire

/// A real SMTP server in a process of its own (aiosmtpd), which fails where a recipient's name tells it to: see
/// `smtp_server.py`.
public final class Postbox: Sendable {
    /// What it keeps of a mail.
    public struct Letter {
        public let json: JSONObject
        public var text: String { json["text"]?.string ?? "" }
        public var html: String { json["html"]?.string ?? "" }
        public var recipients: [String] { json["recipients"]?.array?.compactMap(\.string) ?? [] }
        /// The first header of a name, decoded.
        public func header(_ name: String) -> String? {
            json["headers"]?.array?.first { $0.array?.first?.string == name }?.array?.last?.string
        }
        public var headerNames: [String] { json["headers"]?.array?.compactMap { $0.array?.first?.string } ?? [] }
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }
    }

    public let folder: String
    public let port: Int
    private let child: ChildProcess

    private init(folder: String, port: Int, child: ChildProcess) {
        self.folder = folder
        self.port = port
        self.child = child
    }

    /// Starts one and waits until it listens.
    ///
    /// - Parameters:
    ///   - folder: where it keeps what it gets; a new one where none is given.
    ///   - port: any that is free where none is given.
    public static func open(
        _ loop: Loop, folder given: String? = nil, port: Int = 0, _ arguments: [String] = []
    ) async throws -> Postbox {
        let folder = given ?? NSTemporaryDirectory() + "hermes-mail-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: folder + "/port")
        guard let program = Bundle.module.path(forResource: "smtp_server", ofType: "py") else {
            throw Failure("smtp_server.py is not among the tests' resources")
        }
        let log = "\(folder)/log"
        let output = Glibc.open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        defer { close(output) }
        let child = try ChildProcess.start(
            [
                "/usr/bin/setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", program, folder, "--port", "\(port)",
            ] + arguments, environment: ProcessInfo.processInfo.environment, output: output)
        let isUp = try await eventually(loop) {
            access("\(folder)/port", F_OK) == 0 || child.exitCode != nil
        }
        guard isUp, let number = Int((try? String(contentsOfFile: "\(folder)/port", encoding: .utf8)) ?? "") else {
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw Failure("the SMTP server of the tests does not start (scripts/setup installs it): \(said)")
        }
        return Postbox(folder: folder, port: number, child: child)
    }

    /// Ends it; what it got stays.
    public func stop() async throws {
        child.signal(SIGKILL)
        _ = try await blocking { [child] in child.wait(seconds: 60) }
    }

    deinit { child.signal(SIGKILL) }

    public func remove() { try? FileManager.default.removeItem(atPath: folder) }

    public var url: String { "smtp://127.0.0.1:\(port)" }

    /// The mails that it has accepted.
    public var letters: [Letter] { lines("mails").map(Letter.init) }
    /// What was said to it, in order: `rcpt`, `dot`, `auth`…
    public var events: [JSONObject] { lines("events") }

    public func events(_ step: String) -> [JSONObject] { events.filter { $0["step"]?.string == step } }

    private func lines(_ name: String) -> [JSONObject] {
        guard let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) else { return [] }
        // What is being written has no line end yet.
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .compactMap { try? JSONParser.parse(Array($0.utf8)).object }
    }

    /// A certificate for localhost and its key in one file, made now.
    public static func makeCertificate(in folder: String) async throws -> String {
        let path = "\(folder)/certificate.pem"
        let output = try await blocking {
            try ChildProcess.run(
                [
                    "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", path + ".key", "-out", path + ".crt",
                ], environment: ProcessInfo.processInfo.environment
            ).output
        }
        guard let key = try? String(contentsOfFile: path + ".key", encoding: .utf8),
            let certificate = try? String(contentsOfFile: path + ".crt", encoding: .utf8)
        else { throw Failure("openssl made no certificate: \(output)") }
        try (key + certificate).write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}
