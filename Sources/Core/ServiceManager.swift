import Glibc

/// Tells systemd, or whatever else started the process with `$NOTIFY_SOCKET`, how the service stands.
///
/// The protocol is one datagram for each message, and sd_notify(3) promises that it stays so and asks programs to speak
/// it themselves: some lines here spare every machine without systemd a library of its own.
public enum ServiceManager {
    public enum Message: Sendable {
        /// Connections are accepted.
        case ready
        /// What can be read again is read again; `ready` follows.
        case reloading
        /// No connection is accepted any more.
        case stopping
    }

    /// Without `$NOTIFY_SOCKET`, or where nobody listens there, nothing happens.
    public static func tell(_ message: Message) {
        guard let path = getenv("NOTIFY_SOCKET") else { return }
        send(text(message), to: String(cString: path))
    }

    private static func text(_ message: Message) -> String {
        switch message {
        case .ready: return "READY=1"
        case .reloading:
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return "RELOADING=1\nMONOTONIC_USEC=\(time.tv_sec * 1_000_000 + time.tv_nsec / 1000)"
        case .stopping: return "STOPPING=1"
        }
    }

    private static func send(_ text: String, to path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        // A path in the file system, or `@` and a name in the abstract name space.
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"),
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let message = Array(text.utf8)
        withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), address, length)
            }
        }
    }
}
