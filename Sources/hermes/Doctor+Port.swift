import Glibc
import Options
import Server

extension Doctor {
    /// Whether a Hermes answers on the port, something else does, or it is free.
    mutating func checkPort(_ options: ServerOptions) {
        guard options.port != 0 else { return good("port", "any that is free") }
        let place = "\(options.host), port \(options.port)"
        guard let address = Self.resolve(options.host, options.port) else {
            return bad("port", "\(options.host) is no address of this machine", "tell another one with --host")
        }
        defer { freeaddrinfo(address) }
        switch Self.visit(address, path: options.mountPath + "/health") {
        case .answer(let answer) where answer.hasPrefix("HTTP/1.1 200") && answer.contains("\"status\""):
            return good("port", "a server answers at \(place), and is well")
        case .answer(let answer) where answer.hasPrefix("HTTP/1.1 503"):
            return doubtful("port", "a server answers at \(place) that is not ready", "see its log")
        case .silence where options.tlsCertificate != nil:
            return good("port", "\(place) is in use, by HTTPS perhaps")
        case .answer, .silence:
            return bad(
                "port", "\(place) is in use by another program",
                "stop it (ss -ltnp shows which it is), or tell another port with --port")
        case .nobody: break
        }
        let descriptor = Self.socket(for: address)
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        if bind(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 {
            good("port", "\(place) is free: no server runs there")
        } else if errno == EACCES {
            bad("port", "\(place) is for root only", "tell a port from 1024 up, or put a proxy before Hermes")
        } else {
            bad("port", "\(place): \(String(cString: strerror(errno)))", "tell another one with --host or --port")
        }
    }

    private enum Visit {
        case nobody
        /// Somebody took the connection, and said nothing that is HTTP.
        case silence
        case answer(String)
    }

    private static func socket(for address: UnsafeMutablePointer<addrinfo>) -> Int32 {
        Glibc.socket(address.pointee.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    private static func resolve(_ host: String, _ port: Int) -> UnsafeMutablePointer<addrinfo>? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0 else { return nil }
        return found
    }

    /// What comes back to a GET within two seconds.
    private static func visit(_ address: UnsafeMutablePointer<addrinfo>, path: String) -> Visit {
        let descriptor = socket(for: address)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 else { return .nobody }
        let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard request.withCString({ send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }) > 0 else {
            return .silence
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while answer.count < 1 << 16 {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { break }
            answer += chunk[..<count]
        }
        return answer.starts(with: Array("HTTP/".utf8)) ? .answer(String(decoding: answer, as: UTF8.self)) : .silence
    }
}
