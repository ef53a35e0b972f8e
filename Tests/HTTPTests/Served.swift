import Core
import Foundation
import Glibc
import HTTP
import Synchronization

/// A server under test, on the worker that the test runs on.
struct Served {
    let loop: Loop
    let server: HTTPServer
    let listener: Listener

    func client(receiveBuffer: Int32? = nil, source: UInt8 = 1) throws -> RawClient {
        try RawClient(loop, port: listener.port, receiveBuffer: receiveBuffer, source: source)
    }
}

/// Serves on a worker and a free port of its own, runs `test` there, and stops all of it.
func serve(
    _ limits: HTTPServer.Limits = .init(), tls: TLS? = nil,
    configure: @Sendable (HTTPServer) -> Void = { _ in },
    _ handler: @escaping @Sendable (HTTPRequest, HTTPResponder) async -> Void,
    test: @Sendable (Served) async throws -> Void
) async throws {
    SignalSource.ignoreBrokenPipes()
    let worker = Worker()
    do {
        try await worker.run { _, loop in
            let server = try HTTPServer(loop: loop, limits: limits, tls: tls, handler: handler)
            configure(server)
            let listener = try Listener(port: 0, limits: limits)
            listener.add(server)
            listener.start(on: loop)
            defer {
                listener.stop(on: loop)
                server.stop()
            }
            try await test(Served(loop: loop, server: server, listener: listener))
        }
    } catch {
        await worker.stop()
        throw error
    }
    await worker.stop()
}

/// Something that a handler tells and a test waits for, at most ten seconds.
final class Event: Sendable {
    private let waiter = Waiter()
    func happen() { waiter.resume() }
    func wait(_ loop: Loop) async throws {
        let timer = loop.schedule(after: 10_000_000_000) { [waiter] in
            waiter.resume(throwing: RawClient.Failure.tooSlow)
        }
        defer { timer.cancel() }
        try await waiter.wait()
    }
}

final class Tally: Sendable {
    private let count = Atomic<Int>(0)
    func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}

/// What a handler or a hook tells, in order.
final class Notes: Sendable {
    private let entries = Mutex<[String]>([])
    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    var all: [String] { entries.withLock { $0 } }
}

/// Answers with what was asked: method, path, query and body.
let echo: @Sendable (HTTPRequest, HTTPResponder) async -> Void = { request, responder in
    let head = "\(request.method) \(request.path) \(request.query ?? "-") "
    responder.respond(headers: [("Content-Type", "text/plain")], body: Array(head.utf8) + request.body)
}

let milliseconds: UInt64 = 1_000_000

func serveEcho(
    _ limits: HTTPServer.Limits = .init(), tls: TLS? = nil, test: @Sendable (Served) async throws -> Void
) async throws {
    try await serve(limits, tls: tls, echo, test: test)
}

/// What `body` throws. (`#expect(throws:)` would run it off the worker.)
func failure<Result>(of body: () async throws -> Result) async -> (any Error)? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
