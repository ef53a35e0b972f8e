import CSimdjson
import Foundation

/// What no request may hold (`requestKeywordDenylist`): keys, values, or pairs of both, at any depth.
///
/// Keys and texts are matched by regular expressions that are not anchored and mind capitals; other values must be
/// equal. It takes time in proportion to the size of the request and the number of entries.
public struct KeywordDenylist: Sendable {
    /// The reference's own list.
    public static let standard: [JSONObject] = [
        JSONObject([("key", "_bsontype"), ("value", "Code")]), JSONObject([("key", "constructor")]),
        JSONObject([("key", "__proto__")]),
    ]

    private struct Entry: Sendable {
        var key: Pattern?
        var value: (pattern: Pattern, json: JSON)?
        var message: String
    }

    private let entries: [Entry]

    /// - Parameter entries: `{"key": REGEX}`, `{"value": REGEX or value}`, or both.
    /// - Throws: 107 for an entry of another form and for a regular expression that cannot be read.
    public init(_ list: [JSONObject] = Self.standard) throws(ParseError) {
        var entries: [Entry] = []
        for item in list {
            var entry = Entry(message: "Prohibited keyword in request data: \(item).")
            if let key = item["key"] {
                guard let text = key.string else { throw .json("key of a denied keyword must be a string: \(item)") }
                entry.key = try Pattern(text)
            }
            if let value = item["value"] {
                entry.value = (try Pattern(value.string ?? value.description), value)
            }
            guard entry.key != nil || entry.value != nil else {
                throw .json("a denied keyword needs a key or a value: \(item)")
            }
            entries.append(entry)
        }
        self.entries = entries
    }

    /// - Throws: 105, with the entry that forbids it.
    public func check(_ json: JSON) throws(ParseError) {
        switch json {
        case .object(let object): try check(object)
        case .array(let elements):
            for element in elements {
                for entry in entries where entry.key == nil && matches(element, entry) { throw refusal(entry) }
                try check(element)
            }
        default: break
        }
    }

    public func check(_ object: JSONObject) throws(ParseError) {
        for (key, value) in object.members {
            for entry in entries where (entry.key?.matches(key) ?? true) && matches(value, entry) {
                throw refusal(entry)
            }
            try check(value)
        }
    }

    private func refusal(_ entry: Entry) -> ParseError { ParseError(ParseError.Code.invalidKeyName, entry.message) }

    private func matches(_ json: JSON, _ entry: Entry) -> Bool {
        guard let value = entry.value else { return true }
        switch json {
        case .string(let text): return value.pattern.matches(text)
        case .null, .bool, .number: return json == value.json
        case .array, .object: return false
        }
    }
}

/// A regular expression, or where none of its characters is special, a text to look for. The reference's own list
/// holds only such texts, so that requests do not pay for regular expressions that nobody asked for.
private enum Pattern: Sendable {
    case literal([UInt8])
    case regex(NSRegularExpression)

    init(_ pattern: String) throws(ParseError) {
        guard pattern.unicodeScalars.contains(where: { "\\.*+?()[]{}|^$".unicodeScalars.contains($0) }) else {
            self = .literal(Array(pattern.utf8))
            return
        }
        do {
            self = .regex(try NSRegularExpression(pattern: pattern))
        } catch {
            throw .json("not a regular expression: \(pattern)")
        }
    }

    func matches(_ text: String) -> Bool {
        switch self {
        case .literal(let pattern):
            var text = text
            guard text.utf8.count >= pattern.count else { return false }
            return text.withUTF8 { csimdjson_contains($0.baseAddress, $0.count, pattern, pattern.count) != 0 }
        case .regex(let regex):
            let whole = NSRange(location: 0, length: text.utf16.count)
            return regex.firstMatch(in: text, range: whole) != nil
        }
    }
}
