import Wire

/// A key as a terminal tells of it.
public enum Key: Sendable, Equatable {
    case character(Character)
    case enter, escape, backspace, delete, tab
    case up, down, left, right, pageUp, pageDown, home, end
}

/// Columns and lines of a terminal.
public struct Size: Sendable, Equatable {
    public var width: Int
    public var height: Int
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}

/// What a request brought.
public struct Answer: Sendable, Equatable {
    public var json: JSON
    /// Of the whole answer.
    public var bytes: Int
    /// From the request to the answer.
    public var milliseconds: Int
    public init(json: JSON, bytes: Int = 0, milliseconds: Int = 0) {
        self.json = json
        self.bytes = bytes
        self.milliseconds = milliseconds
    }
}

/// What happens to the browser.
public enum Event: Sendable, Equatable {
    case start
    case key(Key)
    /// Text that was pasted: taken by fields that are being typed, by nothing else.
    case paste(String)
    case resize(Size)
    /// Of the request with this number.
    case answer(Int, Result<Answer, ServerFault>)
    /// The timer with this number has run out.
    case timer(Int)
    /// What an editor made of a text; nil: it was left without a change.
    case edited(String?)
    /// Where what was copied went, where the terminal did not take it; nil: nowhere, no file could be made.
    case copied(file: String?)
    /// What stands in a file.
    case fileRead(path: String, Result<[UInt8], CommandFailure>)
}

/// What the browser wants done.
public enum Effect: Sendable, Equatable {
    case fetch(Int, ServerRequest)
    /// Closes the request's connection: the server ends the statement.
    case cancel(Int)
    case timer(Int, milliseconds: Int)
    case copy(String)
    /// Opens $EDITOR on a text.
    case editor(String)
    /// Reads a file of this machine.
    case read(path: String)
    case quit
}
