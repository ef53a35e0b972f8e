/// A request to another server.
public struct HTTPClientRequest: Sendable {
    public var method: String
    /// `http` or `https`, absolute.
    public var url: String
    public var headers: [(String, String)]
    public var body: [UInt8]
    /// For the whole of it, connecting included: nanoseconds.
    public var timeout: UInt64
    /// A longer body ends the request with `HTTPClientError.responseTooLarge`: bytes.
    public var maxResponseSize: Int
    /// How many redirects are followed; none unless asked for, since a redirect may lead to where the caller would not
    /// have gone.
    public var maxRedirects: Int
    /// Says of an address, before a connection to it is opened, whether it must not be: `HTTPClientError.addressRefused`
    /// where no other is left. It sees the address that is connected to, whatever a name stands for a moment later.
    /// Proxies are not used then, since nothing could be said of what lies behind them.
    ///
    /// A connection that is open already is used without asking again: give a client one rule.
    public var refuses: (@Sendable (PeerAddress.Host) -> Bool)?

    public init(
        method: String = "GET", url: String, headers: [(String, String)] = [], body: [UInt8] = [],
        timeout: UInt64 = 30_000_000_000, maxResponseSize: Int = 20 << 20, maxRedirects: Int = 0
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maxResponseSize = maxResponseSize
        self.maxRedirects = maxRedirects
    }
}

public struct HTTPClientResponse: Sendable {
    public let status: Int
    /// In the order they came; of the last answer, when redirects were followed.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    /// The value of the first header of that name, upper and lower case being the same.
    public func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }
}

public enum HTTPClientError: Error, Equatable {
    case timedOut
    case responseTooLarge
    /// The request's `refuses` let no address through.
    case addressRefused
    /// The URL is none, or is neither http nor https.
    case badURL
    /// A header holds a line break, say.
    case badHeader(String)
    /// No connection, a certificate that isn't trusted, an answer that isn't HTTP; with libcurl's words.
    case failed(String)
}
