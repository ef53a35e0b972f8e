import Glibc

/// An IPv4 or IPv6 address. An IPv4 address that came as IPv6 (`::ffff:10.1.2.3`) is the IPv4 address.
public struct Address: Sendable, Hashable, CustomStringConvertible {
    public let isIPv4: Bool
    /// The address as a number; 32 bits of it count for IPv4.
    let bits: UInt128

    init(isIPv4: Bool, bits: UInt128) {
        self.isIPv4 = isIPv4
        self.bits = bits
    }

    /// Reads `10.1.2.3`, `2001:db8::7`, `::ffff:10.1.2.3` or `fe80::1%eth0`; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let text = String(decoding: text.utf8.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(isIPv4: true, bits: UInt128(UInt32(bigEndian: four.s_addr)))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let bits = withUnsafeBytes(of: &six) { bytes in bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } }
        let isMapped = bits >> 32 == 0xFFFF
        self.init(isIPv4: isMapped, bits: isMapped ? bits & 0xFFFF_FFFF : bits)
    }

    /// As it is written: `10.1.2.3`, `2001:db8::7`.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isIPv4 {
            var four = in_addr(s_addr: UInt32(truncatingIfNeeded: bits).bigEndian)
            inet_ntop(AF_INET, &four, &text, socklen_t(text.count))
        } else {
            var six = bits.bigEndian
            inet_ntop(AF_INET6, &six, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What requests are counted by: the address, or an IPv6 network of 64 bits, all of whose addresses one subscriber
    /// has.
    public var network: Address { isIPv4 ? self : Address(isIPv4: false, bits: (bits >> 64) << 64) }

    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { isIPv4 ? bits >> 24 == 127 : bits == 1 }
}

/// A set of addresses, told as addresses and ranges in CIDR form.
///
/// As in Parse Server, `0.0.0.0`, `::` and `::0` without a length mean every address of their kind, and a range of
/// one kind never holds an address of the other.
public struct AddressSet: Sendable, Hashable {
    private struct Block: Sendable, Hashable {
        let isIPv4: Bool
        let bits: UInt128
        /// How many low bits do not count.
        let free: Int
    }

    private var blocks: [Block] = []
    /// The set as it was told.
    public private(set) var entries: [String] = []

    /// Holds nothing.
    public init() {}

    /// - Throws: `OptionFault` that quotes the entry that is neither an address nor a range.
    public init(_ entries: [String]) throws(OptionFault) {
        for entry in entries {
            guard let block = Self.block(entry) else {
                throw OptionFault(
                    "\"\(entry)\" is neither an IP address nor a range such as 10.0.0.0/8 or 2001:db8::/32")
            }
            blocks.append(block)
        }
        self.entries = entries
    }

    /// 127.0.0.1 and ::1.
    public static let loopback = {
        var set = AddressSet()
        set.blocks = [Block(isIPv4: true, bits: 0x7F00_0001, free: 0), Block(isIPv4: false, bits: 1, free: 0)]
        set.entries = ["127.0.0.1", "::1"]
        return set
    }()

    public func contains(_ address: Address) -> Bool {
        blocks.contains { $0.isIPv4 == address.isIPv4 && $0.bits >> $0.free == address.bits >> $0.free }
    }

    private static func block(_ entry: String) -> Block? {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = Address(first) else { return nil }
        let width = address.isIPv4 ? 32 : 128
        guard parts.count == 2 else {
            return Block(isIPv4: address.isIPv4, bits: address.bits, free: address.bits == 0 ? width : 0)
        }
        guard parts[1].allSatisfy({ $0.isASCII && $0.isNumber }), var length = Int(parts[1]) else { return nil }
        // ::ffff:10.0.0.0/104 counts its length in the 128 bits that it is written in.
        if address.isIPv4, first.contains(":") { length -= 96 }
        guard (0...width).contains(length) else { return nil }
        return Block(isIPv4: address.isIPv4, bits: address.bits, free: width - length)
    }
}
