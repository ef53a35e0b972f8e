import Glibc

/// A value beside the SQL. The server infers its type from the statement (write `$1::text` where it can't).
public enum Parameter: Sendable, Hashable {
    case null
    case text(String)
    /// Text that is UTF-8 already, such as JSON that was just written.
    case utf8([UInt8])
    /// bytea.
    case bytes([UInt8])
    case int(Int64)
    /// Arrives bit for bit, NaN's payload and sign excepted.
    case double(Double)
    case bool(Bool)
    /// timestamptz or timestamp (UTC), in milliseconds since 1970.
    case timestamp(milliseconds: Int64)
    case textArray([String?])
    case intArray([Int64])
    case doubleArray([Double])
    case point(x: Double, y: Double)
    /// polygon, corner after corner.
    case polygon([Point])

    /// About how many bytes it has on its way to the server.
    var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .utf8(let bytes), .bytes(let bytes): bytes.count
        case .textArray(let texts): texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) + 4 }
        case .intArray(let values): values.count * 8
        case .doubleArray(let values): values.count * 8
        case .polygon(let points): points.count * 16
        case .null, .int, .double, .bool, .timestamp, .point: 16
        }
    }
}

/// A point in the plane, as PostgreSQL's `point`.
public struct Point: Sendable, Hashable {
    public var x: Double
    public var y: Double
    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// The parameters of one statement as libpq wants them. One for each worker, used again for each statement, so that
/// sending allocates nothing.
final class ParameterBuffer {
    private(set) var values = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: 64)
    private(set) var lengths = UnsafeMutablePointer<Int32>.allocate(capacity: 64)
    private(set) var formats = UnsafeMutablePointer<Int32>.allocate(capacity: 64)
    private(set) var count: Int32 = 0
    private var capacity = 64
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    private var used = 0

    deinit {
        values.deallocate()
        lengths.deallocate()
        formats.deallocate()
        bytes.deallocate()
    }

    /// Takes in what the next statement is sent with. Throws `PostgresError` of kind `parameter`.
    func encode(_ parameters: [Parameter]) throws {
        guard parameters.count <= 65535 else {
            throw PostgresError(.parameter, "a statement takes at most 65,535 parameters, not \(parameters.count)")
        }
        if parameters.count > capacity { growColumns(parameters.count) }
        count = Int32(parameters.count)
        used = 0
        for (index, parameter) in parameters.enumerated() {
            // Until all bytes are in place, `lengths` holds where each value starts: the buffer may move.
            let start = used
            formats[index] = 0
            switch parameter {
            case .null:
                lengths[index] = -1
                continue
            case .bytes(let value):
                guard used + value.count < Int(Int32.max) else { throw Self.tooLong }
                value.withUnsafeBytes { append($0) }
                formats[index] = 1
            default:
                try appendText(parameter)
                guard used < Int(Int32.max) else { throw Self.tooLong }
                append(0)
            }
            lengths[index] = Int32(start)
        }
        var end = used
        for index in stride(from: parameters.count - 1, through: 0, by: -1) {
            guard lengths[index] >= 0, let base = bytes.baseAddress else {
                values[index] = nil
                lengths[index] = 0
                continue
            }
            let start = Int(lengths[index])
            values[index] = UnsafePointer((base + start).assumingMemoryBound(to: CChar.self))
            lengths[index] = Int32(end - start)
            end = start
        }
    }

    /// Gives back what an unusually large value took.
    func shrink() {
        guard bytes.count > 1 << 20 else { return }
        bytes.deallocate()
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    }

    private static let tooLong = PostgresError(.parameter, "the parameters of one statement exceed 2 GB")
    private static let containsNUL = PostgresError(.parameter, "text can't contain the character U+0000")

    private func appendText(_ parameter: Parameter) throws {
        switch parameter {
        case .null, .bytes: break
        case .text(let value): try appendChecked(value)
        case .utf8(let value):
            try value.withUnsafeBytes { value in
                guard !value.contains(0) else { throw Self.containsNUL }
                append(value)
            }
        case .int(let value): append(String(value))
        case .double(let value): append(value.description)
        case .bool(let value): append(UInt8(ascii: value ? "t" : "f"))
        case .timestamp(let value): append(TimestampText.make(milliseconds: value))
        case .textArray(let values):
            try appendList(values) { value in
                guard let value else { return append("NULL") }
                try appendQuoted(value)
            }
        case .intArray(let values): appendList(values) { append(String($0)) }
        case .doubleArray(let values): appendList(values) { append($0.description) }
        case .point(let x, let y): append("(\(x),\(y))")
        case .polygon(let points):
            append(UInt8(ascii: "("))
            for (index, point) in points.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append("(\(point.x),\(point.y))")
            }
            append(UInt8(ascii: ")"))
        }
    }

    private func appendList<Element>(_ values: [Element], _ body: (Element) throws -> Void) rethrows {
        append(UInt8(ascii: "{"))
        for (index, value) in values.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            try body(value)
        }
        append(UInt8(ascii: "}"))
    }

    /// An array's element: between double quotes, with quotes and backslashes escaped.
    private func appendQuoted(_ value: String) throws {
        append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            guard byte != 0 else { throw Self.containsNUL }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append(UInt8(ascii: "\\")) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }

    private func appendChecked(_ value: String) throws {
        let start = used
        append(value)
        guard let base = bytes.baseAddress, used > start else { return }
        guard memchr(base + start, 0, used - start) == nil else { throw Self.containsNUL }
    }

    private func append(_ value: String) {
        var value = value
        value.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    private func append(_ value: UnsafeRawBufferPointer) {
        guard let source = value.baseAddress, !value.isEmpty else { return }
        reserve(value.count)
        bytes.baseAddress?.advanced(by: used).copyMemory(from: source, byteCount: value.count)
        used += value.count
    }

    private func append(_ byte: UInt8) {
        reserve(1)
        bytes[used] = byte
        used += 1
    }

    private func reserve(_ more: Int) {
        guard used + more > bytes.count else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(bytes.count * 2, used + more + 64), alignment: 16)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<used]))
        bytes.deallocate()
        bytes = larger
    }

    private func growColumns(_ needed: Int) {
        values.deallocate()
        lengths.deallocate()
        formats.deallocate()
        capacity = max(needed, capacity * 2)
        values = .allocate(capacity: capacity)
        lengths = .allocate(capacity: capacity)
        formats = .allocate(capacity: capacity)
    }
}
