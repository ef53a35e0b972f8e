import Dates

/// Milliseconds since 1970-01-01T00:00:00Z, which is all the precision that Parse dates have.
public struct Timestamp: Sendable, Hashable, Comparable {
    public var milliseconds: Int64
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }
    public static func < (one: Timestamp, other: Timestamp) -> Bool { one.milliseconds < other.milliseconds }
}

extension Timestamp: CustomStringConvertible {
    /// What JavaScript's Date can hold, in milliseconds either side of 1970.
    /// https://tc39.es/ecma262/#sec-time-values-and-time-range
    static let limit: Int64 = 8_640_000_000_000_000

    /// Reads the ISO forms that JavaScript's `new Date(text)` takes: `2024`, `2024-01`, `2024-01-31`, each with
    /// `T12:30`, `T12:30:59` or `T12:30:59.123456` behind it and `Z`, `+02:00` or nothing (UTC) at the end; a blank
    /// may stand for the `T`. Digits past the millisecond are cut off. nil for anything else, 30 February included.
    public init?(iso text: String) {
        var scan = Scan(bytes: Array(text.utf8))
        guard let milliseconds = scan.timestamp(), abs(milliseconds) <= Self.limit else { return nil }
        self.init(milliseconds: milliseconds)
    }

    public var description: String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.maxTextLength) { text in
            guard let start = text.baseAddress else { return "" }
            let count = write(to: start)
            return String(decoding: text[..<count], as: UTF8.self)
        }
    }

    static let maxTextLength = CivilTime.maximumISOLength

    /// Writes what JavaScript's `toISOString` answers. Returns how many bytes those are, `maxTextLength` at most.
    func write(to out: UnsafeMutablePointer<UInt8>) -> Int {
        CivilTime(millisecondsSince1970: milliseconds).writeISO(to: out)
    }
}

/// Reads an ISO date from its bytes.
private struct Scan {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    private var isAtEnd: Bool { index == bytes.count }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: byte) else { return false }
        index += 1
        return true
    }

    private mutating func number(_ count: Int, in range: ClosedRange<Int>) -> Int? {
        guard index + count <= bytes.count else { return nil }
        var value = 0
        for byte in bytes[index..<index + count] {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        guard range.contains(value) else { return nil }
        index += count
        return value
    }

    mutating func timestamp() -> Int64? {
        guard let year = year() else { return nil }
        var month = 1
        var day = 1
        if take("-") {
            guard let value = number(2, in: 1...12) else { return nil }
            month = value
            if take("-") {
                guard let value = number(2, in: 1...CivilDate.days(inMonth: month, of: year)) else { return nil }
                day = value
            }
        }
        let midnight = Int64(CivilDate(year: year, month: month, day: day).daysSince1970) * 86_400_000
        if isAtEnd { return midnight }
        guard take("T") || take("t") || take(" ") else { return nil }
        guard let time = time(), let offset = offset(), isAtEnd else { return nil }
        return midnight + time - offset
    }

    private mutating func year() -> Int? {
        if take("+") { return number(6, in: 0...999_999) }
        if take("-") { return number(6, in: 1...999_999).map { -$0 } }
        return number(4, in: 0...9999)
    }

    /// Milliseconds since midnight; 24:00 is the end of the day.
    private mutating func time() -> Int64? {
        guard let hour = number(2, in: 0...24), take(":"), let minute = number(2, in: 0...59) else { return nil }
        var second = 0
        var milliseconds = 0
        if take(":") {
            guard let value = number(2, in: 0...59) else { return nil }
            second = value
            if take(".") {
                guard let value = fraction() else { return nil }
                milliseconds = value
            }
        }
        if hour == 24, minute + second + milliseconds > 0 { return nil }
        return Int64((hour * 60 + minute) * 60 + second) * 1000 + Int64(milliseconds)
    }

    private mutating func fraction() -> Int? {
        var value = 0
        var count = 0
        while let digit = number(1, in: 0...9) {
            if count < 3 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in min(count, 3)..<3 { value *= 10 }
        return value
    }

    /// Milliseconds east of Greenwich.
    private mutating func offset() -> Int64? {
        if isAtEnd || take("Z") || take("z") { return 0 }
        let sign: Int64 = take("+") ? 1 : take("-") ? -1 : 0
        guard sign != 0, let hours = number(2, in: 0...23) else { return nil }
        _ = take(":")
        let minutes = isAtEnd ? 0 : number(2, in: 0...59)
        guard let minutes else { return nil }
        return sign * Int64(hours * 60 + minutes) * 60_000
    }
}
