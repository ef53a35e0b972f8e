import Foundation
import Postgres
import Synchronization

/// The PostgreSQL server of this test process: made at its first use, gone with the process.
public enum TestCluster {
    public static let shared: PrivateCluster = {
        let temporary = FileManager.default.temporaryDirectory.path
        removeLeftovers(temporary)
        let folder = temporary + "/hermes-tests-\(getpid())"
        // Its user must be able to enter.
        mkdir(folder, 0o755)
        removed.withLock { $0 = folder }
        do {
            var options = PrivateCluster.Options(dataFolder: folder)
            // A test machine may crash; its data is of no use then.
            options.isDurable = false
            options.maxConnections = 500
            options.settings = ["max_wal_size": "256MB", "autovacuum_naptime": "5s"]
            let cluster = try PrivateCluster.start(options)
            atexit {
                TestCluster.shared.stop()
                if let folder = TestCluster.removed.withLock({ $0 }) {
                    try? FileManager.default.removeItem(atPath: folder)
                }
            }
            return cluster
        } catch {
            preconditionFailure("the tests' PostgreSQL does not start: \(error)")
        }
    }()

    /// Removes what test processes that were killed could not.
    private static func removeLeftovers(_ temporary: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? [] {
            guard name.hasPrefix("hermes-tests-"), let process = pid_t(name.dropFirst(13)) else { continue }
            if kill(process, 0) != 0, errno == ESRCH {
                try? FileManager.default.removeItem(atPath: temporary + "/" + name)
            }
        }
    }

    private static let removed = Mutex<String?>(nil)
}
