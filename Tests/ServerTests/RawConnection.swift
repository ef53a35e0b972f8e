import Glibc

/// A connection that sends the bytes it is told to. Its calls block, ten seconds at most: use it within `blocking`.
final class RawConnection {
    private let descriptor: Int32

    init(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, 16) }
        }
    }

    deinit { close(descriptor) }

    /// False when the connection is gone.
    @discardableResult
    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    func request(_ method: String, _ target: String, headers: [String] = [], body: String = "") {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: test", "X-Parse-Application-Id: \(TestServer.appId)"]
        lines += headers
        if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
        send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// One answer, head and body, whose length it tells; "" at the end of the connection.
    func answer(hasBody: Bool = true) -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            var byte: UInt8 = 0
            guard recv(descriptor, &byte, 1, 0) == 1 else { return "" }
            head.append(byte)
        }
        let text = String(decoding: head, as: UTF8.self)
        guard hasBody,
            let line = text.split(separator: "\r\n").first(where: { $0.lowercased().hasPrefix("content-length:") }),
            let length = Int(line.split(separator: " ").last ?? "")
        else { return text }
        var body = [UInt8](repeating: 0, count: length)
        var filled = 0
        while filled < length {
            let count = body[filled...].withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return "" }
            filled += count
        }
        return text + String(decoding: body, as: UTF8.self)
    }

    /// What comes until the other side closes.
    func rest() -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += buffer.prefix(count)
        }
    }
}
