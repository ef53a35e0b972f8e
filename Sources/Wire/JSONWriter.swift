import CSimdjson

/// Writes JSON as JSON.stringify prints it, byte for byte, to the end of a buffer that grows.
///
/// Commas, colons and brackets are the caller's, by way of `raw`.
public struct JSONWriter {
    /// Room for `count` bytes and more. Zeroed as it grows, so that writing is plain copying.
    private var storage: [UInt8]
    /// How many bytes were written.
    public private(set) var count = 0

    /// - Parameter room: how many bytes are likely to come.
    public init(room: Int = 512) { storage = [UInt8](repeating: 0, count: max(room, 64)) }

    /// What was written: a copy. `finish` hands over the buffer itself.
    public var bytes: [UInt8] { Array(storage[..<count]) }

    /// What was written; the writer is empty afterwards.
    public mutating func finish() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &storage)
        bytes.removeLast(bytes.count - count)
        count = 0
        return bytes
    }

    /// Forgets what was written and keeps the room.
    public mutating func removeAll() { count = 0 }

    /// Makes room for so many bytes more at once.
    public mutating func reserve(_ more: Int) {
        let missing = count + more - storage.count
        if missing > 0 { storage.append(contentsOf: repeatElement(0, count: max(missing, storage.count))) }
    }

    /// Has `body` write at most `most` bytes and say how many it did.
    @inline(__always)
    private mutating func write(_ most: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
        reserve(most)
        storage.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            count += body(base + count)
        }
    }

    /// Text that is JSON already.
    public mutating func raw(_ text: StaticString) {
        raw(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    public mutating func raw(_ text: [UInt8]) { text.withUnsafeBytes { raw($0) } }

    public mutating func raw(_ text: UnsafeRawBufferPointer) {
        guard let base = text.baseAddress else { return }
        write(text.count) { out in
            UnsafeMutableRawPointer(out).copyMemory(from: base, byteCount: text.count)
            return text.count
        }
    }

    /// What stands at `range` of what was written, once more.
    public mutating func again(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "nothing was written there yet")
        let back = count - range.lowerBound
        write(range.count) { out in
            UnsafeMutableRawPointer(out).copyMemory(from: out - back, byteCount: range.count)
            return range.count
        }
    }

    public mutating func byte(_ byte: UInt8) {
        write(1) { out in
            out.pointee = byte
            return 1
        }
    }

    /// A text with its quotes and escapes.
    public mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string(UnsafeRawBufferPointer($0)) }
    }

    /// A text in UTF-8 with its quotes and escapes.
    public mutating func string(_ text: UnsafeRawBufferPointer) {
        guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return raw("\"\"") }
        var plain = 0
        write(text.count + 2) { out in
            out[0] = UInt8(ascii: "\"")
            plain = csimdjson_copy_plain(base, text.count, out + 1)
            guard plain == text.count else { return plain + 1 }
            out[plain + 1] = UInt8(ascii: "\"")
            return plain + 2
        }
        guard plain < text.count else { return }
        while plain < text.count {
            escape(base[plain])
            plain += 1
            write(text.count - plain) { out in
                let more = csimdjson_copy_plain(base + plain, text.count - plain, out)
                plain += more
                return more
            }
        }
        raw("\"")
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
            let digit = byte & 0xF
            self.byte(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// As JavaScript prints it: 5, 0.1, 1e+21, 0 for -0; null for what is not finite.
    public mutating func number(_ value: Double) {
        if value > -9_007_199_254_740_992, value < 9_007_199_254_740_992, value == value.rounded(.towardZero) {
            integer(Int64(value))
        } else if value.isFinite {
            write(32) { csimdjson_print_number(value, $0) }
        } else {
            raw("null")
        }
    }

    public mutating func integer(_ value: Int64) {
        write(20) { out in
            var rest = value.magnitude
            var digits = 1
            while rest >= 10 {
                rest /= 10
                digits += 1
            }
            var place = digits
            if value < 0 {
                out[0] = UInt8(ascii: "-")
                place += 1
            }
            let length = place
            rest = value.magnitude
            for _ in 0..<digits {
                place -= 1
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                out[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
                rest = quotient
            }
            return length
        }
    }

    public mutating func bool(_ value: Bool) {
        if value { raw("true") } else { raw("false") }
    }

    public mutating func null() { raw("null") }

    /// `2024-01-01T00:00:00.000Z`, without quotes.
    public mutating func timestamp(_ timestamp: Timestamp) {
        write(Timestamp.maxTextLength) { timestamp.write(to: $0) }
    }

    /// The same, from milliseconds since 1970.
    public mutating func timestamp(_ milliseconds: Int64) { timestamp(Timestamp(milliseconds: milliseconds)) }

    /// The text of a jsonb column as PostgreSQL prints it, in the form of JSON.stringify: no blanks outside texts,
    /// numbers as JavaScript prints them. Other JSON is printed so, too, but slower; what is no JSON as null.
    public mutating func jsonText(_ text: UnsafeRawBufferPointer) {
        guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        var written = 0
        write(text.count) { out in
            written = csimdjson_copy_jsonb(base, text.count, out)
            return max(written, 0)
        }
        if written < 0 { json((try? JSONParser.parse(text)) ?? .null) }
    }

    public mutating func json(_ json: JSON) {
        switch json {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let value): number(value)
        case .string(let text): string(text)
        case .array(let elements):
            byte(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { byte(UInt8(ascii: ",")) }
                self.json(element)
            }
            byte(UInt8(ascii: "]"))
        case .object(let object): self.object(object)
        }
    }

    public mutating func object(_ object: JSONObject) {
        byte(UInt8(ascii: "{"))
        members(object)
        byte(UInt8(ascii: "}"))
    }

    /// What stands between an object's braces.
    public mutating func members(_ object: JSONObject) {
        for (index, member) in object.members.enumerated() {
            if index > 0 { byte(UInt8(ascii: ",")) }
            string(member.key)
            byte(UInt8(ascii: ":"))
            json(member.value)
        }
    }
}

extension JSON: CustomStringConvertible {
    /// Its JSON text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Its JSON text in UTF-8.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.json(self)
        return writer.finish()
    }
}

extension JSONObject: CustomStringConvertible {
    public var description: String { JSON.object(self).description }
}
