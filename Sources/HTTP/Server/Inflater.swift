import CZlib

/// How a request's body was packed, as its Content-Encoding says.
enum ContentCoding {
    case none
    /// gzip or zlib's own: zlib tells the two apart by their first bytes.
    case packed
    case unknown

    init(_ name: String) {
        switch name.lowercased() {
        case "", "identity": self = .none
        case "gzip", "x-gzip", "deflate": self = .packed
        default: self = .unknown
        }
    }
}

/// Unpacks whole bodies.
enum Inflater {
    static let malformed = HTTPRefusal(400, "The request's body is not packed as its Content-Encoding says.")

    /// - Parameter take: asked before a piece of so many bytes is kept; says why it is too much.
    /// - Throws: what `take` says, or `malformed`.
    static func unpack(_ bytes: [UInt8], take: (Int) -> HTTPRefusal?) throws(HTTPRefusal) -> [UInt8] {
        var stream = z_stream()
        // 15 bits of window, and 32 for gzip's head or zlib's, whichever comes.
        let begun = inflateInit2_(&stream, 15 + 32, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard begun == Z_OK, bytes.count < Int(UInt32.max) else { throw malformed }
        defer { inflateEnd(&stream) }
        var unpacked: [UInt8] = []
        var refusal: HTTPRefusal?
        bytes.withUnsafeBufferPointer { input in
            // zlib's older interface lacks a const; it does not write to its input.
            stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.avail_in = UInt32(input.count)
            withUnsafeTemporaryAllocation(byteCount: pieceSize, alignment: 1) { piece in
                refusal = inflateAll(&stream, piece) { piece in
                    if let refusal = take(piece.count) { return refusal }
                    unpacked.append(contentsOf: piece)
                    return nil
                }
            }
        }
        if let refusal { throw refusal }
        return unpacked
    }

    private static let pieceSize = 64 << 10

    private static func inflateAll(
        _ stream: inout z_stream, _ piece: UnsafeMutableRawBufferPointer,
        keep: (UnsafeMutableRawBufferPointer.SubSequence) -> HTTPRefusal?
    ) -> HTTPRefusal? {
        // Nothing is what an empty body unpacks to.
        guard stream.avail_in > 0 else { return nil }
        while true {
            stream.next_out = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.avail_out = UInt32(piece.count)
            let result = inflate(&stream, Z_NO_FLUSH)
            guard result == Z_OK || result == Z_STREAM_END else { return malformed }
            let count = piece.count - Int(stream.avail_out)
            if count > 0, let refusal = keep(piece[..<count]) { return refusal }
            guard result == Z_STREAM_END else { continue }
            if stream.avail_in == 0 { return nil }
            // gzip may be several pieces one behind the other.
            guard inflateReset(&stream) == Z_OK else { return malformed }
        }
    }
}
