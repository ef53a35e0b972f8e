import Core
import Foundation
import Glibc
import Postgres
import TestSupport

/// Postfix as Debian has it, with a queue, a log and mailboxes of its own; mail for anybody at example.com comes to one
/// folder.
final class Postfix: Sendable {
    private static let program = "/usr/sbin/postfix"

    /// It gives up rights before it delivers, which only root can.
    static var isThere: Bool { access(program, X_OK) == 0 && geteuid() == 0 && getpwnam("postfix") != nil }

    let port: Int
    private let folder: String

    private init(folder: String, port: Int) {
        self.folder = folder
        self.port = port
    }

    static func open(_ loop: Loop) async throws -> Postfix {
        let folder = "/tmp/hermes-postfix-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let postfix = Postfix(folder: folder, port: try freePort())
        do {
            try postfix.configure()
            try await postfix.run("start")
            // It takes connections a moment later.
            try await until(loop) { postfix.listens }
        } catch {
            let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
            await postfix.close()
            throw Postbox.Failure("Postfix does not start: \(error)\n\(log)")
        }
        return postfix
    }

    func close() async {
        try? await run("stop")
        try? FileManager.default.removeItem(atPath: folder)
    }

    var url: String { "smtp://127.0.0.1:\(port)" }

    /// The mails that have been delivered, as they lie in the mailbox.
    var letters: [Data] {
        let box = folder + "/mail/all/new"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: box)) ?? []
        return names.sorted().compactMap { FileManager.default.contents(atPath: "\(box)/\($0)") }
    }

    var log: String { (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? "" }

    private func run(_ action: String) async throws {
        let folder = folder
        let (exit, output) = try await blocking {
            try ChildProcess.run(
                [Postfix.program, "-c", folder + "/etc", action], environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
            )
        }
        guard exit == 0 else { throw Postbox.Failure("postfix \(action) ended with \(exit): \(output)") }
    }

    private func configure() throws {
        guard let owner = getpwnam("postfix")?.pointee, let nobody = getpwnam("nobody")?.pointee else {
            throw Postbox.Failure("there is no user postfix")
        }
        for (name, user) in [("", nil), ("/etc", nil), ("/queue", nil), ("/data", owner), ("/mail", nobody)] {
            let path = folder + name
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o755)
            if let user { chown(path, user.pw_uid, user.pw_gid) }
        }
        let main = """
            compatibility_level = 3.6
            queue_directory = \(folder)/queue
            data_directory = \(folder)/data
            maillog_file = \(folder)/log
            maillog_file_prefixes = \(folder)
            myhostname = postfix.example.org
            mydestination =
            alias_maps =
            inet_interfaces = 127.0.0.1
            inet_protocols = ipv4
            mynetworks = 127.0.0.0/8
            virtual_mailbox_domains = example.com
            virtual_mailbox_base = \(folder)/mail
            virtual_mailbox_maps = static:all/
            virtual_uid_maps = static:\(nobody.pw_uid)
            virtual_gid_maps = static:\(nobody.pw_gid)

            """
        var services = ["127.0.0.1:\(port) inet n - n - - smtpd", "postlog unix-dgram n - n - 1 postlogd"]
        services += ["pickup unix n - n 60 1 pickup", "qmgr unix n - n 300 1 qmgr", "cleanup unix n - n - 0 cleanup"]
        for (name, program) in [
            ("rewrite", "trivial-rewrite"), ("bounce", "bounce"), ("defer", "bounce"), ("trace", "bounce"),
            ("error", "error"), ("retry", "error"), ("proxymap", "proxymap"), ("anvil", "anvil"), ("tlsmgr", "tlsmgr"),
            ("smtp", "smtp"),
        ] { services.append("\(name) unix - - n - - \(program)") }
        services.append("virtual unix - n n - - virtual")
        try main.write(toFile: folder + "/etc/main.cf", atomically: true, encoding: .utf8)
        try (services.joined(separator: "\n") + "\n").write(
            toFile: folder + "/etc/master.cf", atomically: true, encoding: .utf8)
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        var place = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw Postbox.Failure("there is no free port") }
        return Int(place.sin_port.bigEndian)
    }

    private var listens: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        var place = Postfix.address(port)
        return withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
