import CCjose
import Core
import Glibc
import HTTP
import Synchronization
import TestSupport
import Wire

/// A key of an issuer under test, which signs tokens.
///
/// - Safety: unchecked, because cjose only reads a key that is made.
final class SigningKey: @unchecked Sendable {
    enum Kind { case rsa, ellipticCurve, shared([UInt8]) }

    let id: String
    let algorithm: String
    private let key: OpaquePointer

    init(_ kind: Kind, id: String, algorithm: String) {
        self.id = id
        self.algorithm = algorithm
        var error = cjose_err()
        switch kind {
        case .rsa:
            var exponent: [UInt8] = [1, 0, 1]
            key = cjose_jwk_create_RSA_random(2048, &exponent, 3, &error)
        case .ellipticCurve: key = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error)
        case .shared(let secret): key = cjose_jwk_create_oct_spec(secret, secret.count, &error)
        }
    }

    deinit { cjose_jwk_release(key) }

    /// What the issuer tells of it.
    var publicKey: JSON {
        var error = cjose_err()
        guard let text = cjose_jwk_to_json(key, false, &error) else { return .null }
        defer { free(text) }
        var json = (try? JSONParser.parse(Array(String(cString: text).utf8)))?.object ?? JSONObject()
        json["kid"] = .string(id)
        json["use"] = "sig"
        return .object(json)
    }

    /// A token in the compact form.
    ///
    /// - Parameter header: over what it says by itself.
    func sign(_ claims: JSON, header more: [(String, String)] = []) -> String {
        var error = cjose_err()
        guard let header = cjose_header_new(&error) else { return "" }
        defer { cjose_header_release(header) }
        for (name, value) in [("alg", algorithm), ("kid", id)] + more { cjose_header_set(header, name, value, &error) }
        let payload = claims.bytes
        guard let jws = cjose_jws_sign(key, header, payload, payload.count, &error) else { return "" }
        defer { cjose_jws_release(jws) }
        var text: UnsafePointer<CChar>?
        guard cjose_jws_export(jws, &text, &error), let text else { return "" }
        return String(cString: text)
    }
}

/// An OpenID Connect issuer, or another provider, on a worker of its own: answers each path with what it is told.
final class IssuerHost: Sendable {
    private let worker: Worker
    private let answers = Mutex<[String: JSON]>([:])
    private let all = Mutex<[String]>([])
    let port: Int

    /// `METHOD PATH` of what was asked for.
    var asked: [String] { all.withLock { $0 } }
    var url: String { "http://127.0.0.1:\(port)" }

    private init(worker: Worker, port: Int) {
        self.worker = worker
        self.port = port
    }

    /// Answers 404 where nothing is told.
    subscript(path: String) -> JSON? {
        get { answers.withLock { $0[path] } }
        set { answers.withLock { $0[path] = newValue } }
    }

    /// What an issuer with these keys tells of itself.
    func publish(_ keys: [SigningKey]) {
        self["/.well-known/openid-configuration"] = ["issuer": .string(url), "jwks_uri": .string(url + "/keys")]
        self["/keys"] = ["keys": .array(keys.map(\.publicKey))]
    }

    /// Claims that hold now.
    func claims(_ subject: String, for audience: String = "foro") -> JSONObject {
        let now = Double(time(nil))
        return JSONObject([
            ("iss", .string(url)), ("aud", .string(audience)), ("sub", .string(subject)), ("exp", .number(now + 600)),
            ("iat", .number(now - 1)),
        ])
    }

    static func open(_ body: (IssuerHost) async throws -> Void) async throws {
        let worker = Worker(name: "issuer")
        let box = Mutex<IssuerHost?>(nil)
        let port = try await worker.run { _, loop in
            let server = try HTTPServer(loop: loop) { request, responder in
                let host = box.withLock { $0 }
                host?.all.withLock { $0.append("\(request.method) \(request.path)") }
                guard let answer = host?[request.path] else {
                    return responder.respond(status: 404, body: Array("{}".utf8))
                }
                responder.respond(body: answer.bytes)
            }
            let listener = try Listener(port: 0)
            listener.add(server)
            listener.start(on: loop)
            loop.keep(Kept(server, listener))
            return listener.port
        }
        let host = IssuerHost(worker: worker, port: port)
        box.withLock { $0 = host }
        var failure: (any Error)?
        do { try await body(host) } catch { failure = error }
        await host.close()
        await worker.stop()
        if let failure { throw failure }
    }

    /// Nobody listens any more.
    func close() async {
        await worker.run { _, loop in
            guard let kept = loop.first(Kept.self) else { return }
            kept.listener.stop(on: loop)
            kept.server.stop()
            loop.release(kept)
        }
    }

    private final class Kept {
        let server: HTTPServer
        let listener: Listener
        init(_ server: HTTPServer, _ listener: Listener) { (self.server, self.listener) = (server, listener) }
    }
}
