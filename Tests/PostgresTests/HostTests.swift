import Core
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// Where a connection is looked for: several hosts, names, time limits, servers that take no writes.
@Suite struct HostTests {
    /// One of them does not know all settings of a session, and would be taken for one that does not answer.
    @Test(arguments: [(130_016, "13.16"), (140_000, "14.0"), (90_624, "9.6")])
    func aPostgreSQLThatIsTooOldIsToldAsSuch(version: Int32, told: String) {
        #expect(Connection.tooOld(version) == "PostgreSQL \(told) is too old: take PostgreSQL 15 or newer")
    }

    @Test(arguments: [0, 150_000, 170_012]) func othersAreNot(version: Int32) {
        #expect(Connection.tooOld(version) == nil)
    }

    private func candidates(
        _ conninfo: String, resolve: @escaping Hosts.Resolve = { _ in [] }
    ) async throws -> [Hosts.Candidate] {
        let worker = Worker(name: "test")
        let found = try await worker.run { _, loop in
            let hosts = Hosts(loop: loop, configuration: DatabaseConfiguration(conninfo), resolve: resolve)
            var found: [Hosts.Candidate] = []
            let done = Waiter()
            hosts.find {
                found = $0
                done.resume()
            }
            try await done.wait()
            return found
        }
        await worker.stop()
        return found
    }

    @Test func eachHostIsACandidateWithItsPortAndNamesHaveAllTheirAddresses() async throws {
        let found = try await candidates("host=one.example,/run/postgres,::1 port=1,2,3 dbname=x") { name in
            name == "one.example" ? ["192.0.2.1", "192.0.2.2"] : []
        }
        #expect(found.map(\.host) == ["one.example", "one.example", "/run/postgres", "::1"])
        #expect(found.map(\.address) == ["192.0.2.1", "192.0.2.2", nil, nil])
        #expect(found.map(\.port) == ["1", "1", "2", "3"])
        #expect(found.allSatisfy { $0.sessionAttributes == "read-write" })
    }

    @Test func oneHostMayBeOfAnyKindAndWhatIsSaidCounts() async throws {
        #expect(try await candidates("host=/run/postgres").map(\.sessionAttributes) == [nil])
        let given = try await candidates("postgresql://10.0.0.1:5433,10.0.0.2/x?target_session_attrs=any")
        #expect(given.map(\.sessionAttributes) == ["any", "any"])
        #expect(given.map(\.port) == ["5433", "5432"] || given.map(\.port) == ["5433", ""])
        let preferred = try await candidates("host=10.0.0.1,10.0.0.2 target_session_attrs=prefer-standby")
        #expect(preferred.map(\.sessionAttributes) == ["standby", "standby", "any", "any"])
    }

    @Test func aHostThatDoesNotAnswerLeavesTimeForTheNextOne() async throws {
        let shared = try await TestDatabase.make()
        let silent = try SilentServer()
        defer { silent.close() }
        var configuration = DatabaseConfiguration(
            "host=127.0.0.1,\(shared.cluster.socketFolder) port=\(silent.port),5432 user=postgres dbname=\(shared.name)"
        )
        configuration.connectTimeout = .milliseconds(600)
        configuration.waitBound = .seconds(20)
        let settled = configuration
        let worker = Worker(name: "test")
        try await worker.run { _, loop in
            let database = Database(loop: loop, configuration: settled)
            try await expectOne(database.read("SELECT 1"))
            try await expectOne(database.write("SELECT 1"))
            await database.close()
        }
        await worker.stop()
    }

    @Test func nameServiceThatHangsHoldsUpNobody() async throws {
        let worker = Worker(name: "test")
        let asked = Waiter()
        let mayAnswer = DispatchSemaphore(value: 0)
        try await worker.run { _, loop in
            var configuration = DatabaseConfiguration("host=slow.example dbname=x")
            configuration.waitBound = .milliseconds(200)
            let hosts = Hosts(loop: loop, configuration: configuration) { _ in
                asked.resume()
                mayAnswer.wait()
                return []
            }
            let database = Database(loop: loop, configuration: configuration, listener: nil, hosts: hosts)
            let error = await failure(of: { try await database.write("SELECT 1") })
            // The bound on waiting was kept, though the name is still being looked up.
            #expect((error as? PostgresError)?.kind == .unavailable)
            try await asked.wait()
            await database.close()
        }
        mayAnswer.signal()
        await worker.stop()
    }

    @Test func ofSeveralHostsOnlyOneThatTakesWritesWillDo() async throws {
        let shared = try await TestDatabase.make()
        try await shared.execute("ALTER DATABASE \(shared.name) SET default_transaction_read_only = on")
        let folder = shared.cluster.socketFolder
        for (hosts, serves) in [(folder, true), ("\(folder),\(folder)", false)] {
            let settled = DatabaseConfiguration("host=\(hosts) user=postgres dbname=\(shared.name)")
            let worker = Worker(name: "test")
            await worker.run { _, loop in
                let database = Database(loop: loop, configuration: settled)
                let error = await failure(of: { try await database.write("SELECT 1") })
                #expect((error == nil) == serves, "\(String(describing: error))")
                if let error { #expect("\(error)".contains("read-only")) }
                await database.close()
            }
            await worker.stop()
        }
    }

    @Test func aConnectionToAServerThatTakesNoWritesLeavesThePool() async throws {
        let shared = try await TestDatabase.make()
        try await shared.execute("CREATE TABLE entry (id int)")
        try await shared.execute("ALTER DATABASE \(shared.name) SET default_transaction_read_only = on")
        try await shared.withDatabase { _, database in
            let error = await failure(of: { try await database.write("INSERT INTO entry VALUES (1)") })
            #expect((error as? PostgresError)?.sqlState == "25006")
            try await shared.execute(
                "BEGIN READ WRITE; ALTER DATABASE \(shared.name) RESET ALL; COMMIT")
            _ = try await database.write("INSERT INTO entry VALUES (1)")
            // In a transaction that is to be read-only it is the statement's fault: the connection stays.
            let before = try await database.write("SELECT pg_backend_pid()").int(0, 0)
            let own = await failure(of: {
                try await database.transaction(readOnly: true) {
                    _ = try await $0.execute("INSERT INTO entry VALUES (2)")
                }
            })
            #expect((own as? PostgresError)?.sqlState == "25006")
            let after = try await database.write("SELECT pg_backend_pid()").int(0, 0)
            #expect(before == after)
        }
    }

    /// Takes connections and never says anything.
    private struct SilentServer {
        let descriptor: Int32
        let port: UInt16

        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    #expect(bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0)
                    #expect(getsockname(descriptor, $0, &length) == 0)
                }
            }
            port = UInt16(bigEndian: address.sin_port)
        }

        func close() { Glibc.close(descriptor) }
    }
}
