import CCrypt
import Glibc
import HTTP
import Store
import Synchronization
import Wire

/// bcrypt, as libxcrypt computes it: off the workers' threads, since one hash takes tens of milliseconds.
///
/// bcrypt looks at 72 bytes. A longer password is digested first, and its hash says so by `sha256:` in front; hashes
/// that were imported without it are compared as those who made them did, by the first 72 bytes.
public enum Passwords {
    /// The cost of new hashes: 2^10 rounds, as Parse has it.
    public static let cost: UInt = 10

    private static let longest = 72
    private static let digestMark = "sha256:"

    /// A hash of `password` under a new salt: `$2b$…`, or `sha256:$2b$…`. nil where the system can't compute it.
    ///
    /// - Parameter address: who asks for it; see `Queue`.
    public static func hash(_ password: String, for address: String? = nil) async throws -> String? {
        try await offWorkers(address) {
            let random = Random.bytes(16)
            let setting = random.withUnsafeBytes { random -> String? in
                let salt = crypt_gensalt_ra("$2b$", cost, random.baseAddress, Int32(random.count))
                defer { free(salt) }
                return salt.map { String(cString: $0) }
            }
            guard let setting else { return nil }
            guard password.utf8.count > longest else { return compute(password, setting) }
            return compute(Digest.sha256(password), setting).map { digestMark + $0 }
        }
    }

    /// Whether `password` is the one that `hash` (`$2a$`, `$2b$`, `$2y$`) was made of; takes as long whatever the
    /// answer.
    public static func verify(_ password: String, _ hash: String, for address: String? = nil) async throws -> Bool {
        try await offWorkers(address) {
            let isDigested = hash.hasPrefix(digestMark)
            let plain = isDigested ? String(hash.dropFirst(digestMark.count)) : hash
            guard let computed = compute(isDigested ? Digest.sha256(password) : password, plain) else { return false }
            return Secret.matches(computed, plain)
        }
    }

    /// Hashes that are computed or wait for it, in this process, at most: some ten seconds' work of two cores. Past
    /// it a log-in is answered with 503, so that a flood of them does not grow without end.
    static let maximumWaiting = 256
    /// As many of them for one address, or one IPv6 network of 64 bits: it can't shut the others out.
    static let maximumWaitingForAddress = 64
    private static let waiting = Mutex((all: 0, byNetwork: [PeerAddress.Host: Int]()))

    private static func offWorkers<Result: Sendable>(
        _ address: String?, _ body: @escaping @Sendable () -> Result
    ) async throws -> Result {
        let network = address.flatMap { PeerAddress.Host($0) }?.network
        let isAdmitted = waiting.withLock { waiting in
            let own = network.flatMap { waiting.byNetwork[$0] } ?? 0
            guard waiting.all < maximumWaiting, network == nil || own < maximumWaitingForAddress else { return false }
            waiting.all += 1
            if let network { waiting.byNetwork[network] = own + 1 }
            return true
        }
        guard isAdmitted else {
            throw ParseError(
                1, "Too many passwords are being checked. Try again in a moment.", status: 503, retryAfter: 2)
        }
        defer {
            waiting.withLock { waiting in
                waiting.all -= 1
                guard let network, let own = waiting.byNetwork[network] else { return }
                waiting.byNetwork[network] = own > 1 ? own - 1 : nil
            }
        }
        return await HashingThreads.run(body)
    }

    /// A hash that no password has, to compute against where there is no user, so that the time tells nothing.
    static let nobody = "$2b$10$CwTycUXWue0Thq9StjUM0uJ8.zM4Q5m2x1b8v7nF0m9p3k6s2d1aG"

    private static func compute(_ password: String, _ setting: String) -> String? {
        // A NUL would end the password early; no user can have one with it.
        guard !password.utf8.contains(0) else { return nil }
        var data: UnsafeMutableRawPointer?
        var size: Int32 = 0
        defer { free(data) }
        // libxcrypt refuses passwords of 512 bytes and more; bcrypt would not look at them anyway.
        let bytes = password.utf8.prefix(longest).map { CChar(bitPattern: $0) } + [0]
        guard let result = crypt_ra(bytes, setting, &data, &size) else { return nil }
        let hash = String(cString: result)
        return hash.hasPrefix("$2") ? hash : nil
    }
}

extension Operation {
    /// The hash of a new password: one that was computed ahead of the transaction (`Operation.hashAhead`), or a new one.
    ///
    /// - Throws: 111 for a password that can't be, 503 while too many are computed.
    func hash(_ password: String) async throws -> String {
        guard !password.utf8.contains(0) else {
            throw ParseError(111, "A password cannot hold the character U+0000.")
        }
        if let ready = takeHash(of: password) { return ready }
        guard let hash = try await Passwords.hash(password, for: request.address) else {
            throw ParseError(1, "The password could not be hashed.")
        }
        return hash
    }
}

extension Accounts {
    /// Computes the hash of the password that a body brings, if it does, before a transaction is begun.
    public func hashAhead(_ body: JSONObject, for operation: Operation) async throws {
        guard case .string(let password)? = body["password"], !password.isEmpty, !password.utf8.contains(0) else {
            return
        }
        guard let hash = try await Passwords.hash(password, for: operation.request.address) else { return }
        operation.keepHash(hash, of: password)
    }
}
