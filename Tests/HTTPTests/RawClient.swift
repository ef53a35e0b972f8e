import Core
import Glibc
import Testing

/// A client that sends exactly the bytes it is told to, on the worker of the test.
final class RawClient {
    enum Failure: Error { case tooSlow, ended, cannotConnect(Int32), malformed(String) }

    struct Response {
        var status = 0
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []
        var text: String { String(decoding: body, as: UTF8.self) }
        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    let descriptor: Int32
    private let loop: Loop
    private var watch: Loop.Watch?
    private var waiter: Waiter?
    /// What came and has not been taken.
    private(set) var received: [UInt8] = []

    /// - Parameter source: the last byte of the loopback address that it comes from, 127.0.0.x.
    init(_ loop: Loop, port: Int, receiveBuffer: Int32? = nil, source: UInt8 = 1) throws {
        self.loop = loop
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (UInt32(0x7f00_0000) + UInt32(source)).bigEndian
        if source != 1 {
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, 16) }
            }
        }
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        // The kernel completes a connection on loopback by itself, so that this does not wait for the server.
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, 16) }
        }
        guard result == 0 else { throw Failure.cannotConnect(errno) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close() }

    private var isClosed = false
    func close() {
        guard !isClosed else { return }
        isClosed = true
        watch?.cancel()
        Glibc.close(descriptor)
    }

    func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends the connection with a reset, as a client that crashes does.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                try await ready(.write)
            } else {
                throw Failure.ended
            }
        }
    }

    /// Sends what fits into the socket's buffers now.
    func sendSome(_ bytes: [UInt8]) -> Int {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        return max(0, count)
    }

    /// Takes in what has come; false at the end of the connection.
    func receive(atMost: Int = 65536) async throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: atMost)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                received.append(contentsOf: buffer[..<count])
                return true
            }
            if count == 0 || errno != EAGAIN { return false }
            try await ready(.read)
        }
    }

    /// Everything until the server ends the connection.
    func rest() async throws -> String {
        while try await receive() {}
        return String(decoding: received, as: UTF8.self)
    }

    func get(_ target: String, _ headers: String = "") async throws -> Response {
        try await send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
        return try await response()
    }

    /// The next answer, whole.
    func response(hasBody: Bool = true) async throws -> Response {
        let head = try await take(through: Array("\r\n\r\n".utf8))
        var lines = head.split(separator: "\r\n").map(String.init)
        var response = Response()
        let status = lines.removeFirst().split(separator: " ")
        guard status.count >= 2, let number = Int(status[1]) else { throw Failure.malformed(head) }
        response.status = number
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            response.headers.append((String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""))
        }
        guard hasBody, number >= 200, number != 204, number != 304 else { return response }
        if response.header("Transfer-Encoding") == "chunked" {
            while true {
                let line = try await take(through: Array("\r\n".utf8))
                guard let size = Int(line.dropLast(), radix: 16) else { throw Failure.malformed(line) }
                response.body += try await take(size)
                _ = try await take(2)
                if size == 0 { break }
            }
        } else if let length = response.header("Content-Length").flatMap(Int.init) {
            response.body = try await take(length)
        }
        return response
    }

    func take(_ count: Int) async throws -> [UInt8] {
        while received.count < count { guard try await receive() else { throw Failure.ended } }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    private func take(through end: [UInt8]) async throws -> String {
        while true {
            if let range = received.firstRange(of: end) {
                defer { received.removeSubrange(..<range.upperBound) }
                return String(decoding: received[..<range.upperBound], as: UTF8.self)
            }
            guard try await receive() else { throw Failure.ended }
        }
    }

    /// Waits for the socket, ten seconds at most: nothing here takes that long.
    private func ready(_ interest: Loop.Readiness) async throws {
        let waiter = Waiter()
        watch = loop.watch(descriptor, interest) { _ in waiter.resume() }
        let timer = loop.schedule(after: 10_000_000_000) { waiter.resume(throwing: Failure.tooSlow) }
        defer {
            timer.cancel()
            watch?.cancel()
            watch = nil
        }
        try await waiter.wait()
    }
}
