/// The parts of regular expressions that stand for themselves: client libraries quote text with `\Q…\E`.
public enum RegexPattern {
    /// Splits a pattern at its quotes: `a.\Qb.c\E$` is `a.` (pattern), `b.c` (literal), `$` (pattern). A quote that is
    /// not closed goes to the end; an escaped backslash begins none.
    public static func parts(_ pattern: String) -> [(text: String, isLiteral: Bool)] {
        let bytes = Array(pattern.utf8)
        var parts: [(text: String, isLiteral: Bool)] = []
        var part: [UInt8] = []
        var isLiteral = false
        func flush() {
            if !part.isEmpty { parts.append((String(decoding: part, as: UTF8.self), isLiteral)) }
            part = []
        }
        var index = 0
        while index < bytes.count {
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            if bytes[index] == UInt8(ascii: "\\"), next == UInt8(ascii: isLiteral ? "E" : "Q") {
                flush()
                isLiteral.toggle()
                index += 2
            } else if bytes[index] == UInt8(ascii: "\\"), !isLiteral, next != 0 {
                part += [bytes[index], next]
                index += 2
            } else {
                part.append(bytes[index])
                index += 1
            }
        }
        flush()
        return parts
    }

    /// The text that a pattern `^\Qtext\E` (or `^text` without special characters) asks to begin with; nil for every
    /// other pattern.
    static func literalPrefix(_ pattern: String) -> String? {
        guard pattern.utf8.first == UInt8(ascii: "^") else { return nil }
        var prefix = ""
        for part in parts(String(pattern.dropFirst())) {
            guard let text = part.isLiteral ? part.text : unescaped(part.text) else { return nil }
            prefix += text
        }
        return prefix
    }

    /// nil where a character has a meaning of its own.
    private static func unescaped(_ pattern: String) -> String? {
        var text = String.UnicodeScalarView()
        var isEscaped = false
        for character in pattern.unicodeScalars {
            if isEscaped {
                // `\d`, `\1`: classes and references.
                if character.isASCII, character.properties.isAlphabetic || ("0"..."9").contains(character) {
                    return nil
                }
                text.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if ".*+?()[]{}|^$".unicodeScalars.contains(character) {
                return nil
            } else {
                text.append(character)
            }
        }
        return isEscaped ? nil : String(text)
    }

    /// `\Qtext\E`, a text's own `\E` outside the quotes.
    static func quoted(_ text: String) -> String {
        var quoted = Array("\\Q".utf8)
        var last: UInt8 = 0
        for byte in text.utf8 {
            if last == UInt8(ascii: "\\"), byte == UInt8(ascii: "E") {
                quoted.removeLast()
                quoted += Array("\\E\\\\E\\Q".utf8)
                last = 0
            } else {
                quoted.append(byte)
                last = byte
            }
        }
        // A backslash at the end would swallow the closing quote's.
        if last == UInt8(ascii: "\\") {
            quoted.removeLast()
            quoted += Array("\\E\\\\".utf8)
        } else {
            quoted += Array("\\E".utf8)
        }
        return String(decoding: quoted, as: UTF8.self)
    }
}
