import CCrypt
import Glibc
import Store
import Synchronization
import Wire

/// bcrypt, as libxcrypt computes it: off the workers' threads, since one hash takes tens of milliseconds.
///
/// Passwords are cut at 72 bytes by bcrypt itself, as with every Parse server.
public enum Passwords {
    /// The cost of new hashes: 2^10 rounds, as Parse has it.
    public static let cost: UInt = 10

    /// A `$2b$` hash of `password` under a new salt.
    public static func hash(_ password: String) async throws -> String? {
        try await offWorkers {
            let random = Random.bytes(16)
            let setting = random.withUnsafeBytes { random -> String? in
                let salt = crypt_gensalt_ra("$2b$", cost, random.baseAddress, Int32(random.count))
                defer { free(salt) }
                return salt.map { String(cString: $0) }
            }
            return setting.flatMap { compute(password, $0) }
        }
    }

    /// Whether `password` is the one that `hash` (`$2a$`, `$2b$`, `$2y$`) was made of; takes as long whatever the answer.
    public static func verify(_ password: String, _ hash: String) async throws -> Bool {
        try await offWorkers {
            guard let computed = compute(password, hash) else { return false }
            return Secret.matches(computed, hash)
        }
    }

    /// Hashes that are computed or wait for it, in this process, at most: some ten seconds' work of two cores. Past
    /// it a log-in is answered with 503, so that a flood of them does not grow without end.
    static let maximumWaiting = 256
    private static let waiting = Atomic<Int>(0)

    private static func offWorkers<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws -> Result {
        let now = waiting.wrappingAdd(1, ordering: .relaxed).newValue
        defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
        guard now <= maximumWaiting else {
            throw ParseError(
                1, "Too many passwords are being checked. Try again in a moment.", status: 503, retryAfter: 2)
        }
        // A detached task runs on Swift's own pool: the tasks of a worker would stay on the worker's thread.
        return await Task.detached(operation: body).value
    }

    /// A hash that no password has, to compute against where there is no user, so that the time tells nothing.
    static let nobody = "$2b$10$CwTycUXWue0Thq9StjUM0uJ8.zM4Q5m2x1b8v7nF0m9p3k6s2d1aG"

    private static func compute(_ password: String, _ setting: String) -> String? {
        // A NUL would end the password early; no user can have one with it.
        guard !password.utf8.contains(0) else { return nil }
        var data: UnsafeMutableRawPointer?
        var size: Int32 = 0
        defer { free(data) }
        guard let result = crypt_ra(password, setting, &data, &size) else { return nil }
        let hash = String(cString: result)
        return hash.hasPrefix("$2") ? hash : nil
    }
}
