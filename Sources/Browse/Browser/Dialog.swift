import Wire

/// What stands on the last lines and takes the keys before the view does.
enum Dialog: Sendable {
    case none
    case prompt(Prompt)
    case question(Question)
    /// `y` was typed: what is to be copied?
    case copying
}

/// A line that is being typed.
struct Prompt: Sendable {
    enum Purpose: Sendable, Equatable {
        case filter(view: Int)
        case go
        case columns(view: Int)
        case field(view: Int, name: String)
        /// A password, which is not shown, for the second time where one is there.
        case password(view: Int, name: String, first: String?)
        /// Only this very text does it.
        case confirm(expected: String, Question.Action)
        case member(view: Int)
        case parameter(view: Int, name: String)
        case link(view: Int)
    }

    var purpose: Purpose
    var title: String
    private(set) var text: [Character]
    private(set) var cursor: Int
    /// What is wrong with it as it stands.
    var fault: FilterFault?
    /// What may be of interest though it is right.
    var hint: String?

    /// Longer pastes are cut.
    static let longest = 100_000

    init(_ purpose: Purpose, _ title: String, _ text: String = "") {
        self.purpose = purpose
        self.title = title
        self.text = Array(text)
        cursor = self.text.count
    }

    var string: String { String(text) }

    var isUnseen: Bool { if case .password = purpose { true } else { false } }

    mutating func insert(_ more: String) {
        // A line: what breaks it becomes a blank.
        let more = more.filter { !$0.isNewline || isUnseen == false }.map { $0.isNewline ? " " : $0 }
        let room = max(0, Prompt.longest - text.count)
        text.insert(contentsOf: more.prefix(room), at: cursor)
        cursor += min(room, more.count)
        // What was put in may have joined its neighbour to one character.
        text = Array(String(text))
        cursor = min(cursor, text.count)
    }

    mutating func replace(_ string: String) {
        text = Array(string)
        cursor = text.count
    }

    /// - Returns: whether the key was one of typing.
    mutating func take(_ key: Key) -> Bool {
        switch key {
        case .character(let character): insert(String(character))
        case .backspace:
            if cursor > 0 {
                text.remove(at: cursor - 1)
                cursor -= 1
            }
        case .delete: if cursor < text.count { text.remove(at: cursor) }
        case .left: cursor = max(0, cursor - 1)
        case .right: cursor = min(text.count, cursor + 1)
        case .home: cursor = 0
        case .end: cursor = text.count
        default: return false
        }
        return true
    }
}

/// Something to be decided with one key.
struct Question: Sendable {
    indirect enum Action: Sendable, Equatable {
        case write
        case sort(view: Int, Sorting)
        case save(view: Int)
        case saveAccess(view: Int)
        case delete(className: String, ids: [String])
        case undo
        case quit
        case leaveForm
        case runJob(view: Int, name: String)
        case saveConfig(view: Int, name: String, JSON?)
        /// Somebody else changed the same: take theirs, or keep mine.
        case conflict(view: Int)
        case link(view: Int, id: String, adding: Bool)
    }

    var title: String
    var lines: [String]
    /// What stands on the last line.
    var keys: String
    var action: Action
}
