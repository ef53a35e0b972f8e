import Hermes

/// A piece of a page. What is put into one as a text is escaped; only pieces go in as they are.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    private(set) var source = ""

    static let none: HTML = ""

    init(stringLiteral value: String) { source = value }
    init(stringInterpolation: StringInterpolation) { source = stringInterpolation.source }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var source = ""
        init(literalCapacity: Int, interpolationCount: Int) { source.reserveCapacity(literalCapacity) }
        mutating func appendLiteral(_ literal: String) { source += literal }
        /// Escaped.
        mutating func appendInterpolation(_ text: String) { source += text.escapedForHTML }
        mutating func appendInterpolation(_ number: Int) { source += String(number) }
        mutating func appendInterpolation(_ piece: HTML) { source += piece.source }
        /// Nothing for nil.
        mutating func appendInterpolation(_ piece: HTML?) { source += piece?.source ?? "" }
        mutating func appendInterpolation(_ pieces: [HTML]) { for piece in pieces { source += piece.source } }
    }

    static func += (one: inout HTML, other: HTML) { one.source += other.source }
    var isEmpty: Bool { source.isEmpty }
}

extension HTML {
    /// What a person wrote: blanks and lines as they are (the style keeps them), addresses as links.
    static func words(_ text: String) -> HTML {
        var html = HTML.none
        var plain = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "http")?.lowerBound {
            plain += rest[..<start]
            rest = rest[start...]
            // Only what begins as an address is read to its end: a text may say "http" as often as it likes.
            let scheme = ["http://", "https://"].first { rest.hasPrefix($0) }
            let link = HTML.withoutFullStop(
                rest.prefix { scheme != nil && !$0.isWhitespace && !"<>\"".contains($0) })
            if let scheme, link.utf8.count > scheme.utf8.count {
                html += "\(plain)<a href=\"\(String(link))\" rel=\"nofollow ugc noopener\">\(String(link))</a>"
                plain = ""
                rest = rest[link.endIndex...]
            } else {
                plain += "http"
                rest = rest.dropFirst(4)
            }
        }
        plain += rest
        html += "\(plain)"
        return html
    }

    /// Signs that end a sentence end no address.
    private static func withoutFullStop(_ address: Substring) -> Substring {
        var link = address
        while let last = link.last, ".,;:!?)»]'".contains(last) { link.removeLast() }
        return link
    }

    /// A name, whichever way it is written.
    static func name(_ text: String) -> HTML { "<bdi>\(text)</bdi>" }
}

extension String {
    /// As a part of a URL.
    var inURL: String {
        var text = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }
}
