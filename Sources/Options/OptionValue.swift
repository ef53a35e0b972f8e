import Wire

/// Why what was told cannot be taken: a sentence, or the end of one that begins with the option's name.
public struct OptionFault: Error, Sendable, Equatable, CustomStringConvertible {
    public var description: String
    public init(_ description: String) { self.description = description }
}

/// A type that an option may have: read from a configuration file or from a flag, shown in the documentation.
public protocol OptionValue: Sendable {
    /// What must be told, in words: "boolean", "whole number".
    static var kind: String { get }
    init(option json: JSON) throws(OptionFault)
    /// Reads a command line flag or an environment variable.
    init(flag text: String) throws(OptionFault)
    /// As it would stand in a configuration file; nil for none.
    var shown: JSON? { get }
    /// Whether a lone object stands for a list of one.
    static var mayStandAlone: Bool { get }
}

extension OptionValue {
    public static var mayStandAlone: Bool { false }
    /// `a string`, `an object`
    static var aKind: String { (kind.hasPrefix("object") ? "an " : "a ") + kind }
    static func mismatch(_ json: JSON) -> OptionFault {
        OptionFault("must be \(aKind), not \(OptionText.short(json))")
    }
    static func mismatch(_ text: String) -> OptionFault { OptionFault("must be \(aKind), not \"\(text)\"") }
}

extension String: OptionValue {
    public static let kind = "string"
    public init(option json: JSON) throws(OptionFault) {
        guard case .string(let text) = json else { throw Self.mismatch(json) }
        self = text
    }
    public init(flag text: String) throws(OptionFault) { self = text }
    public var shown: JSON? { .string(self) }
}

extension Bool: OptionValue {
    public static let kind = "boolean"
    public init(option json: JSON) throws(OptionFault) {
        guard case .bool(let value) = json else { throw Self.mismatch(json) }
        self = value
    }
    /// An empty text is true, so that a flag may stand alone.
    public init(flag text: String) throws(OptionFault) {
        switch text {
        case "", "true", "1", "yes", "on": self = true
        case "false", "0", "no", "off": self = false
        default: throw Self.mismatch(text)
        }
    }
    public var shown: JSON? { .bool(self) }
}

extension Int: OptionValue {
    public static let kind = "whole number"
    public init(option json: JSON) throws(OptionFault) {
        guard case .number(let number) = json, let value = Int(exactly: number) else { throw Self.mismatch(json) }
        self = value
    }
    public init(flag text: String) throws(OptionFault) {
        guard let value = Int(text) else { throw Self.mismatch(text) }
        self = value
    }
    public var shown: JSON? { .number(Double(self)) }
}

extension Double: OptionValue {
    public static let kind = "number"
    public init(option json: JSON) throws(OptionFault) {
        guard case .number(let number) = json else { throw Self.mismatch(json) }
        self = number
    }
    public init(flag text: String) throws(OptionFault) {
        guard let value = Double(text), value.isFinite else { throw Self.mismatch(text) }
        self = value
    }
    public var shown: JSON? { .number(self) }
}

extension Optional: OptionValue where Wrapped: OptionValue {
    public static var kind: String { Wrapped.kind }
    public init(option json: JSON) throws(OptionFault) { self = try Wrapped(option: json) }
    public init(flag text: String) throws(OptionFault) { self = try Wrapped(flag: text) }
    public var shown: JSON? { flatMap(\.shown) }
}

/// A list; a lone text stands for a list of one, as Parse Server allows for `allowOrigin`, and a lone object does for
/// `rateLimit`.
extension Array: OptionValue where Element: OptionValue {
    public static var kind: String { "list (each \(Element.aKind))" }
    public init(option json: JSON) throws(OptionFault) {
        switch json {
        case .array(let elements):
            self = []
            for element in elements { append(try Element(option: element)) }
        case .string: self = [try Element(option: json)]
        case .object where Element.mayStandAlone: self = [try Element(option: json)]
        default: throw Self.mismatch(json)
        }
    }
    /// Separated by commas, or as JSON: objects have commas of their own.
    public init(flag text: String) throws(OptionFault) {
        let marks = text.filter { !$0.isWhitespace }.prefix(2)
        // A regular expression may begin with a bracket; none begins with one of these.
        let isObjects = marks.hasPrefix("{") || marks == "[{"
        if marks.hasPrefix("[") || isObjects {
            switch Result(catching: { () throws(OptionFault) in try OptionText.json(text) }) {
            case .success(let json):
                try self.init(option: marks.hasPrefix("[") ? json : .array([json]))
                return
            case .failure(let fault) where isObjects: throw fault
            case .failure: break
            }
        }
        self = []
        for element in text.split(separator: ",") { append(try Element(flag: String(element))) }
    }
    public var shown: JSON? { .array(compactMap(\.shown)) }
}

extension Dictionary: OptionValue where Key == String, Value: OptionValue {
    public static var kind: String { "object (each member \(Value.aKind))" }
    public init(option json: JSON) throws(OptionFault) {
        guard case .object(let object) = json else { throw Self.mismatch(json) }
        self = [:]
        for member in object.members {
            do throws(OptionFault) { self[member.key] = try Value(option: member.value) } catch {
                throw OptionFault("at \"\(member.key)\" \(error)")
            }
        }
    }
    public init(flag text: String) throws(OptionFault) { try self.init(option: OptionText.json(text)) }
    public var shown: JSON? {
        .object(JSONObject(sorted { $0.key < $1.key }.map { ($0.key, $0.value.shown ?? .null) }))
    }
}

/// Anything at all: checked where it is used.
extension JSON: OptionValue {
    public static let kind = "JSON value"
    public init(option json: JSON) throws(OptionFault) { self = json }
    public init(flag text: String) throws(OptionFault) { self = try OptionText.json(text) }
    public var shown: JSON? { self }
}

extension AddressSet: OptionValue {
    public static let kind = "list of IP addresses or ranges"
    public init(option json: JSON) throws(OptionFault) {
        guard let entries = try? [String](option: json) else { throw Self.mismatch(json) }
        try self.init(entries)
    }
    public init(flag text: String) throws(OptionFault) { try self.init([String](flag: text)) }
    public var shown: JSON? { entries.shown }
}

extension Pattern: OptionValue {
    public static let kind = "regular expression"
    public convenience init(option json: JSON) throws(OptionFault) {
        guard case .string(let source) = json else { throw Self.mismatch(json) }
        try self.init(source)
    }
    public convenience init(flag text: String) throws(OptionFault) { try self.init(text) }
    public var shown: JSON? { .string(source) }
}

extension OptionValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    public static var kind: String { "choice of " + allCases.map(\.rawValue).joined(separator: ", ") }
    public init(option json: JSON) throws(OptionFault) {
        guard case .string(let text) = json, let value = Self(rawValue: text) else { throw Self.mismatch(json) }
        self = value
    }
    public init(flag text: String) throws(OptionFault) { try self.init(option: .string(text)) }
    public var shown: JSON? { .string(rawValue) }
}

extension ServerOptions.App: OptionValue {}
extension ServerOptions.LogLevel: OptionValue {}
extension ServerOptions.LogFormat: OptionValue {}
extension ServerOptions.RateLimit.Zone: OptionValue {}
extension ServerOptions.Installation.Action: OptionValue {}
extension ServerOptions.Installation.Priority: OptionValue {}
