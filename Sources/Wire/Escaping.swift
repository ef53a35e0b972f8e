extension String {
    /// For a part of a URL, as JavaScript's encodeURIComponent writes it: all but letters, digits and `-_.!~*'()`
    /// percent-encoded.
    public var urlEncoded: String { urlEncoded(keeping: "-_.!~*'()") }

    /// The same with other signs that stay as they are.
    public func urlEncoded(keeping signs: StaticString) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let kept = signs.withUTF8Buffer { Array($0) }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(utf8.count)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                encoded.append(byte)
            case _ where kept.contains(byte): encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// For text between tags and within the quotes of an attribute.
    public var htmlEscaped: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
