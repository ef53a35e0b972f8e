/// What is wrong with a filter, and where.
public struct FilterFault: Error, Equatable, Sendable {
    /// Characters from the filter's beginning.
    public var position: Int
    /// How many characters the wrong part has; 0 where something is missing.
    public var length: Int
    public var reason: String
    /// What may stand in the place of the wrong part.
    public var suggestion: String?

    public init(_ position: Int, _ length: Int, _ reason: String, suggestion: String? = nil) {
        self.position = position
        self.length = length
        self.reason = reason
        self.suggestion = suggestion
    }

    /// The filter with the suggestion in it; nil where there is none.
    public func mended(_ text: String) -> String? {
        guard let suggestion else { return nil }
        var characters = Array(text)
        guard position + length <= characters.count else { return nil }
        characters.replaceSubrange(position..<position + length, with: Array(suggestion))
        return String(characters)
    }
}

extension FilterFault: CustomStringConvertible {
    public var description: String { reason + (suggestion.map { "; perhaps \($0)" } ?? "") }

    /// The filter on one line, the caret and the reason on the next.
    public func shown(under text: String) -> String {
        let before = SafeText(String(text.prefix(position))).width
        return SafeText(text).text + "\n" + String(repeating: " ", count: before) + "^ " + SafeText(description).text
    }
}
