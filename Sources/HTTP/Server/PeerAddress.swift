import Glibc

/// Where a connection comes from: an IPv4 or IPv6 address and a port. IPv4 in IPv6 (`::ffff:1.2.3.4`) is made IPv4.
public struct PeerAddress: Sendable, Hashable {
    /// The address alone, to count connections by.
    public struct Host: Sendable, Hashable {
        var high: UInt64 = 0
        /// An IPv4 address is kept as `::ffff:1.2.3.4`.
        var low: UInt64 = 0

        /// What requests and connections are counted by: the address, or an IPv6 network of 64 bits, all of whose
        /// addresses one subscriber has.
        public var network: Host { high == 0 && low >> 32 == 0xffff ? self : Host(high: high, low: 0) }
    }

    public var host: Host
    public var port: UInt16

    static let mapped: UInt64 = 0x0000_ffff_0000_0000

    init(_ storage: sockaddr_storage) {
        (host, port) = withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = bytes.loadUnaligned(as: sockaddr_in.self)
                let number = UInt64(UInt32(bigEndian: address.sin_addr.s_addr))
                return (Host(low: PeerAddress.mapped | number), UInt16(bigEndian: address.sin_port))
            case AF_INET6:
                let address = bytes.loadUnaligned(as: sockaddr_in6.self)
                return withUnsafeBytes(of: address.sin6_addr) { parts in
                    let high = UInt64(bigEndian: parts.loadUnaligned(as: UInt64.self))
                    let low = UInt64(bigEndian: parts.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                    return (Host(high: high, low: low), UInt16(bigEndian: address.sin6_port))
                }
            default: return (Host(), 0)
            }
        }
    }

    public var isIPv4: Bool { host.high == 0 && host.low >> 32 == 0xffff }

    /// Whether it is this machine: 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        isIPv4 ? (host.low >> 24) & 0xff == 127 : host.high == 0 && host.low == 1
    }

    /// The address as text, without the port: `192.0.2.1`, `2001:db8::1`.
    public var text: String {
        if isIPv4 {
            let number = host.low
            return "\(number >> 24 & 255).\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
        }
        var bytes = (host.high.bigEndian, host.low.bigEndian)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return text.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return "" }
            return String(cString: start)
        }
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        func pass<Address>(_ address: Address) -> Result {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    body(pointer, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        if isIPv4 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(truncatingIfNeeded: host.low).bigEndian
            return pass(address)
        }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { parts in
            parts.storeBytes(of: host.high.bigEndian, as: UInt64.self)
            parts.storeBytes(of: host.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return pass(address)
    }
}
