import Core
import HTTP
import Synchronization
import Wire

/// An issuer's keys (RFC 7517), fetched when they are asked for and kept for an hour; sooner fetched again when a token
/// names one that is not among them, since issuers change theirs.
final class KeySet: Sendable {
    private static let life: UInt64 = 3_600_000_000_000
    /// Between two fetches, whatever keys tokens name: who makes tokens up has no issuer asked more often.
    private static let pause: UInt64 = 30_000_000_000

    private struct State {
        var keys: [JSONObject] = []
        /// On the monotonic clock; nil: never.
        var fetchedAt: UInt64?
    }
    private let state = Mutex(State())
    /// Where its discovery document or, where that is told, its keys lie.
    private let url: String
    private let isDiscovered: Bool
    private let pause: UInt64

    /// - Parameters:
    ///   - issuer: its URL, below which `/.well-known/openid-configuration` names the keys' place.
    ///   - keysURL: that place, where it is known.
    ///   - pause: nanoseconds between two fetches.
    init(issuer: String, keysURL: String?, pause: UInt64 = KeySet.pause) {
        isDiscovered = keysURL == nil
        url =
            keysURL ?? (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer)
            + "/.well-known/openid-configuration"
        self.pause = pause
    }

    /// The keys, among which that one should be.
    ///
    /// - Throws: 503 where the issuer does not answer and nothing is known from before.
    func keys(having keyId: String?, on loop: Loop) async throws -> [JSONObject] {
        let now = Loop.monotonicNow()
        let known = state.withLock { $0 }
        if let fetchedAt = known.fetchedAt {
            let isThere = keyId == nil || known.keys.contains { $0["kid"]?.string == keyId }
            if now - fetchedAt < (isThere ? KeySet.life : pause) { return known.keys }
        }
        do {
            let fetched = try await fetch(on: loop)
            state.withLock { $0 = State(keys: fetched, fetchedAt: now) }
            return fetched
        } catch  where !known.keys.isEmpty {
            Log.shared.warning("an issuer's keys cannot be fetched; the old ones are used", ["url": .text(url)])
            state.withLock { $0.fetchedAt = now - KeySet.life + pause }
            return known.keys
        }
    }

    private func fetch(on loop: Loop) async throws -> [JSONObject] {
        var place = url
        if isDiscovered {
            guard let found = try await ProviderClient.get(url, on: loop)["jwks_uri"]?.string else {
                throw ParseError.provider("\(url) names no keys")
            }
            place = found
        }
        guard let keys = try await ProviderClient.get(place, on: loop)["keys"]?.array else {
            throw ParseError.provider("\(place) holds no keys")
        }
        return keys.compactMap(\.object)
    }
}

/// Requests to providers, by a client that each worker keeps.
enum ProviderClient {
    /// Long for an issuer, short for who waits to be logged in: nanoseconds.
    private static let timeout: UInt64 = 10_000_000_000

    static func get(_ url: String, on loop: Loop) async throws -> JSONObject {
        let response = try await send(
            HTTPClientRequest(url: url, headers: [("Accept", "application/json")]), on: loop)
        guard response.status == 200, let object = (try? JSONParser.parse(response.body))?.object else {
            throw ParseError.provider("\(url) was answered with \(response.status)")
        }
        return object
    }

    /// - Throws: 503 where nobody answers.
    static func send(_ request: HTTPClientRequest, on loop: Loop) async throws -> HTTPClientResponse {
        let kept = loop.first(Kept.self) ?? Kept(HTTPClient(loop: loop))
        if loop.first(Kept.self) == nil { loop.keep(kept) }
        var request = request
        request.timeout = timeout
        request.maxResponseSize = 1 << 20
        do { return try await kept.client.send(request) } catch let error as HTTPClientError {
            throw ParseError.provider("\(error)")
        }
    }

    /// A client of its own: others are closed by those who made them.
    private final class Kept {
        let client: HTTPClient
        init(_ client: HTTPClient) { self.client = client }
    }
}

extension ParseError {
    /// Tells the log what is wrong with a provider, and the client to come again.
    static func provider(_ reason: String) -> ParseError {
        Log.shared.warning("a provider of log-ins cannot be asked", ["reason": .text(reason)])
        return ParseError(1, "The provider of this log-in cannot be asked now. Try again.", status: 503, retryAfter: 5)
    }
}
