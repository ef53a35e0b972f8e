/// The two shapes of a log line. Control characters are escaped in both, so that a line stays one line.
enum LogLine {
    /// `{"time":"…","level":"info","message":"…","port":1337}`
    static func json(
        _ time: Int64, _ level: Log.Level, _ message: String, _ fields: Log.Fields, _ line: inout [UInt8]
    ) {
        line.append(contentsOf: "{\"time\":\"".utf8)
        Timestamp.append(milliseconds: time, to: &line)
        line.append(contentsOf: "\",\"level\":\"".utf8)
        line.append(contentsOf: level.name.utf8)
        line.append(contentsOf: "\",\"message\":".utf8)
        quoted(message, &line)
        for (name, value) in fields {
            line.append(UInt8(ascii: ","))
            quoted(name, &line)
            line.append(UInt8(ascii: ":"))
            switch value {
            case .text(let text): quoted(text, &line)
            case .int(let number): line.append(contentsOf: String(number).utf8)
            case .number(let number):
                line.append(contentsOf: (number.isFinite ? String(number) : "null").utf8)
            case .bool(let truth): line.append(contentsOf: (truth ? "true" : "false").utf8)
            }
        }
        line.append(contentsOf: "}\n".utf8)
    }

    /// `2026-11-21T15:04:05.123Z info    listening port=1337 host="a b"`
    static func text(
        _ time: Int64, _ level: Log.Level, _ message: String, _ fields: Log.Fields, _ line: inout [UInt8]
    ) {
        Timestamp.append(milliseconds: time, to: &line)
        line.append(UInt8(ascii: " "))
        line.append(contentsOf: level.name.utf8)
        for _ in level.name.utf8.count..<8 { line.append(UInt8(ascii: " ")) }
        escaped(message, &line)
        for (name, value) in fields {
            line.append(UInt8(ascii: " "))
            line.append(contentsOf: name.utf8)
            line.append(UInt8(ascii: "="))
            switch value {
            case .text(let text):
                if !text.isEmpty, isPlain(text) { line.append(contentsOf: text.utf8) } else { quoted(text, &line) }
            case .int(let number): line.append(contentsOf: String(number).utf8)
            case .number(let number): line.append(contentsOf: String(number).utf8)
            case .bool(let truth): line.append(contentsOf: (truth ? "true" : "false").utf8)
            }
        }
        line.append(UInt8(ascii: "\n"))
    }

    /// Whether there is neither a space nor a quote nor a control character in it. Looks at every byte: that is quicker
    /// than to stop at the first.
    private static func isPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var others: UInt8 = 0
            for byte in bytes {
                others |= (byte <= 0x20 ? 1 : 0) | (byte == UInt8(ascii: "\"") ? 1 : 0) | (byte == 0x7f ? 1 : 0)
            }
            return others == 0
        }
    }

    private static func quoted(_ text: String, _ line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        append(text, to: &line) { isControl($0) || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        line.append(UInt8(ascii: "\""))
    }

    private static func escaped(_ text: String, _ line: inout [UInt8]) { append(text, to: &line, escaping: isControl) }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }

    /// What needs no escape goes over in one piece.
    private static func append(_ text: String, to line: inout [UInt8], escaping isSpecial: (UInt8) -> Bool) {
        var text = text
        text.withUTF8 { bytes in
            var rest = bytes[...]
            while let place = rest.firstIndex(where: isSpecial) {
                line.append(contentsOf: rest[..<place])
                append(escaped: rest[place], to: &line)
                rest = rest[(place + 1)...]
            }
            line.append(contentsOf: rest)
        }
    }

    private static func append(escaped byte: UInt8, to line: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            line.append(UInt8(ascii: "\\"))
            line.append(byte)
        case 0x0a: line.append(contentsOf: "\\n".utf8)
        case 0x0d: line.append(contentsOf: "\\r".utf8)
        case 0x09: line.append(contentsOf: "\\t".utf8)
        default:
            let digits = Array("0123456789abcdef".utf8)
            line.append(contentsOf: "\\u00".utf8)
            line.append(digits[Int(byte >> 4)])
            line.append(digits[Int(byte & 15)])
        }
    }
}
