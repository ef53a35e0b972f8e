/// What a character takes on a terminal.
enum CharacterKind: UInt32 {
    case narrow, wide, mark, code, selector, space, rightToLeft

    init(_ scalar: Unicode.Scalar) {
        if scalar.value >= 0x20, scalar.value < 0x7F {
            self = .narrow
            return
        }
        var low = 0
        var high = CharacterKind.table.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if CharacterKind.table[middle] >> 3 <= scalar.value { low = middle } else { high = middle }
        }
        self = CharacterKind(rawValue: CharacterKind.table[low] & 7) ?? .code
    }
}

/// A text that somebody stored, as it may be shown: nothing in it acts on a terminal, and how wide it is does not depend
/// on the terminal.
///
/// Control characters stand as `^[`, `<9B>`, `\n`; characters that turn or hide others as `<202E>`, and so does what
/// this program knows no width of: these pieces are codes, to be shown reversed. Of emoji that are joined the first is
/// shown, of flags the two letters, no selectors, of the marks on a character two at most. Behind what is written from
/// the right stands U+200E, so that terminals which turn such runs keep them within themselves.
public struct SafeText: Sendable, Equatable {
    /// Something that is shown as a whole or not at all.
    public struct Piece: Sendable, Equatable {
        public var text: String
        /// Columns: 1 or more.
        public var width: Int
        /// It stands for a character that is not shown itself.
        public var isCode: Bool
    }

    public private(set) var pieces: [Piece] = []
    /// Columns.
    public private(set) var width = 0
    /// Whether the text was longer; its last piece is `…` then.
    public private(set) var isClipped = false

    /// - Parameter limit: columns, 1 or more; what is longer ends in `…`. Time taken grows with it, not with the text.
    public init(_ text: String, width limit: Int = .max) {
        var reader = Reader(limit: limit)
        reader.read(text)
        pieces = reader.pieces
        width = reader.width
        isClipped = reader.isClipped
    }

    /// All pieces in a row.
    public var text: String { pieces.map(\.text).joined() }

    /// The text, and as many blanks as it is short of so many columns.
    public func padded(to columns: Int, atStart: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, columns - width))
        return atStart ? blanks + text : text + blanks
    }
}

extension SafeText {
    private struct Reader {
        let limit: Int
        var pieces: [Piece] = []
        var width = 0
        var isClipped = false
        private var marks = 0
        /// What the last piece shows: whether more may join it.
        private var emoji: Unicode.Scalar?
        private var takesMarks = false
        private var joiner = false

        init(limit: Int) { self.limit = max(1, limit) }

        mutating func read(_ text: String) {
            // Marks and joined emoji take no room: without a bound a text of nothing else would be read to its end.
            var budget = limit < 1 << 20 ? limit * 64 + 1024 : Int.max
            for scalar in text.unicodeScalars {
                budget -= 1
                take(scalar)
                if width > limit || budget == 0 { break }
            }
            if joiner { code(0x200D) }
            if width > limit || budget == 0 { clip() }
        }

        private mutating func clip() {
            isClipped = true
            while width + 1 > limit, let last = pieces.popLast() { width -= last.width }
            pieces.append(Piece(text: "…", width: 1, isCode: false))
            width += 1
        }

        private mutating func take(_ scalar: Unicode.Scalar) {
            if joiner {
                joiner = false
                if scalar.isShownAsEmoji { return }
                code(0x200D)
            }
            if let emoji {
                switch scalar.value {
                case 0x200D:
                    joiner = true
                    return
                case 0x1F3FB...0x1F3FF: return
                case 0xE0020...0xE007F where emoji.value == 0x1F3F4: return
                default: break
                }
            }
            switch CharacterKind(scalar) {
            case .selector: break
            case .mark: mark(scalar)
            case .space: add(" ", 1)
            case .code: code(scalar.value)
            case .rightToLeft: add("\(scalar)\u{200E}", 1, takesMarks: true)
            case .narrow:
                if (0x1F1E6...0x1F1FF).contains(scalar.value),
                    let letter = Unicode.Scalar(scalar.value - 0x1F1E6 + 0x41)
                {
                    add(String(Character(letter)), 1)
                } else {
                    add(String(Character(scalar)), 1, takesMarks: true)
                    if scalar.isShownAsEmoji { emoji = scalar }
                }
            case .wide:
                add(scalar.value == 0x3000 ? "  " : String(Character(scalar)), 2, takesMarks: true)
                if scalar.isShownAsEmoji { emoji = scalar }
            }
        }

        private mutating func mark(_ scalar: Unicode.Scalar) {
            guard takesMarks, let last = pieces.indices.last else { return code(scalar.value) }
            marks += 1
            guard marks <= 2 else { return }
            if pieces[last].text.unicodeScalars.last == "\u{200E}" {
                pieces[last].text.unicodeScalars.removeLast()
                pieces[last].text.unicodeScalars.append(contentsOf: [scalar, "\u{200E}"])
            } else {
                pieces[last].text.unicodeScalars.append(scalar)
            }
        }

        private mutating func code(_ value: UInt32) {
            let text =
                switch value {
                case 0x09: "\\t"
                case 0x0A: "\\n"
                case 0x0D: "\\r"
                case 0..<0x20: "^" + String(Character(Unicode.Scalar(UInt8(value + 0x40))))
                case 0x7F: "^?"
                default: "<" + String(value, radix: 16, uppercase: true) + ">"
                }
            add(text, text.utf8.count, isCode: true)
        }

        private mutating func add(_ text: String, _ columns: Int, isCode: Bool = false, takesMarks: Bool = false) {
            pieces.append(Piece(text: text, width: columns, isCode: isCode))
            width += columns
            marks = 0
            emoji = nil
            self.takesMarks = takesMarks
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isShownAsEmoji: Bool { value > 0xFF && properties.isEmoji }

    /// Whether a text that goes to a terminal may hold it as it is.
    var isHidden: Bool { CharacterKind(self) == .code }
}
