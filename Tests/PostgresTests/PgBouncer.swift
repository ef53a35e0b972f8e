import Core
import Foundation
import Glibc
import Postgres
import TestSupport

/// PgBouncer as Debian has it, in front of one test's database.
final class PgBouncer: Sendable {
    private static let program = "/usr/sbin/pgbouncer"

    /// It refuses to run as root, and only root can become somebody else.
    static var isThere: Bool { access(program, X_OK) == 0 && geteuid() == 0 && getpwnam("postgres") != nil }

    let conninfo: String
    private let folder: String
    private let child: ChildProcess

    /// - Parameter mode: `transaction` or `session`.
    init(mode: String, to database: TestDatabase) throws {
        folder = "/tmp/hermes-pgbouncer-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        conninfo = "host=\(folder) port=5432 user=postgres dbname=pooled"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o777)
        // It takes no options for its sessions.
        let direct = database.conninfo.components(separatedBy: " options=")[0]
        try """
        [databases]
        pooled = \(direct)
        [pgbouncer]
        listen_port = 5432
        unix_socket_dir = \(folder)
        auth_type = any
        pool_mode = \(mode)
        max_client_conn = 200
        default_pool_size = 40
        """.write(toFile: folder + "/ini", atomically: true, encoding: .utf8)
        child = try ChildProcess.start(
            [PgBouncer.program, "-q", "-u", "postgres", folder + "/ini"], environment: ["PATH": "/usr/sbin:/usr/bin"])
    }

    func close() {
        child.signal(SIGTERM)
        if child.wait(seconds: 10) == nil { child.signal(SIGKILL) }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
