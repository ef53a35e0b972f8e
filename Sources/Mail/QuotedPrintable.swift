/// Quoted-printable (RFC 2045, 6.7): text in lines of at most 76 ASCII characters, ended by CR LF.
enum QuotedPrintable {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Lines may end in LF, CR LF or CR. Other control characters than the tab are left out: no text needs them.
    static func encode(_ text: String) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count + text.utf8.count / 8)
        var line: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 10 || byte == 13 {
                if byte == 13, index < bytes.count, bytes[index] == 10 { index += 1 }
                append(line, to: &out)
                line = []
            } else if byte >= 0x20 && byte != 0x7f || byte == 9 {
                line.append(byte)
            }
        }
        if !line.isEmpty { append(line, to: &out) }
        return out
    }

    private static func append(_ line: [UInt8], to out: inout [UInt8]) {
        let from = Array("From ".utf8)
        var width = 0
        for (index, byte) in line.enumerated() {
            let isLast = index == line.count - 1
            var isPlain = (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "=") || byte == 9
            if isLast, byte == 0x20 || byte == 9 { isPlain = false }
            // Room for the `=` of a soft line break, except at the end of the line.
            if width + (isPlain ? 1 : 3) > (isLast ? 76 : 75) {
                out += [UInt8(ascii: "="), 13, 10]
                width = 0
            }
            // A dot at the start of a line is SMTP's, "From " is the mailbox files'.
            if width == 0, byte == UInt8(ascii: ".") || line[index...].starts(with: from) { isPlain = false }
            if isPlain {
                out.append(byte)
                width += 1
            } else {
                out += [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                width += 3
            }
        }
        out += [13, 10]
    }
}
