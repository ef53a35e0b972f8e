import CCrypto

/// Secrets that come with a request, beside those that they must equal.
public enum Secret {
    /// Whether `given` is `secret`, in a time that tells nothing of where they differ; only their lengths show.
    /// Nothing equals a secret that is not set or empty.
    public static func matches(_ given: String, _ secret: String?) -> Bool {
        guard let secret, !secret.isEmpty, given.utf8.count == secret.utf8.count else { return false }
        return CRYPTO_memcmp(Array(given.utf8), Array(secret.utf8), secret.utf8.count) == 0
    }
}
