import Wire

/// A number of bytes; told as a number or as `20mb`, `4kb`, `1.5gb` (powers of 1024).
public struct ByteCount: Sendable, Hashable, Comparable {
    public var bytes: Int
    public init(_ bytes: Int) { self.bytes = bytes }
    public static func < (one: ByteCount, other: ByteCount) -> Bool { one.bytes < other.bytes }
}

extension ByteCount: OptionValue {
    public static let kind = "size such as 4096, \"4kb\" or \"20mb\""
    private static let units = [("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10), ("b", 0)]

    public init(option json: JSON) throws(OptionFault) {
        switch json {
        case .number(let number):
            guard let bytes = Int(exactly: number), bytes >= 0 else { throw Self.mismatch(json) }
            self.init(bytes)
        case .string(let text): try self.init(flag: text)
        default: throw Self.mismatch(json)
        }
    }

    public init(flag text: String) throws(OptionFault) {
        var number = text.lowercased()
        var shift = 0
        if let unit = Self.units.first(where: { number.hasSuffix($0.0) }) {
            number.removeLast(unit.0.count)
            shift = unit.1
        }
        while number.last == " " { number.removeLast() }
        let digits = number.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard digits, let value = Double(number), let bytes = Int(exactly: (value * Double(1 << shift)).rounded())
        else { throw Self.mismatch(text) }
        self.init(bytes)
    }

    public var shown: JSON? {
        let unit = Self.units.first { bytes > 0 && bytes % (1 << $0.1) == 0 }
        return unit.map { .string("\(bytes >> $0.1)\($0.0)") } ?? .number(Double(bytes))
    }
}

/// The most that is allowed of something; told as a number, −1 for no limit.
public struct Ceiling: Sendable, Hashable {
    /// Nil: no limit.
    public var value: Int?
    public init(_ value: Int?) { self.value = value }
    public static let none = Ceiling(nil)
    public func allows(_ count: Int) -> Bool { value.map { count <= $0 } ?? true }
}

extension Ceiling: OptionValue {
    public static let kind = "whole number, or -1 for no limit"
    public init(option json: JSON) throws(OptionFault) {
        guard case .number(let number) = json, let value = Int(exactly: number), value >= -1 else {
            throw Self.mismatch(json)
        }
        self.init(value == -1 ? nil : value)
    }
    public init(flag text: String) throws(OptionFault) {
        guard let value = Double(text) else { throw Self.mismatch(text) }
        try self.init(option: .number(value))
    }
    public var shown: JSON? { .number(Double(value ?? -1)) }
}
