import Core
import Foundation
import Glibc
import HTTP
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// A port of this machine that somebody listens on.
private final class RawListener: Sendable {
    private let descriptor: Int32
    let port: Int

    init() {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(listening, $0, length)
                _ = listen(listening, 1)
                _ = getsockname(listening, $0, &length)
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        descriptor = listening
    }

    func close() { Glibc.close(descriptor) }
}

/// What a service manager and its signals do with a running server.
@Suite(.serialized) struct ServiceManagerTests {
    @Test func aRenewedCertificateIsReadOnSIGHUP() async throws {
        let folder = HermesProcess.makeFolder("signal")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        let first = try certificate("first", in: folder)
        let second = try certificate("second", in: folder)
        let (chain, key) = ("\(folder)/chain.pem", "\(folder)/key.pem")
        try replace(chain, by: first.chain)
        try replace(key, by: first.key)
        let manager = NotifySocket(path: "\(folder)/notify")
        try await onWorker { loop in
            let server = try HermesProcess(
                folder: folder, conninfo: database.conninfo,
                options: [("tlsCertificate", .string(chain)), ("tlsKey", .string(key))],
                variables: ["NOTIFY_SOCKET": "\(folder)/notify"])
            try await server.waitUntilReady(loop)
            #expect(try await blocking { manager.next() } == "READY=1")
            // Of one day.
            #expect(server.printed.contains("the certificate ends soon"))
            let old = HTTPClient(loop: loop)
            old.certificateAuthorities = first.chain
            let new = HTTPClient(loop: loop)
            new.certificateAuthorities = second.chain
            let url = "https://localhost:\(server.port)/parse/health"
            #expect(await status(old, url) == 200)
            #expect(await status(new, url) == nil)

            try replace(chain, by: second.chain)
            try replace(key, by: second.key)
            server.child.signal(SIGHUP)
            let reloading = try await blocking { manager.next() }
            #expect(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
            #expect(try await blocking { manager.next() } == "READY=1")
            #expect(await status(new, url) == 200)
            let stranger = HTTPClient(loop: loop)
            stranger.certificateAuthorities = first.chain
            #expect(await status(stranger, url) == nil)

            // One that can't be used changes nothing.
            try Data("no certificate".utf8).write(to: URL(fileURLWithPath: chain))
            server.child.signal(SIGHUP)
            _ = try await blocking { manager.next() }
            #expect(try await blocking { manager.next() } == "READY=1")
            let another = HTTPClient(loop: loop)
            another.certificateAuthorities = second.chain
            #expect(await status(another, url) == 200)
            try replace(chain, by: first.chain)
            server.child.signal(SIGHUP)
            _ = try await blocking { manager.next() }
            #expect(try await blocking { manager.next() } == "READY=1")
            try FileManager.default.removeItem(atPath: chain)
            server.child.signal(SIGHUP)
            _ = try await blocking { manager.next() }
            #expect(try await blocking { manager.next() } == "READY=1")
            #expect(await status(another, url) == 200)

            server.child.signal(SIGTERM)
            #expect(try await blocking { manager.next() } == "STOPPING=1")
            for client in [old, new, stranger, another] { client.close() }
            #expect(try await server.exit(within: 20) == 0, "\(server.printed)")
            let reasons = server.printed.split(separator: "\n").filter { $0.contains("the old one stays") }
            #expect(reasons.count == 3)
            #expect(reasons.filter { $0.contains("or they do not belong together") }.count == 2, "\(reasons)")
            #expect(reasons.last?.contains("Can't read \(chain): ") == true, "\(reasons)")
        }
    }

    @Test func aCertificateTellsForHowLongItIsGood() throws {
        let folder = HermesProcess.makeFolder("days")
        defer { removeFolder(folder) }
        let first = try certificate("first", in: folder, days: 20)
        let second = try certificate("second", in: folder)
        let certificate = try Certificate(TLS(certificateFile: first.chain, keyFile: first.key))
        #expect(certificate.ends - certificate.begins == 20 * 86_400_000)
        #expect(certificate.state(at: certificate.begins - 1) == .notYet)
        #expect(certificate.state(at: certificate.begins) == .good(days: 20))
        #expect(certificate.state(at: certificate.ends - 1000) == .good(days: 0))
        #expect(certificate.state(at: certificate.ends + 1) == .ended)
        for (chain, key) in [(first.chain, second.key), (first.key, first.key), (first.chain, first.chain)] {
            #expect(throws: HTTPServerError.unusableCertificate) {
                try Certificate(TLS(certificateFile: chain, keyFile: key))
            }
        }
    }

    @Test func doctorLooksAtTheCertificate() async throws {
        let folder = HermesProcess.makeFolder("doctor")
        defer { removeFolder(folder) }
        let soon = try certificate("soon", in: folder)
        let good = try certificate("good", in: folder, days: 30)
        for (chain, key, isHealthy, words) in [
            (good.chain, good.key, true, "ok    certificate"), (soon.chain, soon.key, true, "note  certificate"),
            (soon.chain, good.key, false, "BAD   certificate"), (soon.chain, "/nowhere", false, "BAD   certificate"),
        ] {
            let (exit, output) = try await blocking {
                try ChildProcess.run(
                    [
                        HermesProcess.program, "doctor", "--data", "\(folder)/data", "--port", "0",
                        "--tlsCertificate", chain, "--tlsKey", key,
                    ], environment: ProcessInfo.processInfo.environment)
            }
            #expect(output.contains(words), "\(output)")
            #expect((exit == 0) == isHealthy, "\(output)")
        }
    }

    @Test func whatCannotBeServedIsSaidInASentence() async throws {
        let folder = HermesProcess.makeFolder("cannot")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        let first = try certificate("first", in: folder)
        let second = try certificate("second", in: folder)
        let taken = RawListener()
        defer { taken.close() }
        for (options, words) in [
            (
                [("port", .number(Double(taken.port)))],
                "Can't listen on 127.0.0.1:\(taken.port): Address already in use."
            ),
            (
                [("tlsCertificate", .string(first.chain)), ("tlsKey", .string(second.key))],
                "or they do not belong together."
            ),
            ([("tlsCertificate", .string(first.chain)), ("tlsKey", "/nowhere")], "Can't read /nowhere: "),
        ] as [([(String, JSON)], String)] {
            let server = try HermesProcess(folder: folder, conninfo: database.conninfo, options: options)
            let exit = try await server.exit(within: 20)
            #expect(exit == 1)
            #expect(server.printed.contains("hermes: ") && server.printed.contains(words), "\(server.printed)")
        }
    }

    /// nil where no answer came.
    private func status(_ client: HTTPClient, _ url: String) async -> Int? {
        try? await client.send(HTTPClientRequest(url: url)).status
    }

    private func replace(_ path: String, by other: String) throws {
        try Data(contentsOf: URL(fileURLWithPath: other)).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    /// A self-signed certificate for localhost.
    private func certificate(_ name: String, in folder: String, days: Int = 1) throws -> (chain: String, key: String) {
        let (chain, key) = ("\(folder)/\(name).pem", "\(folder)/\(name).key")
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "\(days)",
            "-keyout", key, "-out", chain, "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost",
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        return (chain, key)
    }
}
