import Core
import Glibc
import HTTP
import Testing

@Suite struct UpgradeTests {
    private static let request = "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n"

    /// Plain upgraded sockets are ours under a number of their own; libmicrohttpd's is closed, and given out again.
    @Test func stoppingDoesNotShutDownWhoeverHasTheOldNumber() async throws {
        let opened = Event()
        let finished = Event()
        try await serve { _, responder in
            guard let upgraded = try? await responder.upgrade(to: "shout") else { return }
            upgraded.onStop = { upgraded.close() }
            opened.happen()
            try? await finished.wait(responder.loop)
        } test: { served in
            let client = try served.client()
            try await client.send(Self.request)
            #expect(try await client.response().status == 101)
            try await opened.wait(served.loop)
            // Until libmicrohttpd has closed its own, the number is not free.
            try await served.loop.sleep(nanoseconds: 5 * milliseconds)
            // Strangers take the numbers that are free.
            var strangers: [(Int32, Int32)] = []
            for _ in 0..<32 {
                var pair: [Int32] = [-1, -1]
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
                strangers.append((pair[0], pair[1]))
            }
            served.server.stopAccepting()
            for (one, other) in strangers {
                var byte: UInt8 = 1
                #expect(Glibc.send(one, &byte, 1, Int32(MSG_NOSIGNAL)) == 1)
                #expect(Glibc.send(other, &byte, 1, Int32(MSG_NOSIGNAL)) == 1)
                close(one)
                close(other)
            }
            finished.happen()
            #expect(try await client.rest() == "")
        }
    }

    @Test func drainingTellsUpgradedConnectionsAndWaitsForThem() async throws {
        let opened = Event()
        let told = Event()
        try await serve { _, responder in
            guard let upgraded = try? await responder.upgrade(to: "shout") else { return }
            upgraded.onStop = { told.happen() }
            opened.happen()
            try? await told.wait(responder.loop)
            _ = write(upgraded.descriptor, "bye", 3)
            upgraded.close()
        } test: { served in
            let client = try served.client()
            try await client.send(Self.request)
            #expect(try await client.response().status == 101)
            try await opened.wait(served.loop)
            await served.server.drain(atMost: 60_000 * milliseconds)
            #expect(try await client.rest() == "bye")
            #expect(served.server.connectionCount == 0)
        }
    }

    /// In a process of its own, because it takes away all descriptors.
    @Test func anUpgradeWithoutADescriptorEndsTheConnectionAndCountsNothing() async throws {
        await #expect(processExitsWith: .success) {
            let failed = Event()
            try await serve { _, responder in
                var limit = rlimit()
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                getrlimit(resource, &limit)
                var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
                setrlimit(resource, &none)
                let error = await failure { try await responder.upgrade(to: "shout") }
                setrlimit(resource, &limit)
                guard error as? HTTPServerError == .clientGone else { exit(2) }
                failed.happen()
            } test: { served in
                let client = try served.client()
                try await client.send(UpgradeTests.request)
                try await failed.wait(served.loop)
                _ = try await client.rest()
                while served.server.connectionCount > 0 || served.listener.connectionCount > 0 {
                    try await served.loop.sleep(nanoseconds: milliseconds)
                }
            }
            exit(0)
        }
    }
}
