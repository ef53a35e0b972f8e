import Core
import Glibc
import Postgres

/// A PostgreSQL backend that does nothing any more and does not say so, as one whose machine or network hangs.
///
/// Stopped at a random moment it may hold a lock in shared memory, and everybody on the cluster would wait for it. So it
/// is stopped only while it waits for its client, when it holds none; and goes on after a while whatever the test does.
public struct StalledBackend: Sendable {
    private let process: pid_t

    /// Stops the backend whose process that is.
    /// - Throws: `Late` when it was at work each time.
    public init(_ process: pid_t, _ database: Database) async throws {
        self.process = process
        for _ in 0..<200 {
            kill(process, SIGSTOP)
            let release = database.loop.schedule(after: 500_000_000) { kill(process, SIGCONT) }
            let rows = try await database.write(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE pid = $1::int AND state = 'idle' AND wait_event = 'ClientRead'
                """, [.int(Int64(process))])
            // A timer that can't be cancelled any more has let it go: then this is another try.
            release.cancel()
            if rows.int(0, 0) == 1, Self.isStopped(process) {
                startThread {
                    sleep(20)
                    kill(process, SIGCONT)
                }
                return
            }
            kill(process, SIGCONT)
            try await database.loop.sleep(nanoseconds: 5_000_000)
        }
        throw Late()
    }

    public func resume() { kill(process, SIGCONT) }

    private static func isStopped(_ process: pid_t) -> Bool {
        guard let file = fopen("/proc/\(process)/stat", "r") else { return false }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 512)
        guard fgets(&text, 512, file) != nil else { return false }
        // `PID (NAME) STATE …`, of which NAME may hold blanks and parentheses.
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")), end + 2 < bytes.count else { return false }
        return bytes[end + 2] == UInt8(ascii: "T")
    }
}
