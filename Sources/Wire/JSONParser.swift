import CSimdjson

/// Reads JSON (RFC 8259, UTF-8) by way of simdjson, in time linear in its length.
///
/// Numbers are doubles: integers beyond 2^53 are rounded as JavaScript does. Of two members with one name the last
/// wins, at the place of the first. A byte order mark before the JSON, as editors and shells on Windows write it, is
/// passed over. Texts may hold U+0000 (`\u0000`), which PostgreSQL cannot store: `Value`,
/// `Predicate` and `Update` refuse it with code 111 wherever it would be stored or compared.
public enum JSONParser {
    /// Deep enough that a query which nests too deep is told so, and shallow enough for any thread's stack.
    public static let defaultDepth = 512

    /// - Throws: an error without a code (HTTP 400) where the bytes are not JSON, nest deeper than `maxDepth`, hold a
    ///   lone surrogate (`\ud800`) or a number beyond every double.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, maxDepth: Int = defaultDepth
    ) throws(ParseError) -> JSON {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes.starts(with: byteOrderMark) ? bytes[3...] : bytes[...])
        guard let start = bytes.baseAddress else { throw .malformed("Unexpected end of JSON input") }
        var tape: UnsafePointer<UInt64>?
        var strings: UnsafePointer<UInt8>?
        let outcome = csimdjson_parse(
            start.assumingMemoryBound(to: UInt8.self), bytes.count, maxDepth, &tape, &strings)
        defer { csimdjson_release() }
        guard Int(outcome) == CSIMDJSON_OK, let tape, let strings else { throw malformed(Int(outcome), maxDepth) }
        var walk = TapeWalk(tape: tape, strings: strings, index: 1)
        return walk.value()
    }

    public static func parse(_ bytes: [UInt8], maxDepth: Int = defaultDepth) throws(ParseError) -> JSON {
        // A throwing closure would lose the error's type.
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(ParseError) in try parse(bytes, maxDepth: maxDepth) }
        }
        return try result.get()
    }

    public static func parse(_ text: String, maxDepth: Int = defaultDepth) throws(ParseError) -> JSON {
        var text = text
        let result = text.withUTF8 { bytes in
            Result { () throws(ParseError) in try parse(UnsafeRawBufferPointer(bytes), maxDepth: maxDepth) }
        }
        return try result.get()
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private static func malformed(_ outcome: Int, _ maxDepth: Int) -> ParseError {
        switch outcome {
        case CSIMDJSON_DEPTH: .malformed("JSON nested deeper than \(maxDepth) levels")
        case CSIMDJSON_NUMBER: .malformed("JSON holds a number that cannot be represented")
        case CSIMDJSON_MEMORY: .malformed("JSON too large")
        case CSIMDJSON_EMPTY: .malformed("Unexpected end of JSON input")
        default: .malformed("Body is not valid JSON")
        }
    }
}

extension ParseError {
    /// Not JSON at all: HTTP 400 with a sentence and no code.
    static func malformed(_ message: String) -> ParseError { ParseError(nil, message, status: 400) }
}

/// Turns simdjson's tape into a tree. https://github.com/simdjson/simdjson/blob/v3.0.1/doc/tape.md
private struct TapeWalk {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    var index: Int

    mutating func value() -> JSON {
        let entry = tape[index]
        index += 1
        switch UInt8(truncatingIfNeeded: entry >> 56) {
        case UInt8(ascii: "\""): return .string(string(entry))
        case UInt8(ascii: "l"):
            defer { index += 1 }
            return .number(Double(Int64(bitPattern: tape[index])))
        case UInt8(ascii: "u"):
            defer { index += 1 }
            return .number(Double(tape[index]))
        case UInt8(ascii: "d"):
            defer { index += 1 }
            return .number(Double(bitPattern: tape[index]))
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "{"): return .object(object(entry))
        case UInt8(ascii: "["): return .array(array(entry))
        default: return .null
        }
    }

    private func string(_ entry: UInt64) -> String {
        let start = strings + Int(entry & 0x00FF_FFFF_FFFF_FFFF)
        let length = Int(UnsafeRawPointer(start).loadUnaligned(as: UInt32.self))
        return String(decoding: UnsafeBufferPointer(start: start + 4, count: length), as: UTF8.self)
    }

    private func count(_ entry: UInt64) -> Int { Int((entry >> 32) & 0xFF_FFFF) }

    private mutating func array(_ entry: UInt64) -> [JSON] {
        let end = Int(entry & 0xFFFF_FFFF) - 1
        var elements: [JSON] = []
        elements.reserveCapacity(count(entry))
        while index < end { elements.append(value()) }
        index = end + 1
        return elements
    }

    private mutating func object(_ entry: UInt64) -> JSONObject {
        let end = Int(entry & 0xFFFF_FFFF) - 1
        let count = count(entry)
        var members: [(key: String, value: JSON)] = []
        members.reserveCapacity(count)
        // Few members are compared with one another, many go through a hash table: linear either way.
        var places: [ExactText: Int] = [:]
        let isLarge = count > 12
        if isLarge { places.reserveCapacity(count) }
        while index < end {
            let key = string(tape[index])
            index += 1
            let value = value()
            let earlier =
                isLarge
                ? places.updateValue(members.count, forKey: ExactText(key))
                : members.firstIndex { isSameText($0.key, key) }
            if let earlier {
                members[earlier].value = value
                if isLarge { places[ExactText(key)] = earlier }
            } else {
                members.append((key, value))
            }
        }
        index = end + 1
        return JSONObject(members)
    }
}
