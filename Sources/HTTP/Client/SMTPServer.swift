/// A server that takes mail, and how it is spoken to.
public struct SMTPServer: Sendable {
    public enum Encryption: Sendable, Equatable {
        /// STARTTLS where the server offers it. Its certificate is not looked at: whoever could put another one in its
        /// place could as well take the offer away.
        case opportunistic
        /// STARTTLS, or no mail.
        case startTLS
        /// TLS from the first byte: `smtps`.
        case immediate
    }

    /// The URL cannot be one of an SMTP server.
    public struct BadURL: Error, Sendable, CustomStringConvertible {
        /// Without the URL itself, which may hold a password.
        public let description: String
    }

    /// With user and password.
    let url: String
    public let encryption: Encryption
    /// A file of PEM certificates to trust in place of the system's.
    public let certificateAuthorities: String?
    /// Nanoseconds until the connection stands.
    public var connectTimeout: UInt64 = 20_000_000_000
    /// Nanoseconds for the whole of a delivery.
    public var timeout: UInt64 = 120_000_000_000

    /// - Parameters:
    ///   - url: `smtp://[user:password@]host[:port]` or `smtps://…`; user and password percent-encoded. With a password,
    ///     or with authorities to check against, `smtp` asks for STARTTLS.
    ///   - certificateAuthorities: a file of PEM certificates to trust in place of the system's.
    public init(_ url: String, certificateAuthorities: String? = nil) throws(BadURL) {
        guard
            let match = url.wholeMatch(
                of: /(smtps?):\/\/(?:([^@\/\s]*)@)?(\[[0-9a-fA-F:.]+\]|[^@:\/\s\[\]]+)(?::([0-9]{1,5}))?\/?/)
        else { throw BadURL(description: "is not smtp://[user:password@]host:port or smtps://…") }
        guard match.4.map({ (1...65535).contains(Int($0) ?? 0) }) ?? true else {
            throw BadURL(description: "has a port that is none")
        }
        self.url = url
        self.certificateAuthorities = certificateAuthorities
        if match.1 == "smtps" {
            encryption = .immediate
        } else {
            encryption = match.2 == nil && certificateAuthorities == nil ? .opportunistic : .startTLS
        }
    }
}

/// Why a mail was not taken.
public struct SMTPFailure: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable, Equatable {
        /// The server could not be reached or spoken to, or does not let us in: nothing is wrong with the mail.
        case server
        /// The server refuses this mail for now (4xx).
        case notNow
        /// The server refuses this mail for good (5xx).
        case refused
    }
    public let kind: Kind
    /// libcurl's words, and the server's last reply.
    public let description: String
}
