import Core
import Glibc
import HTTP
import TestSupport
import Testing

@Suite struct IdleConnectionsTests {
    /// Both ends are in this process: two descriptors a connection.
    @Test func tenThousandIdleConnectionsDisturbNobody() async throws {
        let wanted = 10_000
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var raised = rlimit(
            rlim_cur: rlim_t(2 * wanted + 2000), rlim_max: max(limit.rlim_max, rlim_t(2 * wanted + 2000)))
        if limit.rlim_cur < raised.rlim_cur, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) != 0 {
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(wanted, (Int(limit.rlim_cur) - 2000) / 2)
        if count < wanted {
            print("only \(count) idle connections: the system allows \(limit.rlim_cur) descriptors a process")
        }
        var limits = HTTPServer.Limits()
        limits.connectionsPerAddress = 20_000
        try await serveEcho(limits) { served in
            var clients: [RawClient] = []
            clients.reserveCapacity(count)
            for number in 0..<count {
                clients.append(try served.client())
                // The accept queue is finite.
                if number % 500 == 499 {
                    try await until(served.loop) { served.listener.connectionCount >= clients.count }
                }
            }
            try await until(served.loop) { served.listener.connectionCount >= count }
            #expect(served.server.connectionCount == count)
            let busy = try served.client()
            for _ in 0..<1000 {
                let answer = try await busy.get("/")
                #expect(answer.status == 200)
            }
            // They are served all the same when they wake up.
            for client in stride(from: 0, to: count, by: 100).map({ clients[$0] }) {
                #expect(try await client.get("/").status == 200)
            }
        }
    }
}
