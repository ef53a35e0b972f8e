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
    public func check(_ object: JSONObject) throws(ParseError) {
        for entry in entries where contains(object, entry) {
            throw ParseError(ParseError.Code.invalidKeyName, entry.message)
        }
    }

    public func check(_ json: JSON) throws(ParseError) {
        for entry in entries where contains(json, entry) {
            throw ParseError(ParseError.Code.invalidKeyName, entry.message)
        }
    }

    private func contains(_ json: JSON, _ entry: Entry) -> Bool {
        switch json {
        case .object(let object): return contains(object, entry)
        case .array(let elements):
            for element in elements {
                if entry.key == nil, matches(element, entry) { return true }
                if contains(element, entry) { return true }
            }
            return false
        default: return false
        }
    }

    private func contains(_ object: JSONObject, _ entry: Entry) -> Bool {
        for (key, value) in object.members {
            if entry.key?.matches(key) ?? true, matches(value, entry) { return true }
            if contains(value, entry) { return true }
        }
        return false
    }

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
            return text.withUTF8 { Self.contains($0, pattern) }
        case .regex(let regex):
            let whole = NSRange(location: 0, length: text.utf16.count)
            return regex.firstMatch(in: text, range: whole) != nil
        }
    }

    private static func contains(_ text: UnsafeBufferPointer<UInt8>, _ pattern: [UInt8]) -> Bool {
        guard let first = pattern.first else { return true }
        guard text.count >= pattern.count else { return false }
        return (0...text.count - pattern.count).contains { start in
            text[start] == first && text[start..<start + pattern.count].elementsEqual(pattern)
        }
    }
}
