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
                let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
                if isPlain { escaped(text, &line) } else { quoted(text, &line) }
            case .int(let number): line.append(contentsOf: String(number).utf8)
            case .number(let number): line.append(contentsOf: String(number).utf8)
            case .bool(let truth): line.append(contentsOf: (truth ? "true" : "false").utf8)
            }
        }
        line.append(UInt8(ascii: "\n"))
    }

    private static func quoted(_ text: String, _ line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { line.append(UInt8(ascii: "\\")) }
            append(byte, &line)
        }
        line.append(UInt8(ascii: "\""))
    }

    private static func escaped(_ text: String, _ line: inout [UInt8]) {
        for byte in text.utf8 { append(byte, &line) }
    }

    private static func append(_ byte: UInt8, _ line: inout [UInt8]) {
        guard byte < 0x20 || byte == 0x7f else {
            line.append(byte)
            return
        }
        switch byte {
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
