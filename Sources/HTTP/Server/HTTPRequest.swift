import Core
import Glibc

/// A request as the client sent it. Its headers are read where libmicrohttpd keeps them, so they are gone once the
/// answer has been sent: read what a log line needs before.
public final class HTTPRequest {
    public enum BodyMode {
        /// The whole body is in `body` before the handler is called. Over `limit` bytes (nil: the server's) it is
        /// answered with 413.
        case collected(limit: Int?)
        /// The handler is called after the head, and takes the body piece by piece with `nextChunk()`.
        case streamed(limit: Int?)
    }

    /// `GET`, `POST`, …: as sent, which is upper case for all methods that exist.
    public internal(set) var method = ""
    /// Path and query as sent: `/parse/classes/Note?limit=1`.
    public let target: String
    /// The path as sent, percent-encoded still: split it at `/` first and decode the segments then.
    public let path: String
    /// Behind the first `?`, as sent; nil without one.
    public let query: String?
    /// The body, unless it is streamed.
    public internal(set) var body: [UInt8] = []
    public var remoteAddress: PeerAddress { connection.address }
    public internal(set) var isHTTP10 = false
    /// Names the request in logs: no other of any node has the same. `k3v9qx1m-0-2s` is the process, its worker, and
    /// the request's number there.
    public var id: String { connection.server.identifiers.text(number) }

    /// Whether the headers can still be read.
    var isReadable = true
    /// A streamed body's pieces.
    var stream: RequestStream?
    private let connection: Connection
    private let number: UInt64

    init(connection: Connection, number: UInt64, target: String) {
        self.connection = connection
        self.number = number
        self.target = target
        let text = HTTPRequest.withoutAuthority(target)
        if let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) {
            path = String(text[..<mark])
            query = String(text[text.utf8.index(after: mark)...])
        } else {
            path = text.startIndex == target.startIndex && text.endIndex == target.endIndex ? target : String(text)
            query = nil
        }
    }

    /// The value of the first header of that name, upper and lower case being the same; nil without one.
    public func header(_ name: String) -> String? {
        guard isReadable else { return nil }
        return connection.head.first(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The values of all headers of that name, in the order they came.
    public func headers(_ name: String) -> [String] {
        guard isReadable else { return [] }
        var name = name
        return name.withUTF8 { wanted in
            connection.head.fields.filter { $0.isNamed(wanted) }.map { String(decoding: $0.value, as: UTF8.self) }
        }
    }

    /// All headers in the order they came; a name may come several times.
    public var headers: [(name: String, value: String)] {
        guard isReadable else { return [] }
        return connection.head.fields.map {
            (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
        }
    }

    /// Gives `body` all headers in the order they came, as bytes where libmicrohttpd keeps them.
    public func withRawHeaders<Result>(
        _ body: ([(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>)]) -> Result
    ) -> Result {
        body(isReadable ? connection.head.fields.map { ($0.name, $0.value) } : [])
    }

    /// The next piece of a streamed body; nil at its end. What is not fetched holds the client back.
    /// - Throws: `HTTPServerError.clientGone`, `.bodyTooLarge`, `CancellationError`.
    public func nextChunk() async throws -> [UInt8]? {
        guard let stream else { return nil }
        return try await stream.next()
    }

    /// Proxies may send `http://host/path`; the path begins behind the host.
    private static func withoutAuthority(_ target: String) -> Substring {
        guard target.utf8.first != UInt8(ascii: "/") else { return target[...] }
        for scheme in ["http://", "https://"] where hasPrefix(target, scheme) {
            let rest = target.utf8.dropFirst(scheme.utf8.count)
            guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
                return "/"
            }
            return target.utf8[end] == UInt8(ascii: "/") ? target[end...] : "/" + target[end...]
        }
        return target[...]
    }

    /// Upper and lower case being the same.
    private static func hasPrefix(_ text: String, _ prefix: String) -> Bool {
        strncasecmp(text, prefix, prefix.utf8.count) == 0
    }
}

extension String {
    /// Percent-encoding undone; nil when it is malformed or does not come to UTF-8.
    public init?(percentDecoding text: Substring, plusIsSpace: Bool = false) {
        var text = text
        guard let text = text.withUTF8({ String(percentDecoding: $0, plusIsSpace: plusIsSpace) }) else { return nil }
        self = text
    }

    /// The same of UTF-8.
    public init?(percentDecoding text: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool = false) {
        guard text.contains(where: { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }) else {
            // Checking what is ASCII as well takes as long as all the rest.
            if text.allSatisfy({ $0 < 0x80 }) {
                self.init(decoding: text, as: UTF8.self)
            } else {
                self.init(validating: text, as: UTF8.self)
            }
            return
        }
        let decoded: String? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { bytes in
            var count = 0
            var index = 0
            while index < text.count {
                var byte = text[index]
                index += 1
                if byte == UInt8(ascii: "%") {
                    guard index + 1 < text.count, let high = hexDigit(text[index]), let low = hexDigit(text[index + 1])
                    else { return nil }
                    byte = high << 4 | low
                    index += 2
                } else if plusIsSpace, byte == UInt8(ascii: "+") {
                    byte = UInt8(ascii: " ")
                }
                bytes[count] = byte
                count += 1
            }
            return String(validating: UnsafeBufferPointer(rebasing: bytes[..<count]), as: UTF8.self)
        }
        guard let decoded else { return nil }
        self = decoded
    }
}

private func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
