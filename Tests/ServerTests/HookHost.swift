import Core
import Foundation
import Glibc
import HTTP
import TestSupport
import Wire

/// A server of an application's hooks, on the worker of a test: answers as it is told, and keeps what it was sent.
final class HookHost {
    struct Sent {
        let path: String
        let headers: [(name: String, value: String)]
        let bytes: [UInt8]
        var body: JSONObject { (try? JSONParser.parse(bytes))?.object ?? JSONObject() }
        func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
    }

    enum Answer {
        case json(JSON)
        case status(Int, headers: [(String, String)] = [], body: String = "{}")
        /// Only when `release` is called.
        case held(JSON)
    }

    private let loop: Loop
    private let listener: Listener
    private let server: HTTPServer
    private let state: State
    var port: Int { listener.port }
    var answer: Answer {
        get { state.answer }
        set { state.answer = newValue }
    }
    var sent: [Sent] { state.sent }

    private final class State {
        var answer: Answer
        var sent: [Sent] = []
        var held: [Waiter] = []
        init(_ answer: Answer) { self.answer = answer }
    }

    /// - Parameter port: where to listen; 0 for any that is free.
    init(_ loop: Loop, port: Int = 0, _ answer: Answer = .json([:])) throws {
        self.loop = loop
        let state = State(answer)
        self.state = state
        server = try HTTPServer(loop: loop) { request, responder in
            state.sent.append(Sent(path: request.path, headers: request.headers, bytes: request.body))
            switch state.answer {
            case .json(let json): responder.respond(body: json.bytes)
            case .status(let status, let headers, let body):
                responder.respond(status: status, headers: headers, body: Array(body.utf8))
            case .held(let json):
                let waiter = Waiter()
                state.held.append(waiter)
                try? await waiter.wait()
                responder.respond(body: json.bytes)
            }
        }
        listener = try Listener(port: port)
        listener.add(server)
        listener.start(on: loop)
    }

    func release() {
        for waiter in state.held { waiter.resume() }
        state.held = []
    }

    func close() {
        release()
        listener.stop(on: loop)
        server.stop()
    }

    func url(_ path: String = "/nube") -> JSON { .string("http://127.0.0.1:\(port)\(path)") }
}

/// A server that is none: takes a connection, and does with it what it is told.
final class BadHost {
    enum Behaviour {
        /// Never answers.
        case silent
        /// Says so much, and closes.
        case closes(after: String)
        /// Says so much, and then the same again and again, for ever.
        case endless(after: String, saying: String = " ")
    }

    private let loop: Loop
    private let behaviour: Behaviour
    private let socket: Int32
    private var watch: Loop.Watch?
    private var connections: [Int32: Loop.Watch] = [:]
    let port: Int
    /// Bytes that went out.
    private(set) var written = 0

    init(_ loop: Loop, _ behaviour: Behaviour) {
        self.loop = loop
        self.behaviour = behaviour
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = socket
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                precondition(bind(descriptor, pointer, size) == 0 && listen(descriptor, 64) == 0)
                getsockname(descriptor, pointer, &size)
            }
            return Int(UInt16(bigEndian: pointer.pointee.sin_port))
        }
        watch = loop.watch(socket, .read) { [unowned self] _ in self.accept() }
    }

    var url: JSON { .string("http://127.0.0.1:\(port)/nube") }

    func close() {
        watch?.cancel()
        for descriptor in Array(connections.keys) { end(descriptor) }
        Glibc.close(socket)
    }

    private func accept() {
        while case let descriptor = Glibc.accept(socket, nil, nil), descriptor >= 0 {
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            connections[descriptor] = loop.watch(descriptor, .read) { [unowned self] readiness in
                self.act(descriptor, readiness)
            }
        }
    }

    private func act(_ descriptor: Int32, _ readiness: Loop.Readiness) {
        if readiness.contains(.failed) { return end(descriptor) }
        if readiness.contains(.write) { return pour(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 65536)
        guard recv(descriptor, &buffer, buffer.count, 0) > 0 else { return end(descriptor) }
        switch behaviour {
        case .silent: break
        case .closes(let text):
            say(descriptor, text)
            end(descriptor)
        case .endless(let text, _):
            say(descriptor, text)
            connections[descriptor]?.update(.write)
        }
    }

    private func say(_ descriptor: Int32, _ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private func pour(_ descriptor: Int32) {
        guard case .endless(_, let words) = behaviour else { return }
        let block = Array(String(repeating: words, count: 65536 / words.utf8.count).utf8)
        let count = send(descriptor, block, block.count, Int32(MSG_NOSIGNAL))
        if count < 0, errno != EAGAIN { return end(descriptor) }
        written += max(0, count)
    }

    private func end(_ descriptor: Int32) {
        guard let watch = connections.removeValue(forKey: descriptor) else { return }
        watch.cancel()
        Glibc.close(descriptor)
    }
}

extension TestServer {
    /// Registers a function.
    func hook(function name: String, _ url: JSON, node: Int = 0) async throws {
        try await clients[node].must(
            "POST", "/hooks/functions", ["functionName": .string(name), "url": url], master: true)
    }

    /// Registers a trigger.
    func hook(_ trigger: String, of className: String, _ url: JSON) async throws {
        try await client.must(
            "POST", "/hooks/triggers",
            ["className": .string(className), "triggerName": .string(trigger), "url": url], master: true)
    }
}
