import Wire

/// Whose `X-Forwarded-For` is believed (Express' setting of the same name).
public enum TrustProxy: Sendable, Hashable {
    /// Nobody's: the peer is the client.
    case none
    /// Everybody's: the leftmost address is the client. Only safe behind a proxy that overwrites the header.
    case all
    /// That many proxies stand before the server.
    case hops(Int)
    /// These are proxies.
    case addresses(AddressSet)

    /// The client's address.
    ///
    /// - Parameter forwardedFor: all lines of the header `X-Forwarded-For`, in the order they came, which are one
    ///   list (RFC 9110, 5.3): client first, nearest proxy last. An entry that is no address ends the walk.
    public func client(peer: Address, forwardedFor: [String]) -> Address {
        guard self != .none else { return peer }
        var client = peer
        var passed = 0
        for entry in forwardedFor.reversed().flatMap({ $0.split(separator: ",").reversed() }) {
            guard trusts(client, passed), let address = Self.address(entry) else { break }
            client = address
            passed += 1
        }
        return client
    }

    private func trusts(_ address: Address, _ passed: Int) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .hops(let count): passed < count
        case .addresses(let set): set.contains(address)
        }
    }

    private static func address(_ entry: Substring) -> Address? {
        var text = entry.trimming { $0 == " " || $0 == "\t" }
        if text.first == "[", let end = text.firstIndex(of: "]") {
            text = text[text.index(after: text.startIndex)..<end]
        } else if text.contains("."), let colon = text.firstIndex(of: ":"), !text.hasPrefix("::") {
            text = text[..<colon]
        }
        return Address(text)
    }
}

extension Substring {
    fileprivate func trimming(_ unwanted: (Character) -> Bool) -> Substring {
        var rest = drop(while: unwanted)
        while let last = rest.last, unwanted(last) { rest.removeLast() }
        return rest
    }
}

extension TrustProxy: OptionValue {
    public static let kind = "boolean, number of proxies, or list of addresses"

    public init(option json: JSON) throws(OptionFault) {
        switch json {
        case .bool(let all): self = all ? .all : .none
        case .number: self = try Self.hops(counted: Int(option: json))
        default: self = .addresses(try AddressSet(try Self.expanded([String](option: json))))
        }
    }

    public init(flag text: String) throws(OptionFault) {
        // A number first: 1 is one proxy, not "yes".
        if let count = Int(text) {
            self = try Self.hops(counted: count)
        } else if let all = try? Bool(flag: text) {
            self = all ? .all : .none
        } else {
            self = .addresses(try AddressSet(try Self.expanded([String](flag: text))))
        }
    }

    public var shown: JSON? {
        switch self {
        case .none: .bool(false)
        case .all: .bool(true)
        case .hops(let count): .number(Double(count))
        case .addresses(let set): set.shown
        }
    }

    private static func hops(counted count: Int) throws(OptionFault) -> TrustProxy {
        guard count >= 0 else { throw OptionFault("must be a number of proxies, not \(count)") }
        return count == 0 ? .none : .hops(count)
    }

    /// Express' names for ranges.
    private static func expanded(_ entries: [String]) throws(OptionFault) -> [String] {
        entries.flatMap { entry in
            switch entry {
            case "loopback": ["127.0.0.0/8", "::1"]
            case "linklocal": ["169.254.0.0/16", "fe80::/10"]
            case "uniquelocal": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
            default: [entry]
            }
        }
    }
}
