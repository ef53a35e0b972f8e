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
    private static let day: Int64 = 86_400_000

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

    /// How many bytes the text takes at most: with a sign and six digits of the year.
    static let maxTextLength = 27

    /// As JavaScript's `toISOString`: `2024-01-01T00:00:00.000Z`; years before 0 or after 9999 as `±012345`.
    /// Returns how many bytes it wrote.
    func write(to out: UnsafeMutablePointer<UInt8>) -> Int {
        var (days, rest) = milliseconds.quotientAndRemainder(dividingBy: Self.day)
        if rest < 0 {
            days -= 1
            rest += Self.day
        }
        let (year, month, day) = Self.date(days: Int(days))
        var end = out
        func put(_ byte: Unicode.Scalar) {
            end.pointee = UInt8(ascii: byte)
            end += 1
        }
        func digits(_ value: Int, _ count: Int) {
            var rest = value
            for place in stride(from: count - 1, through: 0, by: -1) {
                end[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            end += count
        }
        if year >= 0, year <= 9999 {
            digits(year, 4)
        } else {
            put(year < 0 ? "-" : "+")
            digits(abs(year), 6)
        }
        let time = Int(rest)
        put("-")
        digits(month, 2)
        put("-")
        digits(day, 2)
        put("T")
        digits(time / 3_600_000, 2)
        put(":")
        digits(time / 60_000 % 60, 2)
        put(":")
        digits(time / 1000 % 60, 2)
        put(".")
        digits(time % 1000, 3)
        put("Z")
        return end - out
    }

    // Days and dates of the Gregorian calendar: Howard Hinnant, http://howardhinnant.github.io/date_algorithms.html

    static func date(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
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
                guard let value = number(2, in: 1...Self.length(ofMonth: month, year: year)) else { return nil }
                day = value
            }
        }
        let midnight = Int64(Timestamp.days(year: year, month: month, day: day)) * 86_400_000
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

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
