import CCjose
import Wire

/// A signed JSON Web Token (RFC 7519) in the compact form, verified by cjose.
struct JSONWebToken {
    /// Signatures by a key of which the half that verifies is public. Never `none`, and never one with a shared secret: a
    /// public key would be taken for it.
    private static let algorithms: [String: String] = [
        "RS256": "RSA", "RS384": "RSA", "RS512": "RSA", "PS256": "RSA", "PS384": "RSA", "PS512": "RSA",
        "ES256": "EC", "ES384": "EC", "ES512": "EC",
    ]
    private static let longest = 16 << 10

    private let text: String
    private let algorithm: String
    /// Which of the issuer's keys it names; nil: any.
    let keyId: String?

    /// What is wrong with a token.
    struct Fault: Error {
        let description: String
        init(_ description: String) { self.description = description }
    }

    init(_ text: String) throws(Fault) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= JSONWebToken.longest, parts.count == 3,
            let header = JSONWebToken.decode(parts[0])
        else { throw Fault("it is no signed JSON Web Token") }
        guard let algorithm = header["alg"]?.string, JSONWebToken.algorithms[algorithm] != nil else {
            throw Fault("it is not signed by a public key's algorithm")
        }
        // What must be understood and is not (RFC 7515, 4.1.11).
        guard header["crit"] == nil else { throw Fault("it asks for an extension") }
        self.text = text
        self.algorithm = algorithm
        keyId = header["kid"]?.string
    }

    private static func decode(_ part: Substring) -> JSONObject? {
        let plain = part.replacing("-", with: "+").replacing("_", with: "/")
        guard let bytes = Base64.decode(plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)) else {
            return nil
        }
        return (try? JSONParser.parse(bytes))?.object
    }

    /// What it claims, if one of the keys has signed it.
    ///
    /// - Parameter keys: JSON Web Keys (RFC 7517).
    func claims(signedBy keys: [JSONObject]) throws(Fault) -> JSONObject {
        let fitting = keys.filter { key in
            key["kty"]?.string == JSONWebToken.algorithms[algorithm] && (keyId == nil || key["kid"]?.string == keyId)
                && (key["use"] == nil || key["use"] == "sig") && (key["alg"] == nil || key["alg"]?.string == algorithm)
        }
        for key in fitting {
            if let bytes = verified(by: key) {
                guard let claims = (try? JSONParser.parse(bytes))?.object else { throw Fault("it claims nothing") }
                return claims
            }
        }
        throw Fault(fitting.isEmpty ? "its issuer has no such key" : "its signature is wrong")
    }

    /// The payload; nil where the key has not signed it.
    private func verified(by key: JSONObject) -> [UInt8]? {
        var error = cjose_err()
        let json = String(decoding: JSON.object(JSONWebToken.publicPart(of: key)).bytes, as: UTF8.self)
        guard let jwk = cjose_jwk_import(json, json.utf8.count, &error) else { return nil }
        defer { cjose_jwk_release(jwk) }
        guard let jws = cjose_jws_import(text, text.utf8.count, &error) else { return nil }
        defer { cjose_jws_release(jws) }
        guard cjose_jws_verify(jws, jwk, &error) else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard cjose_jws_get_plaintext(jws, &bytes, &count, &error), let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// The members that a public key is made of: what else an issuer tells is none of cjose's business.
    private static func publicPart(of key: JSONObject) -> JSONObject {
        JSONObject(key.members.filter { ["kty", "kid", "n", "e", "crv", "x", "y"].contains($0.key) })
    }
}
