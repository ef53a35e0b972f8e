/// SQL text with `$1`, `$2`, …; each connection prepares it once, at its first use, and finds it again by its text.
///
/// Keep the number of texts small: a connection remembers as many as `DatabaseConfiguration.preparedLimit`. The hash
/// is worked out here, once, so keep a `Statement` and use it again rather than making it for each call.
public struct Statement: Sendable, Hashable {
    public let text: String
    private let textHash: Int

    public init(_ text: String) {
        self.text = text
        textHash = text.hashValue
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(textHash) }

    public static func == (one: Statement, other: Statement) -> Bool {
        one.textHash == other.textHash && one.text == other.text
    }
}

extension Statement: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) { self.init(text) }
    public var description: String { text }
}
