/// What went wrong, as a client is told: turned into HTTP in one place.
public struct ParseError: Error, Sendable, Equatable {
    /// Parse's error code; nil for the few answers that carry only a sentence.
    public var code: Int?
    /// A sentence that says what to do.
    public var message: String
    /// The HTTP status where it is not the one that follows from the code.
    public var status: Int?
    /// Seconds after which the client may try again (`Retry-After`).
    public var retryAfter: Int?

    public init(_ code: Int?, _ message: String, status: Int? = nil, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }
}
