/// The type of a field, as schemas name it.
public enum FieldType: Sendable, Hashable {
    case string
    case number
    case boolean
    case date
    case object
    case array
    case geoPoint
    case polygon
    case file
    case bytes
    case acl
    case pointer(String)
    case relation(String)

    /// `String`, `Pointer`, …
    public var name: String {
        switch self {
        case .string: "String"
        case .number: "Number"
        case .boolean: "Boolean"
        case .date: "Date"
        case .object: "Object"
        case .array: "Array"
        case .geoPoint: "GeoPoint"
        case .polygon: "Polygon"
        case .file: "File"
        case .bytes: "Bytes"
        case .acl: "ACL"
        case .pointer: "Pointer"
        case .relation: "Relation"
        }
    }

    public var targetClass: String? {
        switch self {
        case .pointer(let className), .relation(let className): className
        default: nil
        }
    }

    /// `{"type": "Pointer", "targetClass": "Foros"}`, as it stands in a schema.
    public var json: JSONObject {
        var members: [(key: String, value: JSON)] = [("type", .string(name))]
        if let targetClass { members.append(("targetClass", .string(targetClass))) }
        return JSONObject(members)
    }

    /// Reads `type` and `targetClass`; what else stands there (`required`, `defaultValue`) is the caller's.
    /// - Throws: 111 for a type that does not exist, 135 for a pointer or relation without a class, 103 for one to a
    ///   class with an impossible name, 107 for anything else of the wrong form.
    public init(json: JSONObject) throws(ParseError) {
        guard let name = json["type"]?.string else { throw .json("invalid JSON") }
        if let simple = Self.simple.first(where: { $0.name == name }) {
            self = simple
            return
        }
        guard name == "Pointer" || name == "Relation" else {
            throw .type("invalid field type: \(ParseError.clipped(name))")
        }
        guard let target = json["targetClass"], target.isTruthy else {
            throw ParseError(ParseError.Code.missingRequiredField, "type \(name) needs a class name")
        }
        guard let className = target.string else { throw .json("invalid JSON") }
        guard Names.isClass(className) else { throw Names.invalidClass(className) }
        self = name == "Pointer" ? .pointer(className) : .relation(className)
    }

    private static let simple: [FieldType] = [
        .string, .number, .boolean, .date, .object, .array, .geoPoint, .polygon, .file, .bytes, .acl,
    ]
}

extension FieldType: CustomStringConvertible {
    /// As error messages name it: `Number`, `Pointer<Foros>`.
    public var description: String { targetClass.map { "\(name)<\($0)>" } ?? name }
}

extension Value {
    /// The type that a field gets from its first value; nil for null, which says nothing.
    public var fieldType: FieldType? {
        switch self {
        case .null: nil
        case .bool: .boolean
        case .number: .number
        case .string: .string
        case .date: .date
        case .bytes: .bytes
        case .geoPoint: .geoPoint
        case .polygon: .polygon
        case .file: .file
        case .pointer(let pointer): .pointer(pointer.className)
        case .relation(let className): .relation(className)
        case .array: .array
        case .object: .object
        }
    }
}
