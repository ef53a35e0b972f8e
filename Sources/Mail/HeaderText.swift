import Dates
import Wire

/// Texts and dates as headers carry them. Whatever goes in, one header comes out: no line of it begins a new one, and
/// all of it is ASCII in lines of at most 78 characters.
enum HeaderText {
    /// The longest text in bytes; the rest is cut off. Nobody reads more of a subject.
    static let longest = 1000

    /// A subject: as it is where that is short and plain, else as RFC 2047's encoded words.
    static func unstructured(_ text: String) -> String {
        let text = oneLine(text)
        return isPlain(text) && !text.contains("=?") ? text : encodedWords(text)
    }

    /// A name before an address: in quotes, or as encoded words.
    static func phrase(_ text: String) -> String {
        let text = oneLine(text)
        let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
        return isPlain(escaped) && !text.contains("=?") ? "\"\(escaped)\"" : encodedWords(text)
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
    }

    /// Without control characters and line ends of any script, blanks at the ends, and what is too long.
    static func oneLine(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars {
            let isBlank: Bool
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: isBlank = true
            default: isBlank = scalar == " "
            }
            if isBlank, line.isEmpty || line.last == " " { continue }
            size += isBlank ? 1 : String(scalar).utf8.count
            guard size <= longest else { break }
            line.append(isBlank ? " " : scalar)
        }
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    /// Each word holds whole characters, and stands on a line of its own. 39 bytes are 52 digits of base64, 64 with what
    /// is around them, so that the longest name of a header fits before the first.
    private static func encodedWords(_ text: String) -> String {
        var words: [[UInt8]] = [[]]
        for character in text {
            // One that is too long by itself is taken apart where UTF-8 allows it.
            let parts = character.utf8.count > 39 ? character.unicodeScalars.map { String($0) } : [String(character)]
            for part in parts {
                if (words.last?.count ?? 0) + part.utf8.count > 39 { words.append([]) }
                words[words.count - 1] += Array(part.utf8)
            }
        }
        return words.map { "=?UTF-8?B?\(Base64.encode($0))?=" }.joined(separator: "\r\n ")
    }

    /// RFC 5322's date and time, in UTC: `Sun, 22 Nov 2026 09:05:00 +0000`.
    static func date(_ moment: Timestamp) -> String {
        let time = CivilTime(millisecondsSince1970: moment.milliseconds)
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        // 1970-01-01 was a Thursday.
        let day = ((time.date.daysSince1970 % 7) + 7) % 7
        return "\(days[day]), \(time.date.day) \(months[time.date.month - 1]) \(time.date.year) "
            + "\(two(time.hour)):\(two(time.minute)):\(two(time.second)) +0000"
    }
}
