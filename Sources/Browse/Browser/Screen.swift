/// How a run of text looks: never by colour alone.
public struct Style: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let bold = Style(rawValue: 1)
    public static let reverse = Style(rawValue: 2)
    public static let dim = Style(rawValue: 4)
    public static let underlined = Style(rawValue: 8)
    /// In the colour of what is good, where there are colours.
    public static let accent = Style(rawValue: 16)
    public static let warning = Style(rawValue: 32)
    public static let error = Style(rawValue: 64)
}

/// What stands on a terminal: lines of pieces, each safe and of known width.
public struct Screen: Sendable, Equatable {
    public struct Run: Sendable, Equatable {
        /// The pieces, each of which is drawn at its own column.
        public var pieces: [SafeText.Piece]
        public var style: Style
    }

    public struct Line: Sendable, Equatable {
        public private(set) var runs: [Run] = []
        public private(set) var width = 0
        let limit: Int

        init(_ limit: Int) { self.limit = max(1, limit) }

        var room: Int { limit - width }

        /// Adds as much of a text as fits, `…` at its end where it does not.
        mutating func add(_ text: String, _ style: Style = [], width columns: Int? = nil, atEnd: Bool = false) {
            let room = min(limit - width, columns ?? .max)
            guard room > 0 else { return }
            let safe = SafeText(text, width: room)
            let blanks = columns.map { max(0, min($0, room) - safe.width) } ?? 0
            if atEnd { blank(blanks, style) }
            append(safe.pieces, style)
            if !atEnd { blank(blanks, style) }
        }

        /// From a cell on, blanks where the line does not reach so far.
        mutating func move(to column: Int) { blank(max(0, min(column, limit) - width)) }

        mutating func blank(_ count: Int, _ style: Style = []) {
            guard count > 0 else { return }
            append(Array(repeating: SafeText.Piece(text: " ", width: 1, isCode: false), count: count), style)
        }

        private mutating func append(_ pieces: [SafeText.Piece], _ style: Style) {
            guard !pieces.isEmpty else { return }
            runs.append(Run(pieces: pieces, style: style))
            width += pieces.reduce(0) { $0 + $1.width }
        }

        /// To the end, in one style: a row that is chosen.
        mutating func fill(_ style: Style) {
            blank(limit - width)
            for index in runs.indices { runs[index].style.formUnion(style) }
        }

        public var text: String { runs.flatMap(\.pieces).map(\.text).joined() }
    }

    public var lines: [Line]
    /// Where the cursor stands; nil: nowhere.
    public var cursor: (column: Int, line: Int)?

    public static func == (one: Screen, other: Screen) -> Bool {
        one.lines == other.lines && one.cursor?.column == other.cursor?.column && one.cursor?.line == other.cursor?.line
    }

    /// Each line's text, without the blanks at its end.
    public var text: String {
        lines.map { line in
            var text = line.text
            while text.last == " " { text.removeLast() }
            return text
        }.joined(separator: "\n")
    }
}
