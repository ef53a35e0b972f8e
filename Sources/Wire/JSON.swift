import Glibc

/// A JSON document as Parse clients send it. Numbers are doubles, as in JavaScript.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON: Equatable {
    /// Texts are equal byte for byte, not by canonical equivalence as Swift's strings are; objects whatever the
    /// order of their members.
    public static func == (one: JSON, other: JSON) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): isSameText(one, other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }
}

extension JSON {
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    public var number: Double? { if case .number(let number) = self { number } else { nil } }
    public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    public var array: [JSON]? { if case .array(let array) = self { array } else { nil } }
    public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }

    /// An object's members, and none for an empty list: PHP cannot tell the two apart and writes `[]` for both.
    public var objectOrEmptyList: JSONObject? {
        switch self {
        case .object(let object): object
        case .array(let list) where list.isEmpty: JSONObject()
        default: nil
        }
    }

    /// What JavaScript takes for true: anything but null, false, 0 and the empty text.
    public var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let bool): bool
        case .number(let number): number != 0 && !number.isNaN
        case .string(let text): !text.isEmpty
        case .array, .object: true
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(JSONObject(elements.map { (key: $0.0, value: $0.1) }))
    }
    public init(nilLiteral: ()) { self = .null }
}

/// A JSON object: members in the order in which they came; of two members with one name the last wins.
///
/// Looking a member up takes time in proportion to their number: make a dictionary where many are looked up.
public struct JSONObject: Sendable {
    public private(set) var members: [(key: String, value: JSON)]

    /// The names must differ.
    public init(_ members: [(key: String, value: JSON)] = []) { self.members = members }

    /// Of members with one name the first. However many they are: a stranger may send a million.
    public static func first(of members: [(key: String, value: JSON)]) -> JSONObject {
        var names: Set<ExactText> = []
        return JSONObject(members.filter { names.insert(ExactText($0.key)).inserted })
    }

    public var isEmpty: Bool { members.isEmpty }
    public var count: Int { members.count }

    /// Adds a member whose name none has yet; nil adds none.
    public mutating func add(_ key: String, _ value: JSON?) {
        if let value { members.append((key, value)) }
    }

    public mutating func reserve(_ count: Int) { members.reserveCapacity(count) }

    public subscript(key: String) -> JSON? {
        get { members.first { isSameText($0.key, key) }?.value }
        set {
            if let index = members.firstIndex(where: { isSameText($0.key, key) }) {
                if let newValue { members[index].value = newValue } else { members.remove(at: index) }
            } else if let newValue {
                members.append((key, newValue))
            }
        }
    }
}

extension JSONObject: Equatable {
    /// Equal whatever the order of the members.
    public static func == (one: JSONObject, other: JSONObject) -> Bool {
        guard one.count == other.count else { return false }
        if one.count <= 16 { return one.members.allSatisfy { other[$0.key] == $0.value } }
        let index = Dictionary(
            other.members.map { (ExactText($0.key), $0.value) }, uniquingKeysWith: { _, last in last })
        return one.members.allSatisfy { index[ExactText($0.key)] == $0.value }
    }
}

/// Equal byte for byte. Swift's `==` also takes texts for equal that differ in their Unicode normalisation.
func isSameText(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    return withBytes(of: one) { first in
        withBytes(of: other) { second in
            guard let first = first.baseAddress, let second = second.baseAddress else { return true }
            return memcmp(first, second, one.utf8.count) == 0
        }
    }
}

/// The bytes of a text, where they lie if they can be read there.
func withBytes<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
    return Array(text.utf8).withUnsafeBufferPointer(body)
}

/// A text as a key in sets and dictionaries, byte for byte.
struct ExactText: Hashable {
    let text: String
    init(_ text: String) { self.text = text }
    static func == (one: ExactText, other: ExactText) -> Bool { isSameText(one.text, other.text) }
    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
