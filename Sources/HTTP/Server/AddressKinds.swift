import Glibc

/// What kinds of address a server should think twice before it connects to, since whoever names the address need not
/// be whoever may reach it.
extension PeerAddress.Host {
    /// Reads `10.1.2.3` or `2001:db8::7`; nil for anything else.
    public init?(_ text: String) {
        let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
        self.init(networkOrder: bytes)
    }

    /// - Parameter bytes: 4 of an IPv4 address, 16 of an IPv6 one; nil for any other number.
    init?(networkOrder bytes: some Collection<UInt8>) {
        func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: self.init(low: PeerAddress.mapped | number(bytes))
        case 16: self.init(high: number(bytes.prefix(8)), low: number(bytes.dropFirst(8)))
        default: return nil
        }
    }

    /// Of this link alone: 169.254.0.0/16 and fe80::/10, and the one address outside them under which a cloud's
    /// machines find their own credentials (fd00:ec2::254).
    public var isLinkLocal: Bool {
        if let four = embedded { return four >> 16 == 0xa9fe }
        return high >> 54 == 0xfe80 >> 6 || high == 0xfd00_0ec2_0000_0000 && low == 0x254
    }

    /// This machine, a network that the Internet does not route (RFC 6890), or no machine at all: loopback, unspecified,
    /// private, shared, multicast, reserved; link-local ones too.
    public var isPrivate: Bool {
        if isTranslatedWithin { return true }
        if let four = embedded { return Self.privateBlocks.contains { four >> (32 - $0.length) == $0.prefix } }
        let isSiteLocal = high >> 54 == 0xfec0 >> 6
        return isLinkLocal || high >> 57 == 0xfc >> 1 || high >> 56 == 0xff || isSiteLocal || high == 0 && low <= 1
    }

    /// The IPv4 address that this one is, or leads to: mapped (`::ffff:1.2.3.4`), compatible (`::1.2.3.4`), translated
    /// (`64:ff9b::1.2.3.4`, RFC 6052; `::ffff:0:1.2.3.4`, RFC 7915; `64:ff9b:1::1.2.3.4`, within a site, RFC 8215) or
    /// tunnelled (`2002:102:304::`, RFC 3056; Teredo, which holds it inverted, RFC 4380).
    private var embedded: UInt32? {
        let isCompatible = high == 0 && low >> 32 == 0 && low > 1
        let isMapped = high == 0 && (low >> 32 == 0xffff || low >> 32 == 0xffff_0000)
        let isTranslated = high == 0x0064_ff9b_0000_0000 && low >> 32 == 0
        if isMapped || isCompatible || isTranslated || isTranslatedWithin { return UInt32(truncatingIfNeeded: low) }
        if high >> 32 == 0x2001_0000 { return ~UInt32(truncatingIfNeeded: low) }
        return high >> 48 == 0x2002 ? UInt32(truncatingIfNeeded: high >> 16) : nil
    }

    /// 64:ff9b:1::/48: where its translator leads to, the site alone knows.
    private var isTranslatedWithin: Bool { high >> 16 == 0x0064_ff9b_0001 }

    /// By their first bits: 0/8, 10/8, 100.64/10, 127/8, 169.254/16, 172.16/12, 192.0.0/24, 192.168/16, 198.18/15, and
    /// from 224 on.
    private static let privateBlocks: [(prefix: UInt32, length: UInt32)] = [
        (0, 8), (10, 8), (0x6440 >> 6, 10), (127, 8), (0xa9fe, 16), (0xac10 >> 4, 12), (0xc000_00, 24), (0xc0a8, 16),
        (0xc612 >> 1, 15), (0b111, 3),
    ]
}
