import CZlib
import Glibc

/// gzip for whole bodies. One for each server: zlib's 256 KB of state are made once.
final class Compressor {
    private let stream: UnsafeMutablePointer<z_stream>
    private let isReady: Bool

    init(level: Int32) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 bits of window, and 16 for gzip's head and foot.
        isReady =
            deflateInit2_(
                stream, max(1, min(9, level)), Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
    }

    deinit {
        if isReady { deflateEnd(stream) }
        stream.deallocate()
    }

    /// The result is malloc's, and the caller's; nil when there is no memory, or nothing was saved.
    func gzip(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
        guard isReady, let start = bytes.baseAddress, bytes.count < Int(UInt32.max) else { return nil }
        guard deflateReset(stream) == Z_OK, let output = malloc(bytes.count) else { return nil }
        // zlib's older interface lacks a const; it does not write to its input.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(bytes.count)
        stream.pointee.next_out = output.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(bytes.count)
        guard deflate(stream, Z_FINISH) == Z_STREAM_END else {
            free(output)
            return nil
        }
        let size = bytes.count - Int(stream.pointee.avail_out)
        return UnsafeMutableRawBufferPointer(start: realloc(output, size) ?? output, count: size)
    }

    /// Text without a coding of its own yet.
    static func isWorthwhile(_ headers: [(String, String)]) -> Bool {
        var isText = false
        for (name, value) in headers {
            if name.utf8.count == 16, strcasecmp(name, "Content-Encoding") == 0 { return false }
            guard name.utf8.count == 12, strcasecmp(name, "Content-Type") == 0 else { continue }
            isText =
                value.hasPrefix("application/json") || value.hasPrefix("text/")
                || value.hasPrefix("application/javascript") || value.hasPrefix("image/svg")
        }
        return isText
    }

    /// Whether an Accept-Encoding header takes gzip: named, or `*`, and not with a weight of 0.
    static func isAccepted(_ header: String) -> Bool {
        if header == "gzip" || header.hasPrefix("gzip,") { return true }
        var any = false
        for part in header.split(separator: ",") {
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
            guard let name = pieces.first, name == "gzip" || name == "*" else { continue }
            let weight = pieces.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            if name == "gzip" { return weight > 0 }
            any = weight > 0
        }
        return any
    }
}
