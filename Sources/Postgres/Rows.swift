import CLibPQ
import Core

/// What a statement returned, read where it lies: values are in PostgreSQL's binary format, and nothing is copied
/// until asked for. Belongs to its worker; freed with its last reference.
///
/// Rows and columns count from 0. The typed accessors expect the column's type; on NULL they return zero, false, an
/// empty value (check `isNull` first). A value of another length is a defect of the program: it ends a debug build, and
/// otherwise is logged and read as NULL. Where a column's type hangs on a schema that others may change, `require` it
/// first. An index out of range ends the process.
public final class Rows {
    @usableFromInline let result: OpaquePointer
    /// How many rows there are.
    public let count: Int
    public let columnCount: Int
    /// Of the budget for results.
    private var budgeted = 0
    private var budget: MemoryBudget?

    /// Takes over `result`.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        columnCount = Int(PQnfields(result))
    }

    deinit {
        PQclear(result)
        budget?.giveBack(budgeted)
    }

    /// Gives what it holds back to the budget at its end.
    func hold(of budget: MemoryBudget) {
        budgeted = memorySize
        budget.add(budgeted)
        self.budget = budget
    }

    /// Such as `INSERT 0 1` or `COMMIT`.
    public var commandTag: String { String(cString: PQcmdStatus(result)) }

    /// Rows inserted, updated, deleted, selected or copied; 0 for other commands.
    public var affectedRows: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    public func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// The OID of the column's type, as in `pg_type`.
    public func columnType(_ column: Int) -> UInt32 { PQftype(result, Int32(column)) }

    /// Bytes that libpq holds for this result.
    public var memorySize: Int { PQresultMemorySize(result) }

    @inlinable
    public func isNull(_ row: Int, _ column: Int) -> Bool {
        check(row, column)
        return PQgetisnull(result, Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column)) != 0
    }

    /// The value as it came; empty when NULL. Valid as long as this object lives: keep a reference to it in use
    /// (`withExtendedLifetime`) while you read.
    @inlinable
    public func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        check(row, column)
        let row = Int32(truncatingIfNeeded: row)
        let column = Int32(truncatingIfNeeded: column)
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }

    @inlinable @inline(__always)
    func check(_ row: Int, _ column: Int) {
        precondition(row >= 0 && row < count && column >= 0 && column < columnCount, "no such row or column")
    }

    // MARK: types

    /// A column's type, by its OID in `pg_type`.
    public struct ColumnType: Sendable, Hashable {
        public let oid: UInt32
        public init(oid: UInt32) { self.oid = oid }
        public static let bool = ColumnType(oid: 16)
        public static let bytea = ColumnType(oid: 17)
        public static let int8 = ColumnType(oid: 20)
        public static let int4 = ColumnType(oid: 23)
        public static let text = ColumnType(oid: 25)
        public static let json = ColumnType(oid: 114)
        public static let point = ColumnType(oid: 600)
        public static let polygon = ColumnType(oid: 604)
        public static let float8 = ColumnType(oid: 701)
        public static let textArray = ColumnType(oid: 1009)
        public static let timestamptz = ColumnType(oid: 1184)
        public static let jsonb = ColumnType(oid: 3802)
    }

    /// Throws an error of kind `resultType` unless the columns from `first` on have these types: cheap (no row is
    /// looked at), for results whose types another node may have changed.
    public func require(_ types: [ColumnType], from first: Int = 0) throws {
        for (offset, type) in types.enumerated() {
            let column = first + offset
            guard column < columnCount, columnType(column) == type.oid else {
                throw PostgresError(
                    .resultType,
                    "column \(column) of a result has type \(column < columnCount ? columnType(column) : 0), not "
                        + "\(type.oid)")
            }
        }
    }

    /// What is read where a value can't be of the type that is asked for. NULL is no such case.
    @usableFromInline @inline(never)
    func mismatch<Value>(_ wanted: String, _ row: Int, _ column: Int, _ fallback: Value) -> Value {
        if isNull(row, column) { return fallback }
        assertionFailure("column \(columnName(column)) has type \(columnType(column)), not that of \(wanted)")
        Metrics.shared.counter(
            "hermes_row_type_mismatches_total", help: "Values of a result that were read as another type; a defect."
        ).add()
        Log.shared.error(
            "a column of a result was read as another type; its value was left out",
            ["column": .text(columnName(column)), "type": .int(Int(columnType(column))), "read as": .text(wanted)])
        return fallback
    }

    // MARK: typed values

    /// text, varchar, name, json, enum.
    @inlinable
    public func string(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

    /// The text, or nil when NULL.
    @inlinable
    public func optionalString(_ row: Int, _ column: Int) -> String? {
        isNull(row, column) ? nil : string(row, column)
    }

    /// int2, int4, int8, oid (as signed).
    @inlinable
    public func int(_ row: Int, _ column: Int) -> Int64 {
        let bytes = bytes(row, column)
        switch bytes.count {
        case 8: return bytes.bigEndian(0, Int64.self)
        case 4: return Int64(bytes.bigEndian(0, Int32.self))
        case 2: return Int64(bytes.bigEndian(0, Int16.self))
        default: return mismatch("an integer", row, column, 0)
        }
    }

    /// float8, float4.
    @inlinable
    public func double(_ row: Int, _ column: Int) -> Double {
        let bytes = bytes(row, column)
        switch bytes.count {
        case 8: return Double(bitPattern: bytes.bigEndian(0, UInt64.self))
        case 4: return Double(Float(bitPattern: bytes.bigEndian(0, UInt32.self)))
        default: return mismatch("a floating-point number", row, column, 0)
        }
    }

    @inlinable
    public func bool(_ row: Int, _ column: Int) -> Bool {
        let bytes = bytes(row, column)
        guard bytes.count == 1 else { return mismatch("a boolean", row, column, false) }
        return bytes[0] != 0
    }

    /// timestamptz or timestamp in milliseconds since 1970, rounded down; `Int64.max` and `.min` for ±infinity.
    @inlinable
    public func timestampMilliseconds(_ row: Int, _ column: Int) -> Int64 {
        let bytes = bytes(row, column)
        guard bytes.count == 8 else { return mismatch("a timestamp", row, column, 0) }
        let microseconds = bytes.bigEndian(0, Int64.self)
        guard microseconds != .max, microseconds != .min else { return microseconds }
        // 2000-01-01 in milliseconds since 1970.
        return (microseconds >= 0 ? microseconds / 1000 : (microseconds - 999) / 1000) + 946_684_800_000
    }

    /// jsonb's text (after the byte that says the format's version), or json's. Valid as `bytes` says.
    @inlinable
    public func json(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let bytes = bytes(row, column)
        // Text of JSON can't begin with the byte 1.
        guard bytes.count > 0, bytes[0] == 1 else { return bytes }
        return UnsafeRawBufferPointer(rebasing: bytes[1...])
    }

    public func point(_ row: Int, _ column: Int) -> Point {
        let bytes = bytes(row, column)
        guard bytes.count == 16 else { return mismatch("a point", row, column, Point(x: 0, y: 0)) }
        return bytes.point(0)
    }

    /// The corners of a polygon.
    public func polygon(_ row: Int, _ column: Int) -> [Point] {
        let bytes = bytes(row, column)
        let count = bytes.count >= 4 ? Int(bytes.bigEndian(0, Int32.self)) : -1
        guard count >= 0, bytes.count == 4 + 16 * count else { return mismatch("a polygon", row, column, []) }
        return (0..<count).map { bytes.point(4 + 16 * $0) }
    }

    /// In the usual form of 36 characters, lower case.
    public func uuid(_ row: Int, _ column: Int) -> String {
        let bytes = bytes(row, column)
        guard bytes.count == 16 else { return mismatch("a uuid", row, column, "") }
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// text[], varchar[]: all elements in storage order, nil where NULL.
    public func textArray(_ row: Int, _ column: Int) -> [String?] {
        array(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// The elements of text[] or varchar[] where they lie, those that are NULL left out; valid as `bytes` says.
    public func elements(_ row: Int, _ column: Int) -> ArrayElements { ArrayElements(bytes(row, column)) }

    /// float8[].
    public func doubleArray(_ row: Int, _ column: Int) -> [Double?] {
        array(row, column) { $0.count == 8 ? Double(bitPattern: $0.bigEndian(0, UInt64.self)) : 0 }
    }

    /// int8[], int4[].
    public func intArray(_ row: Int, _ column: Int) -> [Int64?] {
        array(row, column) {
            $0.count == 8 ? $0.bigEndian(0, Int64.self) : $0.count == 4 ? Int64($0.bigEndian(0, Int32.self)) : 0
        }
    }

    /// The format is array_send's: dimensions, has-null flag, element type, then length and lower bound of each
    /// dimension, then each element after its length (-1 for NULL).
    private func array<Element>(
        _ row: Int, _ column: Int, _ element: (UnsafeRawBufferPointer) -> Element
    ) -> [Element?] {
        let bytes = bytes(row, column)
        guard bytes.count >= 12 else { return [] }
        let dimensions = Int(bytes.bigEndian(0, Int32.self))
        guard dimensions > 0, bytes.count >= 12 + 8 * dimensions else { return [] }
        var offset = 12 + 8 * dimensions
        var elements: [Element?] = []
        while offset + 4 <= bytes.count {
            let length = Int(bytes.bigEndian(offset, Int32.self))
            offset += 4
            guard length >= 0 else {
                elements.append(nil)
                continue
            }
            guard offset + length <= bytes.count else { break }
            elements.append(element(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])))
            offset += length
        }
        return elements
    }
}

extension UnsafeRawBufferPointer {
    /// A number in network order; the caller has checked that it lies within the bounds.
    @inlinable @inline(__always)
    func bigEndian<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type) -> Number {
        Number(bigEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    func point(_ offset: Int) -> Point {
        Point(
            x: Double(bitPattern: bigEndian(offset, UInt64.self)),
            y: Double(bitPattern: bigEndian(offset + 8, UInt64.self)))
    }
}
