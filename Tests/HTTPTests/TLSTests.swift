import Core
import Foundation
import HTTP
import Testing

@Suite struct TLSTests {
    @Test func aReloadedCertificateServesNewConnections() async throws {
        let folder = try Folder()
        let first = try folder.certificate("first")
        let second = try folder.certificate("second")
        try await serveEcho(tls: try TLS(certificateFile: first.certificate, keyFile: first.key)) { served in
            let url = "https://localhost:\(served.listener.port)/a?b"
            let before = HTTPClient(loop: served.loop)
            before.certificateAuthorities = first.certificate
            defer { before.close() }
            let answer = try await before.send(HTTPClientRequest(method: "POST", url: url, body: Array("c".utf8)))
            #expect(answer.status == 200)
            #expect(answer.body == Array("POST /a b c".utf8))

            try served.server.reload(tls: try TLS(certificateFile: second.certificate, keyFile: second.key))
            // The connection that is open goes on with the first; a new one finds the second.
            #expect(try await before.send(HTTPClientRequest(url: url)).status == 200)
            #expect(served.server.connectionCount == 1)
            let after = HTTPClient(loop: served.loop)
            after.certificateAuthorities = second.certificate
            defer { after.close() }
            #expect(try await after.send(HTTPClientRequest(url: url)).status == 200)
            // The second is not trusted by who knows only the first.
            let stranger = HTTPClient(loop: served.loop)
            stranger.certificateAuthorities = first.certificate
            defer { stranger.close() }
            let error = await failure { try await stranger.send(HTTPClientRequest(url: url)) }
            #expect(error is HTTPClientError)
        }
    }

    @Test func anUnusableCertificateIsRefused() async throws {
        #expect(
            await failure {
                try await serveEcho(tls: TLS(certificateChain: "no", privateKey: "no")) { _ in }
            } as? HTTPServerError == HTTPServerError.unusableCertificate)
    }

    @Test func largeBodiesGoBothWays() async throws {
        let folder = try Folder()
        let pair = try folder.certificate("large")
        let tls = try TLS(certificateFile: pair.certificate, keyFile: pair.key)
        try await serve(tls: tls) { request, responder in
            try? await responder.loop.sleep(nanoseconds: milliseconds)
            responder.respond(body: request.body)
        } test: { served in
            let client = HTTPClient(loop: served.loop)
            client.certificateAuthorities = pair.certificate
            defer { client.close() }
            let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
            let url = "https://localhost:\(served.listener.port)/"
            for _ in 0..<2 {
                let answer = try await client.send(HTTPClientRequest(method: "POST", url: url, body: body))
                #expect(answer.body == body)
            }
        }
    }
}

/// A folder that goes away with the test.
private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    /// A self-signed certificate for localhost.
    func certificate(_ name: String) throws -> (certificate: String, key: String) {
        let certificate = url.appendingPathComponent("\(name).pem").path
        let key = url.appendingPathComponent("\(name).key").path
        _ = try output(
            of: "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-keyout", key, "-out", certificate, "-subj", "/CN=\(name)", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ])
        return (certificate, key)
    }
}
