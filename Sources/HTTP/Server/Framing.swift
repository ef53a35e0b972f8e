import Glibc

/// How long a request's body is, and whether its head leaves that in doubt. libmicrohttpd 0.9.75, told to be strict,
/// takes the first of several Content-Lengths, prefers Transfer-Encoding over Content-Length, reads until the end of
/// the connection for a coding that it does not know, takes names that end with a space, takes a line feed alone for
/// the end of a line, and appends a folded line to the *name* of its header: behind a proxy each of these could
/// smuggle a request (RFC 9112, 2.2, 5.1, 5.2 and 6.3).
struct Framing {
    /// 0 for none, or where the body is chunked.
    private(set) var contentLength = 0
    var hasBody: Bool { contentLength > 0 || codings > 0 }
    private(set) var expectsContinue = false
    /// How the body was packed. Several codings at once are unknown here.
    private(set) var coding = ContentCoding.none
    private var hasCoding = false
    private var lengths = 0
    private var codings = 0
    private var isChunked = true
    private var namesAreTokens = true
    private var linesAreWhole = true
    private let isHTTP10: Bool
    /// Up to and with the empty line: bytes.
    let size: Int
    /// What libmicrohttpd keeps of the head beside its text, bytes: a record for each field and cookie, and a second copy
    /// of the cookies, which it takes apart unasked.
    private(set) var records: Int

    /// - Parameters:
    ///   - start: where the request line begins, in the buffer that the whole head was read into.
    ///   - version: where in it the protocol's version begins, with which the request line ends.
    ///   - size: of the head, up to and with its empty line.
    init(
        _ head: Head, start: UnsafePointer<CChar>, version: UnsafePointer<CChar>, size: Int, isHTTP10: Bool
    ) {
        self.isHTTP10 = isHTTP10
        self.size = size
        records = Framing.recordSize * head.fields.count
        // libmicrohttpd ends its texts in place, so that where they lie tells what stood between them: CR and LF behind
        // each line, and nothing else.
        var expected = UnsafeRawPointer(version) + strlen(version) + 2
        for field in head.fields {
            guard let name = field.name.baseAddress, let value = field.value.baseAddress else {
                linesAreWhole = false
                continue
            }
            if UnsafeRawPointer(name) != expected || UnsafeRawPointer(value) <= expected + field.name.count {
                linesAreWhole = false
            }
            expected = UnsafeRawPointer(value) + field.value.count + 2
            note(field, value)
        }
        if expected + 2 != UnsafeRawPointer(start) + size { linesAreWhole = false }
    }

    /// A field's record in libmicrohttpd's memory.
    static let recordSize = 64

    private mutating func note(_ field: Head.Field, _ value: UnsafePointer<UInt8>) {
        // `Content-Length : 5` comes through, under a name that ends with the space.
        for byte in field.name where byte <= 0x20 || byte == 0x7f { namesAreTokens = false }
        // The values end with a zero too.
        let text = UnsafeRawPointer(value).assumingMemoryBound(to: CChar.self)
        switch field.name.count {
        case 14 where field.isNamed("Content-Length"):
            lengths += 1
            // libmicrohttpd has refused what is not a number of 64 bits.
            contentLength = Int(clamping: strtoull(text, nil, 10))
        case 17 where field.isNamed("Transfer-Encoding"):
            codings += 1
            if strcasecmp(text, "chunked") != 0 { isChunked = false }
        case 16 where field.isNamed("Content-Encoding"):
            coding = hasCoding ? .unknown : ContentCoding(String(cString: text))
            hasCoding = true
        case 6 where field.isNamed("Expect"): expectsContinue = strcasecmp(text, "100-continue") == 0
        case 6 where field.isNamed("Cookie"):
            let cookies = field.value.count { $0 == UInt8(ascii: ";") } + 1
            records += field.value.count + cookies * Framing.recordSize
        default: break
        }
    }

    var problem: (status: Int, message: String)? {
        if !namesAreTokens { return (400, "A header's name holds what no name may.") }
        if !linesAreWhole {
            return (400, "Each line of a request's head must end with CR and LF, and hold one header.")
        }
        if lengths > 1 { return (400, "Content-Length is given more than once.") }
        if codings > 0 && lengths > 0 { return (400, "Content-Length and Transfer-Encoding exclude each other.") }
        if codings > 0 && isHTTP10 { return (400, "HTTP/1.0 knows no Transfer-Encoding.") }
        if codings > 1 || !isChunked { return (501, "The only Transfer-Encoding understood is chunked.") }
        return nil
    }
}

extension Head.Field {
    fileprivate func isNamed(_ name: StaticString) -> Bool {
        isNamed(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
}
