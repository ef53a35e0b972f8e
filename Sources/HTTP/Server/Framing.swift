import CMicrohttpd
import Glibc

/// How long a request's body is, and whether its head leaves that in doubt. libmicrohttpd 0.9.75, told to be strict,
/// takes the first of several Content-Lengths, prefers Transfer-Encoding over Content-Length, reads until the end of
/// the connection for a coding that it does not know, and takes names that end with a space: behind a proxy each of
/// these could smuggle a request (RFC 9112, 5.1 and 6.3).
struct Framing {
    /// 0 for none, or where the body is chunked.
    private(set) var contentLength = 0
    private(set) var expectsContinue = false
    private var lengths = 0
    private var codings = 0
    private var isChunked = true
    private var namesAreTokens = true
    private let isHTTP10: Bool

    init(_ handle: OpaquePointer, isHTTP10: Bool) {
        self.isHTTP10 = isHTTP10
        withUnsafeMutablePointer(to: &self) { framing in
            _ = MHD_get_connection_values_n(
                handle, .HEADER_KIND,
                { framing, _, name, nameSize, value, _ in
                    guard let framing, let name, let value else { return .YES }
                    framing.assumingMemoryBound(to: Framing.self).pointee.note(name, nameSize, value)
                    return .YES
                }, framing)
        }
    }

    private mutating func note(_ name: UnsafePointer<CChar>, _ size: Int, _ value: UnsafePointer<CChar>) {
        // `Content-Length : 5` comes through, under a name that ends with the space.
        for byte in UnsafeBufferPointer(start: name, count: size) where byte <= 0x20 || byte == 0x7f {
            namesAreTokens = false
        }
        switch size {
        case 14 where strcasecmp(name, "Content-Length") == 0:
            lengths += 1
            // libmicrohttpd has refused what is not a number of 64 bits.
            contentLength = Int(clamping: strtoull(value, nil, 10))
        case 17 where strcasecmp(name, "Transfer-Encoding") == 0:
            codings += 1
            if strcasecmp(value, "chunked") != 0 { isChunked = false }
        case 6 where strcasecmp(name, "Expect") == 0:
            expectsContinue = strcasecmp(value, "100-continue") == 0
        default: break
        }
    }

    var problem: (status: Int, message: String)? {
        if !namesAreTokens { return (400, "A header's name holds what no name may.") }
        if lengths > 1 { return (400, "Content-Length is given more than once.") }
        if codings > 0 && lengths > 0 { return (400, "Content-Length and Transfer-Encoding exclude each other.") }
        if codings > 0 && isHTTP10 { return (400, "HTTP/1.0 knows no Transfer-Encoding.") }
        if codings > 1 || !isChunked { return (501, "The only Transfer-Encoding understood is chunked.") }
        return nil
    }
}
