import Core
import Foundation
import Glibc
import TestSupport
import Testing
import Wire

/// Requests of all routes, mutated: never a 5xx, the server lives on, its memory does not grow without bound.
///
/// For `HERMES_FUZZ_SECONDS` (3 by default), from `HERMES_FUZZ_SEED` on.
@Suite(.serialized) struct FuzzTests {
    @Test func noRequestIsTooBad() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["HERMES_FUZZ_SECONDS"].flatMap { Double($0) } ?? 3
        let seed = environment["HERMES_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        let folder = HermesProcess.makeFolder("fuzz")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            let server = try HermesProcess(folder: folder, conninfo: database.conninfo)
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            let thing = try await client.create("Thing", RequestFuzzer.thing)
            let user = try await client.signUp("someone")
            let fuzzer = RequestFuzzer(thing: thing, user: user.id, seed: seed)
            let found = Findings()
            var memory = 0
            let end = Loop.monotonicNow() + UInt64(seconds * 1e9)
            let crowd = 12
            let results = await loop.concurrently(crowd) { _ in
                while Loop.monotonicNow() < end, found.list.count < 10 {
                    let request = fuzzer.next()
                    found.count += 1
                    if found.count == 500 { memory = server.residentMemory }
                    let reply: Reply
                    do {
                        reply = try await client.send(
                            request.method, request.path, bytes: request.body,
                            session: request.hasSession ? user.token : nil, master: request.isMaster)
                    } catch {
                        found.add(request, "\(error)")
                        if server.child.exitCode != nil { return }
                        continue
                    }
                    if reply.status >= 500 { found.add(request, "\(reply.status) \(reply.text)") }
                }
            }
            for result in results { try result.get() }
            #expect(found.list == [], "seed \(seed), \(found.count) requests")
            #expect(server.child.exitCode == nil)
            #expect(found.count > 100)
            let grown = server.residentMemory - memory
            // Caches fill up; what leaks with each request would be seen.
            #expect(memory == 0 || grown < 150 << 20, "\(grown >> 20) MiB more after \(found.count) requests")
            try await client.must("GET", "/health")
            client.close()
            server.child.signal(SIGTERM)
            let exit = try await server.exit(within: 20)
            #expect(exit == 0)
        }
    }

    private final class Findings {
        var count = 0
        var list: [String] = []
        func add(_ request: RequestFuzzer.Request, _ what: String) {
            list.append(
                "\(request.method) \(request.path.prefix(1500)) \(String(decoding: request.body.prefix(1500), as: UTF8.self))"
                    + " → \(what.prefix(500))")
        }
    }
}
