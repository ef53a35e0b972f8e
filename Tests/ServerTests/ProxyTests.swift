import Foundation
import Glibc
import Options
import TestSupport
import Testing
import Wire

/// Servers behind a proxy, and clients that pretend to be one.
@Suite struct ProxyTests {
    /// The status line of a request with these lines in its head.
    private func status(_ port: Int, _ path: String, _ headers: [String]) async throws -> String {
        try await blocking {
            let connection = RawConnection(port: port)
            connection.request("GET", path, headers: ["X-Parse-Master-Key: \(TestServer.masterKey)"] + headers)
            return String(connection.answer().prefix(12))
        }
    }

    @Test(arguments: ["/parse/schemas", "/metrics"])
    func onlyTheProxysOwnLineCounts(_ path: String) async throws {
        let office = try AddressSet(["203.0.113.0/24"])
        try await withServer { options in
            options.trustProxy = .hops(1)
            options.masterKeyIps = office
        } _: { server in
            let port = server.client.port
            let told = try await status(port, path, ["X-Forwarded-For: 198.51.100.1, 203.0.113.7"])
            #expect(told == "HTTP/1.1 200")
            // The proxy leaves the client's line and adds one of its own.
            let twoLines = try await status(
                port, path, ["X-Forwarded-For: 198.51.100.1", "x-forwarded-for: 203.0.113.7"])
            #expect(twoLines == "HTTP/1.1 200")
            let forged = try await status(
                port, path, ["X-Forwarded-For: 203.0.113.7", "X-Forwarded-For: 198.51.100.1"])
            #expect(forged == "HTTP/1.1 403")
            #expect(try await status(port, path, []) == "HTTP/1.1 403")
        }
    }

    @Test func aRightKeyFromAWrongAddressIsLogged() async throws {
        let folder = HermesProcess.makeFolder("address")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            let server = try HermesProcess(
                folder: folder, conninfo: database.conninfo,
                options: [("masterKeyIps", ["203.0.113.7"]), ("maintenanceKey", "the maintenance key of the tests")])
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            let wrong = try await client.send("GET", "/schemas", headers: [("X-Parse-Master-Key", "a guess")])
            #expect(wrong.status == 403)
            let right = try await client.send("GET", "/schemas", master: true)
            #expect(right.status == 403)
            client.close()
            server.child.signal(SIGTERM)
            #expect(try await server.exit(within: 20) == 0)
            let warnings = server.printed.split(separator: "\n").filter { $0.contains(" warning ") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("a right key came from an address that it is not for") == true)
            #expect(warnings.first?.contains("key=masterKey address=127.0.0.1 option=masterKeyIps") == true)
            #expect(!server.printed.contains(TestServer.masterKey))
        }
    }
}
