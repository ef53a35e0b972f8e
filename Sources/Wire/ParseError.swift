/// What went wrong, as a client is told: turned into HTTP in one place.
public struct ParseError: Error, Sendable, Equatable {
    /// Parse's error code; nil for the few answers that carry only a sentence.
    public var code: Int?
    /// A sentence that says what to do.
    public var message: String
    /// The HTTP status where it is not the one that follows from the code.
    public var status: Int?
    /// What the client is told in the place of `message`: cloud code may throw a number or an object.
    public var thrown: JSON?
    /// Seconds after which the client may try again (`Retry-After`).
    public var retryAfter: Int?

    public init(_ code: Int?, _ message: String, status: Int? = nil, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }
}

extension ParseError: CustomStringConvertible {
    /// For the log: `101: Object not found.`
    public var description: String { code.map { "\($0): \(message)" } ?? message }
}

extension ParseError {
    /// Parse's error codes that this room gives.
    public enum Code {
        public static let invalidQuery = 102
        public static let invalidClassName = 103
        public static let invalidKeyName = 105
        public static let invalidJSON = 107
        public static let commandUnavailable = 108
        public static let incorrectType = 111
        public static let invalidNestedKey = 121
        public static let invalidACL = 123
        public static let missingRequiredField = 135
    }

    static func query(_ message: String) -> ParseError { ParseError(Code.invalidQuery, message) }
    static func json(_ message: String) -> ParseError { ParseError(Code.invalidJSON, message) }
    static func type(_ message: String) -> ParseError { ParseError(Code.incorrectType, message) }
    static func invalidField(_ name: String) -> ParseError {
        ParseError(Code.invalidKeyName, "Invalid field name: \(clipped(name)).")
    }
    static func invalidKey(_ name: String) -> ParseError {
        ParseError(Code.invalidKeyName, "Invalid key name: \(clipped(name))")
    }

    /// What a client sent, cut to a length that suits a message.
    static func clipped(_ text: String) -> String { text.utf8.count <= 200 ? text : text.prefix(100) + "…" }

    static let null = type("Text must not hold the character U+0000")
    static let nestedKey = ParseError(
        Code.invalidNestedKey, "Nested keys should not contain the '$' or '.' characters")
}
