public import FoundationEssentials
internal import Wire

/// A moment, as Foundation has it; Parse keeps milliseconds of it.
public typealias Date = FoundationEssentials.Date

/// Any value of a field: what untyped access reads and writes.
///
/// Literals make one, and the properties take one apart:
///
///     object["Tema"] = "Roma en tres días"
///     object["etiquetas"] = ["roma", "italia"]
///     if object["comentarios"]?.int ?? 0 > 20 { … }
public enum Value: Sendable, Hashable {
    case null
    case bool(Bool)
    /// Numbers are doubles, as in JavaScript: whole up to 2⁵³.
    case number(Double)
    case string(String)
    case date(Date)
    case bytes(Bytes)
    case geoPoint(GeoPoint)
    case polygon(Polygon)
    case file(File)
    /// A pointer, or the whole object where the query included it.
    case pointer(AnyPointer)
    /// A field of type Relation: the class of what it leads to.
    case relation(className: String)
    case array([Value])
    case object([String: Value])

    /// What a typed value is when it is stored.
    public init(_ value: some ParseValue) { self = value.parseValue }

    /// It is stored as null.
    public var isNull: Bool { self == .null }
    /// nil for anything but `.bool`.
    public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    /// nil for anything but a number.
    public var double: Double? { if case .number(let number) = self { number } else { nil } }
    /// nil for a number that is not whole, too.
    public var int: Int? { double.flatMap { Int(exactly: $0) } }
    /// nil for anything but `.string`.
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    /// nil for anything but `.date`.
    public var date: Date? { if case .date(let date) = self { date } else { nil } }
    /// nil for anything but `.bytes`.
    public var bytes: Bytes? { if case .bytes(let bytes) = self { bytes } else { nil } }
    /// nil for anything but `.geoPoint`.
    public var geoPoint: GeoPoint? { if case .geoPoint(let point) = self { point } else { nil } }
    /// nil for anything but `.polygon`.
    public var polygon: Polygon? { if case .polygon(let polygon) = self { polygon } else { nil } }
    /// nil for anything but `.file`.
    public var file: File? { if case .file(let file) = self { file } else { nil } }
    /// nil for anything but `.pointer`.
    public var pointer: AnyPointer? { if case .pointer(let pointer) = self { pointer } else { nil } }
    /// nil for anything but `.array`.
    public var array: [Value]? { if case .array(let array) = self { array } else { nil } }
    /// nil for anything but `.object`.
    public var object: [String: Value]? { if case .object(let object) = self { object } else { nil } }

    /// A member of an object; nil for anything else.
    public subscript(name: String) -> Value? { object?[name] }
    /// An element of an array; nil for anything else and past its end.
    public subscript(index: Int) -> Value? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
    public init(nilLiteral: ()) { self = .null }
}

// MARK: JSON

extension Value {
    init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .number(let number): self = .number(number)
        case .string(let text): self = .string(text)
        case .array(let array): self = .array(array.map(Value.init))
        case .object(let object): self = Value(object)
        }
    }

    init(_ object: JSONObject) {
        if let type = object["__type"]?.string, let value = Value(object, type) {
            self = value
            return
        }
        self = .object(
            Dictionary(object.members.map { ($0.key, Value($0.value)) }, uniquingKeysWith: { _, last in last }))
    }

    /// One of Parse's own types; nil where it is none of them, or not well made: then it stays a plain object.
    private init?(_ object: JSONObject, _ type: String) {
        switch type {
        case "Date":
            guard let date = object["iso"]?.string.flatMap(Timestamp.init(iso:)) else { return nil }
            self = .date(Date(date))
        case "Bytes":
            guard let bytes = object["base64"]?.string.flatMap(Base64.decode) else { return nil }
            self = .bytes(Bytes(bytes))
        case "GeoPoint":
            guard let latitude = object["latitude"]?.number, let longitude = object["longitude"]?.number else {
                return nil
            }
            self = .geoPoint(GeoPoint(latitude: latitude, longitude: longitude))
        case "Polygon":
            guard let corners = object["coordinates"]?.array else { return nil }
            let points = corners.compactMap { corner -> GeoPoint? in
                guard let pair = corner.array, pair.count == 2, let latitude = pair[0].number,
                    let longitude = pair[1].number
                else { return nil }
                return GeoPoint(latitude: latitude, longitude: longitude)
            }
            guard points.count == corners.count else { return nil }
            self = .polygon(Polygon(points))
        case "File":
            guard let name = object["name"]?.string else { return nil }
            self = .file(File(name: name, url: object["url"]?.string))
        case "Pointer", "Object":
            guard let className = object["className"]?.string, let id = object["objectId"]?.string else { return nil }
            var pointer = AnyPointer(className: className, objectId: id)
            if type == "Object" { pointer.included = Included(object) }
            self = .pointer(pointer)
        case "Relation": self = .relation(className: object["className"]?.string ?? "")
        default: return nil
        }
    }

    var json: JSON {
        switch self {
        case .null: .null
        case .bool(let bool): .bool(bool)
        case .number(let number): .number(number)
        case .string(let text): .string(text)
        case .date(let date): ["__type": "Date", "iso": .string(date.timestamp.description)]
        case .bytes(let bytes): ["__type": "Bytes", "base64": .string(Base64.encode(bytes.bytes))]
        case .geoPoint(let point):
            ["__type": "GeoPoint", "latitude": .number(point.latitude), "longitude": .number(point.longitude)]
        case .polygon(let polygon):
            [
                "__type": "Polygon",
                "coordinates": .array(polygon.points.map { [.number($0.latitude), .number($0.longitude)] }),
            ]
        case .file(let file):
            .object(
                JSONObject(
                    [("__type", "File"), ("name", .string(file.name))] + (file.url.map { [("url", .string($0))] } ?? [])
                ))
        case .pointer(let pointer): pointer.json
        case .relation(let className): ["__type": "Relation", "className": .string(className)]
        case .array(let array): .array(array.map(\.json))
        case .object(let object): .object(object.jsonObject)
        }
    }
}

extension [String: Value] {
    /// In the order of the names, so that one value gives one text.
    var jsonObject: JSONObject {
        JSONObject(sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value.json) })
    }
}

extension Date {
    init(_ timestamp: Timestamp) { self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1000) }

    var timestamp: Timestamp {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        // What a Double cannot tell, and what no calendar has, becomes the last moment there is.
        let limit = 8_640_000_000_000_000.0
        return Timestamp(milliseconds: Int64(min(max(milliseconds.isNaN ? 0 : milliseconds, -limit), limit)))
    }
}
