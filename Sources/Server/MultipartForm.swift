import Glibc
import Wire

/// A form of `multipart/form-data` (RFC 7578), of fields without files, as functions may be sent it.
enum MultipartForm {
    /// What parts the form, as its content type says; nil for any other type.
    static func boundary(_ contentType: String) -> [UInt8]? {
        // Most send JSON, which a look at the first bytes tells.
        guard strncasecmp(contentType, "multipart/", 10) == 0 else { return nil }
        let parts = contentType.split(separator: ";").map { $0.trimmed }
        guard parts.first?.lowercased() == "multipart/form-data" else { return nil }
        guard let named = parts.first(where: { $0.lowercased().hasPrefix("boundary=") }) else { return nil }
        let value = named.dropFirst("boundary=".count).unquoted
        // Looking for it takes its length times that of the body.
        return (1...70).contains(value.utf8.count) ? Array(value.utf8) : nil
    }

    /// The fields, as texts; of two with one name the last.
    ///
    /// - Throws: 107 for what is no such form, and for a file.
    static func fields(_ body: [UInt8], boundary: [UInt8]) throws(ParseError) -> JSONObject {
        // The first boundary may stand at the very start.
        let line = Array("\r\n--".utf8) + boundary
        var rest = (Array("\r\n".utf8) + body)[...]
        guard let first = range(of: line, in: rest) else { throw malformed }
        rest = rest[first.upperBound...]
        var fields: [(key: String, value: JSON)] = []
        var places: [String: Int] = [:]
        while !rest.starts(with: "--".utf8) {
            guard let next = range(of: line, in: rest) else { throw malformed }
            let (name, value) = try field(rest[..<next.lowerBound])
            if let place = places[name] {
                fields[place].value = .string(value)
            } else {
                places[name] = fields.count
                fields.append((name, .string(value)))
            }
            rest = rest[next.upperBound...]
        }
        return JSONObject(fields)
    }

    /// One part, from behind its boundary's line.
    private static func field(_ part: ArraySlice<UInt8>) throws(ParseError) -> (name: String, value: String) {
        guard let end = range(of: headEnd, in: part.prefix(maximalHead)) else { throw malformed }
        let head = String(decoding: part[..<end.lowerBound], as: UTF8.self)
        let lines = head.split(whereSeparator: \.isNewline)
        guard let disposition = lines.first(where: { $0.lowercased().hasPrefix("content-disposition:") }) else {
            throw malformed
        }
        let parts = disposition.split(separator: ";").map { $0.trimmed }
        guard !parts.contains(where: { $0.lowercased().hasPrefix("filename") }) else {
            throw ParseError(107, "Files cannot be sent to a function. Save the file and send what /files answers.")
        }
        guard let named = parts.first(where: { $0.lowercased().hasPrefix("name=") }) else { throw malformed }
        return (
            String(named.dropFirst("name=".count).unquoted), String(decoding: part[end.upperBound...], as: UTF8.self)
        )
    }

    private static let headEnd = Array("\r\n\r\n".utf8)
    /// Bytes of a part's head, which names one field.
    private static let maximalHead = 4096

    /// What is looked for begins with a CR and has hardly another: no byte is read more than a few times, whatever was
    /// sent.
    private static func range(of pattern: [UInt8], in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress else { return nil }
            var offset = 0
            let last = all.count - pattern.count
            while offset <= last, let found = memchr(base + offset, Int32(pattern[0]), last - offset + 1) {
                offset = UnsafeRawPointer(found) - base
                let start = bytes.startIndex + offset
                if memcmp(found, pattern, pattern.count) == 0 { return start..<start + pattern.count }
                offset += 1
            }
            return nil
        }
    }

    private static let malformed = ParseError(107, "The body is no form of multipart/form-data.")
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    fileprivate var unquoted: Substring {
        count >= 2 && first == "\"" && last == "\"" ? dropFirst().dropLast() : self
    }
}
