internal import Wire

/// An error that the client is told, as Parse's clients know them: a code and a sentence.
///
/// Thrown by a hook, a function or a job it becomes the answer, word for word. Every other error that they throw becomes
/// a plain 141 for the client and is written to the log in full, with the hook's name.
public struct ParseError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Parse's code, such as 101 (there is no such object), 119 (not allowed), 137 (there already), 142 (wrong values);
    /// from 4800 or so upwards codes are free for applications. nil: only a sentence.
    ///
    /// HTTP's status follows from it: 101 is 404, 1 is 500, every other one 400.
    public var code: Int?
    /// A sentence for the client, which says what to do.
    public var message: String

    /// A code and a sentence for the client.
    public init(_ code: Int?, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { code.map { "\($0): \(message)" } ?? message }

    init(_ error: Wire.ParseError) { self.init(error.code, error.message) }

    var wire: Wire.ParseError { Wire.ParseError(code, message) }
}
