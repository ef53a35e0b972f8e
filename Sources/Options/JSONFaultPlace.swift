/// Where a text that people have written stops being JSON: simdjson says only that it is none.
struct JSONFaultPlace {
    private let bytes: [UInt8]
    private var index = 0
    /// Deeper than that the place is not looked for.
    private static let maxDepth = 200

    /// A sentence with line and column; nil where no fault is found.
    static func told(_ text: String) -> String? {
        var place = JSONFaultPlace(bytes: Array(text.utf8))
        return place.document() ? nil : place.sentence
    }

    private var sentence: String {
        guard index < bytes.count else { return "it ends before it is complete" }
        let before = bytes[..<index]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = String(decoding: bytes[start..<index], as: UTF8.self).count + 1
        let found = String(decoding: bytes[index...].prefix(40), as: UTF8.self).first
        let what = found.map { $0.isNewline ? "the line's end" : "\"\($0)\"" } ?? "this"
        return "at line \(line), column \(column) \(what) was not expected"
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() { while let byte = next, [32, 9, 10, 13].contains(byte) { index += 1 } }

    private mutating func take(_ byte: Character) -> Bool {
        guard next == byte.asciiValue else { return false }
        index += 1
        return true
    }

    // Each answers false where it stands at what it did not expect.

    private mutating func document() -> Bool {
        skipSpace()
        guard value(depth: 0) else { return false }
        skipSpace()
        return index == bytes.count
    }

    private mutating func value(depth: Int) -> Bool {
        guard depth < Self.maxDepth else { return false }
        switch next.map({ Character(Unicode.Scalar($0)) }) {
        case "{":
            return elements("{", "}") { place in
                guard place.text() else { return false }
                place.skipSpace()
                guard place.take(":") else { return false }
                place.skipSpace()
                return place.value(depth: depth + 1)
            }
        case "[": return elements("[", "]") { $0.value(depth: depth + 1) }
        case "\"": return text()
        case "t": return word("true")
        case "f": return word("false")
        case "n": return word("null")
        default: return number()
        }
    }

    private mutating func elements(
        _ open: Character, _ close: Character, _ element: (inout JSONFaultPlace) -> Bool
    ) -> Bool {
        guard take(open) else { return false }
        skipSpace()
        if take(close) { return true }
        while true {
            guard element(&self) else { return false }
            skipSpace()
            if take(close) { return true }
            guard take(",") else { return false }
            skipSpace()
        }
    }

    private mutating func text() -> Bool {
        guard take("\"") else { return false }
        while let byte = next, byte >= 32 {
            if take("\"") { return true }
            if take("\\") {
                guard let escaped = next, "\"\\/bfnrtu".utf8.contains(escaped) else { return false }
            }
            index += 1
        }
        return false
    }

    private mutating func word(_ word: String) -> Bool {
        guard bytes[index...].starts(with: word.utf8) else { return false }
        index += word.utf8.count
        return true
    }

    private mutating func number() -> Bool {
        _ = take("-")
        guard let first = next, isDigit(first) else { return false }
        index += 1
        // Nothing may follow a zero that leads.
        if first != UInt8(ascii: "0") { skipDigits() }
        if take(".") { guard skipDigits() else { return false } }
        if take("e") || take("E") {
            if !take("-") { _ = take("+") }
            guard skipDigits() else { return false }
        }
        return true
    }

    private func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    @discardableResult private mutating func skipDigits() -> Bool {
        let start = index
        while let byte = next, isDigit(byte) { index += 1 }
        return index > start
    }
}
