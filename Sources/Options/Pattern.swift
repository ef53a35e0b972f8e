import Synchronization

/// A regular expression from the configuration, in JavaScript's notation as far as Swift's `Regex` shares it.
///
/// `Regex` is not `Sendable`, so one match runs at a time. Patterns without any special sign, which the defaults
/// are, are compared as texts and take no lock.
public final class Pattern: Sendable {
    public let source: String
    private let isLiteral: Bool
    private let regex: Mutex<Regex<AnyRegexOutput>?>

    /// - Throws: `OptionFault` where `source` is not a regular expression.
    public init(_ source: String) throws(OptionFault) {
        self.source = source
        isLiteral = !source.contains { "\\^$.|?*+()[]{}/".contains($0) }
        guard !isLiteral else {
            regex = Mutex(nil)
            return
        }
        guard let made = try? Regex(source) else {
            throw OptionFault("\"\(source)\" is not a regular expression")
        }
        regex = Mutex(made)
    }

    /// A pattern that matches `text` itself, whatever signs it holds.
    public init(literal text: String) {
        source = text
        isLiteral = true
        regex = Mutex(nil)
    }

    /// Whether it is found anywhere in `text`.
    public func isFound(in text: String) -> Bool {
        if isLiteral { return text.contains(source) }
        return regex.withLock { regex in regex.flatMap { try? $0.firstMatch(in: text) } != nil }
    }

    /// Whether `text` begins with what it matches.
    public func matchesStart(of text: String) -> Bool {
        if isLiteral { return text.hasPrefix(source) }
        return regex.withLock { regex in regex.flatMap { try? $0.prefixMatch(in: text) } != nil }
    }

    /// Whether it matches the whole of `text`.
    public func matches(_ text: String) -> Bool {
        if isLiteral { return text == source }
        return regex.withLock { regex in regex.flatMap { try? $0.wholeMatch(in: text) } != nil }
    }
}
