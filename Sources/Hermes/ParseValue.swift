public import FoundationEssentials

/// What can stand in a field of an object, typed: `String`, `Int`, `Double`, `Bool`, `Date`, ``Pointer``, ``GeoPoint``,
/// ``Polygon``, ``File``, ``Bytes``, ``Relation``, ``ACL``, ``Value``, arrays of them and dictionaries from text to them.
///
/// An enumeration with raw values becomes one by saying so:
///
///     enum Estado: String, ParseValue { case pendiente, aceptada, rechazada }
public protocol ParseValue: Sendable {
    /// nil where the value is of another type.
    init?(parseValue: Value)
    /// What is stored.
    var parseValue: Value { get }
}

extension ParseValue where Self: RawRepresentable, RawValue: ParseValue {
    public init?(parseValue: Value) {
        guard let raw = RawValue(parseValue: parseValue) else { return nil }
        self.init(rawValue: raw)
    }
    public var parseValue: Value { rawValue.parseValue }
}

/// A value that can be added to: what ``Record/increment(_:by:)-(WritableKeyPath<Fields,V?>,_)`` takes.
public protocol ParseNumber: ParseValue, Comparable {
    init(_ amount: Int)
}

extension Value: ParseValue {
    public init?(parseValue: Value) { self = parseValue }
    public var parseValue: Value { self }
}

extension String: ParseValue {
    public init?(parseValue: Value) {
        guard let text = parseValue.string else { return nil }
        self = text
    }
    public var parseValue: Value { .string(self) }
}

extension Bool: ParseValue {
    public init?(parseValue: Value) {
        guard let bool = parseValue.bool else { return nil }
        self = bool
    }
    public var parseValue: Value { .bool(self) }
}

extension Double: ParseNumber {
    public init?(parseValue: Value) {
        guard let number = parseValue.double else { return nil }
        self = number
    }
    public var parseValue: Value { .number(self) }
}

extension Int: ParseNumber {
    /// nil for a number that is not whole, too.
    public init?(parseValue: Value) {
        guard let number = parseValue.int else { return nil }
        self = number
    }
    public var parseValue: Value { .number(Double(self)) }
}

extension Date: ParseValue {
    public init?(parseValue: Value) {
        guard let date = parseValue.date else { return nil }
        self = date
    }
    public var parseValue: Value { .date(self) }
}

extension Array: ParseValue where Element: ParseValue {
    /// nil where any element is of another type.
    public init?(parseValue: Value) {
        guard let values = parseValue.array else { return nil }
        let elements = values.compactMap { Element(parseValue: $0) }
        guard elements.count == values.count else { return nil }
        self = elements
    }
    public var parseValue: Value { .array(map(\.parseValue)) }
}

/// Within an extension of Dictionary, `Value` is what it holds.
public typealias FieldValue = Value

extension Dictionary: ParseValue where Key == String, Value: ParseValue {
    /// nil where any member is of another type.
    public init?(parseValue: FieldValue) {
        guard let members = parseValue.object else { return nil }
        let typed = members.compactMapValues { Value(parseValue: $0) }
        guard typed.count == members.count else { return nil }
        self = typed
    }
    public var parseValue: FieldValue { .object(mapValues(\.parseValue)) }
}
