/// An answer that the server gives by itself, without the handler or because the handler gave none.
public struct HTTPRefusal: Error, Equatable {
    /// 400, 413, 415, 431, 500, 501 or 503.
    public let status: Int
    /// A sentence for who sent the request.
    public let message: String
    /// Seconds, for the header of that name.
    public var retryAfter: Int?

    init(_ status: Int, _ message: String, retryAfter: Int? = nil) {
        self.status = status
        self.message = message
        self.retryAfter = retryAfter
    }

    static func headTooLarge(_ limit: Int) -> HTTPRefusal {
        HTTPRefusal(431, "The request's head is over \(limit) bytes.")
    }
    static let tooManyFields = HTTPRefusal(431, "The request has too many headers or cookies.")
    static func bodyTooLarge(_ limit: Int) -> HTTPRefusal {
        HTTPRefusal(413, "The request's body is over \(limit) bytes.")
    }
    static let unknownCoding = HTTPRefusal(415, "A body may be packed with gzip or deflate, and with nothing else.")
    static let noRoom = HTTPRefusal(
        503, "The server holds as many bodies as it can. Try again in a moment.", retryAfter: 1)
    static let notAnswered = HTTPRefusal(500, "The request was not answered.")
}
