import CSimdjson

/// Writes JSON as JSON.stringify prints it, byte for byte, to the end of a buffer.
///
/// Commas, colons and brackets are the caller's, by way of `raw`.
public struct JSONWriter {
    public var bytes: [UInt8]

    public init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    public mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

    /// Text that is JSON already.
    public mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    public mutating func raw(_ text: [UInt8]) { bytes.append(contentsOf: text) }

    public mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    public mutating func raw(_ text: UnsafeRawBufferPointer) { bytes.append(contentsOf: text) }

    /// A text with its quotes and escapes.
    public mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string(UnsafeRawBufferPointer($0)) }
    }

    /// A text in UTF-8 with its quotes and escapes.
    public mutating func string(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
            bytes.append(UInt8(ascii: "\""))
            return
        }
        var start = 0
        while true {
            let plain = csimdjson_plain_prefix(base + start, text.count - start)
            bytes.append(contentsOf: UnsafeBufferPointer(start: base + start, count: plain))
            start += plain
            guard start < text.count else { break }
            escape(base[start])
            start += 1
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Short escapes where JSON has one, `\u00xx` in lower case for the other control characters.
    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0A: raw("\\n")
        case 0x0C: raw("\\f")
        case 0x0D: raw("\\r")
        default:
            raw(byte < 0x10 ? "\\u000" : "\\u001")
            bytes.append(Self.hexadecimal(byte & 0xF))
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    /// As JavaScript prints it: 5, 0.1, 1e+21, 0 for -0; null for what is not finite.
    public mutating func number(_ value: Double) {
        if value > -9_007_199_254_740_992, value < 9_007_199_254_740_992, value == value.rounded(.towardZero) {
            integer(Int64(value))
        } else if value.isFinite {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digits in
                guard let start = digits.baseAddress else { return }
                let count = csimdjson_print_number(value, start)
                bytes.append(contentsOf: digits[..<count])
            }
        } else {
            raw("null")
        }
    }

    public mutating func integer(_ value: Int64) {
        if value >= 0, value < 10 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value))
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = value.magnitude
            var start = 20
            while rest != 0 {
                let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: remainder)
                rest = quotient
            }
            if value < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            } else if value == 0 {
                start -= 1
                digits[start] = UInt8(ascii: "0")
            }
            bytes.append(contentsOf: digits[start...])
        }
    }

    public mutating func bool(_ value: Bool) {
        if value { raw("true") } else { raw("false") }
    }

    public mutating func null() { raw("null") }

    /// `"2024-01-01T00:00:00.000Z"`, with its quotes.
    public mutating func timestamp(_ timestamp: Timestamp) {
        bytes.append(UInt8(ascii: "\""))
        timestamp.write(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// The same, from milliseconds since 1970.
    public mutating func timestamp(_ milliseconds: Int64) { timestamp(Timestamp(milliseconds: milliseconds)) }

    /// The text of a jsonb column as PostgreSQL prints it, in the form of JSON.stringify: no blanks outside texts,
    /// numbers as JavaScript prints them. Other JSON is printed so, too, but slower; what is no JSON as null.
    public mutating func jsonText(_ text: UnsafeRawBufferPointer) {
        guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: text.count))
        let written = bytes.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { csimdjson_copy_jsonb(base, text.count, $0 + start) } ?? 0
        }
        if written >= 0 {
            bytes.removeLast(text.count - written)
        } else {
            bytes.removeLast(text.count)
            json((try? JSONParser.parse(text)) ?? .null)
        }
    }

    public mutating func json(_ json: JSON) {
        switch json {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let value): number(value)
        case .string(let text): string(text)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                self.json(element)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object): self.object(object)
        }
    }

    public mutating func object(_ object: JSONObject) {
        bytes.append(UInt8(ascii: "{"))
        for (index, member) in object.members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            string(member.key)
            bytes.append(UInt8(ascii: ":"))
            json(member.value)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}

extension JSON: CustomStringConvertible {
    /// Its JSON text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Its JSON text in UTF-8.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.json(self)
        return writer.bytes
    }
}

extension JSONObject: CustomStringConvertible {
    public var description: String { JSON.object(self).description }
}
