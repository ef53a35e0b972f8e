import Core
import Wire

/// An OpenID Connect issuer: a client sends the ID token that it was given there (OpenID Connect Core 1.0, 3.1.3.7).
public struct OpenIDConnect: Provider {
    /// Seconds that clocks may differ.
    private static let leeway: Int64 = 60

    private let issuers: [String]
    private let audiences: [String]
    private let allowsExpired: Bool
    private let keys: KeySet

    /// - Parameters:
    ///   - issuers: what tokens name as their issuer; the first is where keys are looked for.
    ///   - audiences: the application's ids there: whom tokens must be for.
    ///   - keysURL: where the issuer's keys lie; nil: its discovery document tells.
    ///   - allowsExpired: whether a token that has expired still shows who it was.
    ///   - keysPause: nanoseconds between two fetches of keys.
    public init(
        issuers: [String], audiences: [String], keysURL: String? = nil, allowsExpired: Bool = false,
        keysPause: UInt64 = 30_000_000_000
    ) {
        self.issuers = issuers
        self.audiences = audiences
        self.allowsExpired = allowsExpired
        keys = KeySet(issuer: issuers.first ?? "", keysURL: keysURL, pause: keysPause)
    }

    public static let googleIssuers = ["https://accounts.google.com", "accounts.google.com"]
    public static let appleIssuers = ["https://appleid.apple.com"]

    public func prove(_ data: JSONObject, on loop: Loop) async throws -> String {
        // Apple's clients call it `token`.
        guard let text = data["id_token"]?.string ?? data["token"]?.string else {
            throw ParseError(101, "id_token is missing: the token that the issuer gave the client.")
        }
        do {
            let token = try JSONWebToken(text)
            let claims = try token.claims(signedBy: try await keys.keys(having: token.keyId, on: loop))
            return try subject(claims, now: Timestamp.now.milliseconds / 1000)
        } catch let fault as JSONWebToken.Fault {
            throw ParseError(101, "The id_token is not valid: \(fault.description).")
        }
    }

    /// Whom the claims are about, if they are for this application and hold now.
    private func subject(_ claims: JSONObject, now: Int64) throws(JSONWebToken.Fault) -> String {
        func seconds(_ name: String) -> Int64? { claims[name]?.number.flatMap { Int64(exactly: $0.rounded(.down)) } }
        guard let issuer = claims["iss"]?.string, issuers.contains(issuer) else { throw .init("another issued it") }
        let given = claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string].compactMap { $0 }
        guard given.contains(where: audiences.contains) else { throw .init("it is for another application") }
        if given.count > 1 || claims["azp"] != nil {
            guard let party = claims["azp"]?.string, audiences.contains(party) else {
                throw .init("another application asked for it")
            }
        }
        guard let end = seconds("exp") else { throw .init("it never ends") }
        guard allowsExpired || now < end + OpenIDConnect.leeway else { throw .init("it has expired") }
        for name in ["nbf", "iat"] {
            guard let begin = seconds(name) else { continue }
            guard begin <= now + OpenIDConnect.leeway else { throw .init("it does not hold yet") }
        }
        guard let subject = claims["sub"]?.string, !subject.isEmpty, subject.utf8.count <= 255 else {
            throw .init("it is about nobody")
        }
        return subject
    }
}
