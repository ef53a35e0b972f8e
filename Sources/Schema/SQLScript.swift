/// A text of several SQL statements.
enum SQLScript {
    /// The statements of a script, without the `;` between them and without those that hold only comments.
    ///
    /// Knows quoted texts and names, `$tag$` quotes and both kinds of comments (PostgreSQL manual, 4.1), but not
    /// backslashes in `E''` texts nor `BEGIN ATOMIC` bodies: scripts are written without them.
    static func statements(of script: String) -> [String] {
        var statements: [String] = []
        var current: [UInt8] = []
        var hasContent = false
        var rest = Array(script.utf8)[...]

        func finish() {
            if hasContent { statements.append(trimmed(current)) }
            current = []
            hasContent = false
        }

        while let byte = rest.first {
            if byte == UInt8(ascii: ";") {
                rest.removeFirst()
                finish()
                continue
            }
            let (length, isContent) = token(rest)
            current += rest.prefix(length)
            rest = rest.dropFirst(length)
            hasContent = hasContent || isContent
        }
        finish()
        return statements
    }

    /// The length of what begins the text and must not be cut, and whether it is more than blanks and comments.
    private static func token(_ text: ArraySlice<UInt8>) -> (length: Int, isContent: Bool) {
        switch text.first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""):
            // A doubled quote begins a second text right after the first, which comes to the same.
            let closing = text.dropFirst().firstIndex(of: text[text.startIndex])
            return (closing.map { $0 - text.startIndex + 1 } ?? text.count, true)
        case UInt8(ascii: "-") where text.dropFirst().first == UInt8(ascii: "-"):
            return (text.firstIndex(of: 10).map { $0 - text.startIndex } ?? text.count, false)
        case UInt8(ascii: "/") where text.dropFirst().first == UInt8(ascii: "*"):
            return (blockComment(text), false)
        case UInt8(ascii: "$"):
            return (dollarQuote(text), true)
        case 9, 10, 13, 32:
            return (1, false)
        default:
            // A `$` within a word begins no quote.
            return (max(1, text.prefix { isWord($0) || $0 == UInt8(ascii: "$") }.count), true)
        }
    }

    /// Comments nest.
    private static func blockComment(_ text: ArraySlice<UInt8>) -> Int {
        var depth = 0
        var index = text.startIndex
        while index + 1 < text.endIndex {
            switch (text[index], text[index + 1]) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")): (depth, index) = (depth + 1, index + 2)
            case (UInt8(ascii: "*"), UInt8(ascii: "/")):
                (depth, index) = (depth - 1, index + 2)
                if depth == 0 { return index - text.startIndex }
            default: index += 1
            }
        }
        return text.count
    }

    /// `$tag$ … $tag$`; a `$` that begins none is a token of its own.
    private static func dollarQuote(_ text: ArraySlice<UInt8>) -> Int {
        let tag = text.dropFirst().prefix(while: isWord)
        guard tag.endIndex < text.endIndex, text[tag.endIndex] == UInt8(ascii: "$") else { return 1 }
        let delimiter = text[text.startIndex...tag.endIndex]
        var index = delimiter.endIndex
        while index + delimiter.count <= text.endIndex {
            if text[index..<index + delimiter.count].elementsEqual(delimiter) {
                return index + delimiter.count - text.startIndex
            }
            index += 1
        }
        return text.count
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 128...255:
            true
        default: false
        }
    }

    private static func trimmed(_ bytes: [UInt8]) -> String {
        let isBlank = { (byte: UInt8) in byte == 32 || (9...13).contains(byte) }
        var text = bytes.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }
}
