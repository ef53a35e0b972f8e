import Core
import Wire

/// Somebody else who knows users: an OpenID Connect issuer, GitHub.
public protocol Provider: Sendable {
    /// Whose data these are, as the provider names him: an id that never changes.
    ///
    /// - Parameters:
    ///   - data: what a client sends in `authData` under the provider's name.
    ///   - loop: of the worker that asks.
    /// - Throws: 101 where the data show nothing; 503 where the provider cannot be asked.
    func prove(_ data: JSONObject, on loop: Loop) async throws -> String
}
