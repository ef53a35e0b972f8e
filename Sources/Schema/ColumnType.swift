import Wire

extension FieldType {
    /// The type of a field's column; nil where it has none.
    public var columnType: String? {
        switch self {
        // The C collation compares UTF-8 by bytes, which is by code points, as MongoDB does; and it is the fastest.
        case .string, .file, .pointer: "text COLLATE \"C\""
        case .number: "double precision"
        case .boolean: "boolean"
        case .date: "timestamp(3) with time zone"
        case .object, .array: "jsonb"
        case .geoPoint: "point"
        case .polygon: "polygon"
        case .bytes: "bytea"
        case .relation, .acl: nil
        }
    }
}

/// Quotes an identifier. Names come from the catalogue, which has checked them; the doubling is for safety's sake.
public func quoted(_ identifier: String) -> String {
    guard identifier.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(identifier)\"" }
    return "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}
