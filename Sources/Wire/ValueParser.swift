import Glibc

extension Value {
    /// Where a value is to go.
    public enum Use: Sendable {
        /// Into a field: names within objects are checked, at any depth.
        case stored
        /// Into a comparison: names within objects can be anything, since nothing is made of them.
        case compared
    }

    /// Reads one of Parse's types from its JSON.
    ///
    /// - Throws: 111 for a Parse type that lacks a part, is out of range or unknown, and for text with U+0000, which
    ///   PostgreSQL cannot store; 107 for a polygon that is none; 121 for a name with `$` or `.`, or an operation,
    ///   within an object that is to be stored.
    public static func parse(_ json: JSON, for use: Use = .stored) throws(ParseError) -> Value {
        switch json {
        case .null: return .null
        case .bool(let bool): return .bool(bool)
        case .number(let number): return .number(number)
        case .string(let text):
            try Storable.check(text)
            return .string(text)
        case .array(let elements):
            for element in elements { try Storable.check(element, for: use) }
            return .array(elements)
        case .object(let object):
            if let type = object["__type"], type.isTruthy { return try parse(object, type: type) }
            try Storable.check(json, for: use)
            return .object(object)
        }
    }

    private static func parse(_ object: JSONObject, type: JSON) throws(ParseError) -> Value {
        guard case .string(let name) = type else {
            throw .type("This is not a valid \(ParseError.clipped(type.description))")
        }
        let value: Value? =
            switch name {
            case "Date": object["iso"]?.string.flatMap(Timestamp.init(iso:)).map(Value.date)
            case "Bytes": object["base64"]?.string.flatMap(Base64.decode).map(Value.bytes)
            case "GeoPoint": GeoPoint(members: object).map(Value.geoPoint)
            case "Polygon": try object["coordinates"].map(Polygon.latitudeFirst)
            case "File": File(members: object).map(Value.file)
            case "Pointer": Pointer(members: object).map(Value.pointer)
            case "Relation": object["className"]?.string.flatMap { Names.isClass($0) ? .relation(className: $0) : nil }
            default: nil
            }
        guard let value else { throw .type("This is not a valid \(ParseError.clipped(name))") }
        return value
    }
}

extension GeoPoint {
    /// nil unless both are numbers within their range.
    init?(members: JSONObject) {
        guard let latitude = members["latitude"]?.number, let longitude = members["longitude"]?.number else {
            return nil
        }
        self.init(checked: latitude, longitude)
    }

    /// A value `{"__type": "GeoPoint", …}`; nil for anything else.
    init?(json: JSON) {
        guard case .object(let members) = json, members["__type"] == .string("GeoPoint") else { return nil }
        self.init(members: members)
    }

    init?(checked latitude: Double, _ longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}

extension File {
    init?(members: JSONObject) {
        guard let name = members["name"]?.string, !name.isEmpty, Storable.isStorable(name) else { return nil }
        let url = members["url"]?.string
        if let url, !Storable.isStorable(url) { return nil }
        self.init(name: name, url: url)
    }
}

extension Pointer {
    /// nil unless class and object id are there and can be.
    init?(members: JSONObject) {
        guard let className = members["className"]?.string, Names.isClass(className),
            let objectId = members["objectId"]?.string, !objectId.isEmpty, Storable.isStorable(objectId)
        else { return nil }
        self.init(className: className, objectId: objectId)
    }

    /// A value `{"__type": "Pointer", …}`; nil for anything else.
    public init?(json: JSON) {
        guard case .object(let members) = json, members["__type"] == .string("Pointer") else { return nil }
        self.init(members: members)
    }

    public var json: JSON { Value.pointer(self).json }
}

enum Polygon {
    /// Pairs of latitude and longitude, as fields of type Polygon hold them.
    static func latitudeFirst(_ coordinates: JSON) throws(ParseError) -> Value {
        guard case .array(let pairs) = coordinates else { throw .type("This is not a valid Polygon") }
        var points: [GeoPoint] = []
        for pair in pairs {
            guard case .array(let numbers) = pair, numbers.count == 2, let latitude = numbers[0].number,
                let longitude = numbers[1].number, let point = GeoPoint(checked: latitude, longitude)
            else { throw .json("Polygon coordinates must be pairs of latitude and longitude") }
            points.append(point)
        }
        guard points.count >= 3 else { throw .json("Polygon must have at least 3 values") }
        if let first = points.first, first != points.last { points.append(first) }
        guard Set(points).count >= 3 else { throw .json("Polygon must have at least 3 distinct points") }
        return .polygon(points)
    }
}

/// What can be stored as text and as JSON.
enum Storable {
    static func isStorable(_ text: String) -> Bool {
        withBytes(of: text) { bytes in bytes.baseAddress.map { memchr($0, 0, bytes.count) == nil } ?? true }
    }

    static func check(_ text: String) throws(ParseError) {
        guard isStorable(text) else { throw .null }
    }

    static func check(_ json: JSON, for use: Value.Use) throws(ParseError) {
        switch json {
        case .null, .bool, .number: break
        case .string(let text): try check(text)
        case .array(let elements): for element in elements { try check(element, for: use) }
        case .object(let object):
            for (key, value) in object.members {
                try check(key)
                if case .stored = use { try checkName(key) }
                try check(value, for: use)
            }
            if case .stored = use { try checkType(object) }
        }
    }

    static func checkName(_ key: String) throws(ParseError) {
        for byte in key.utf8 where byte == UInt8(ascii: "$") || byte == UInt8(ascii: ".") { throw .nestedKey }
        if key == "__op" {
            throw ParseError(ParseError.Code.invalidNestedKey, "Operations cannot stand within a value")
        }
    }

    /// Parse types within arrays and objects stay as they are, but must be whole; what else calls itself a type
    /// (`Object`, as client libraries send) is data.
    private static func checkType(_ object: JSONObject) throws(ParseError) {
        guard case .string(let name)? = object["__type"] else { return }
        switch name {
        case "Date", "Bytes", "GeoPoint", "Polygon", "File", "Pointer", "Relation":
            _ = try Value.parse(.object(object), for: .compared)
        default: break
        }
    }
}

extension Value {
    /// Its JSON, as clients get it.
    public var json: JSON {
        switch self {
        case .null: .null
        case .bool(let bool): .bool(bool)
        case .number(let number): .number(number)
        case .string(let text): .string(text)
        case .date(let timestamp): ["__type": "Date", "iso": .string(timestamp.description)]
        case .bytes(let bytes): ["__type": "Bytes", "base64": .string(Base64.encode(bytes))]
        case .geoPoint(let point):
            ["__type": "GeoPoint", "latitude": .number(point.latitude), "longitude": .number(point.longitude)]
        case .polygon(let points):
            [
                "__type": "Polygon",
                "coordinates": .array(points.map { [.number($0.latitude), .number($0.longitude)] }),
            ]
        case .file(let file):
            if let url = file.url {
                ["__type": "File", "name": .string(file.name), "url": .string(url)]
            } else {
                ["__type": "File", "name": .string(file.name)]
            }
        case .pointer(let pointer):
            [
                "__type": "Pointer", "className": .string(pointer.className),
                "objectId": .string(pointer.objectId),
            ]
        case .relation(let className): ["__type": "Relation", "className": .string(className)]
        case .array(let elements): .array(elements)
        case .object(let object): .object(object)
        }
    }
}

extension JSONWriter {
    public mutating func value(_ value: Value) {
        switch value {
        case .null: null()
        case .bool(let bool): self.bool(bool)
        case .number(let number): self.number(number)
        case .string(let text): string(text)
        case .date(let timestamp): date(timestamp)
        case .geoPoint(let point): geoPoint(point)
        case .pointer(let pointer): self.pointer(className: pointer.className, objectId: pointer.objectId)
        case .bytes, .polygon, .file, .relation, .array, .object: json(value.json)
        }
    }

    /// `{"__type":"Date","iso":"…"}`
    public mutating func date(_ timestamp: Timestamp) {
        raw("{\"__type\":\"Date\",\"iso\":\"")
        self.timestamp(timestamp)
        raw("\"}")
    }

    /// `{"__type":"GeoPoint","latitude":…,"longitude":…}`
    public mutating func geoPoint(_ point: GeoPoint) {
        raw("{\"__type\":\"GeoPoint\",\"latitude\":")
        number(point.latitude)
        raw(",\"longitude\":")
        number(point.longitude)
        raw("}")
    }

    /// `{"__type":"Pointer","className":"…","objectId":"…"}`
    public mutating func pointer(className: String, objectId: String) {
        raw("{\"__type\":\"Pointer\",\"className\":")
        string(className)
        raw(",\"objectId\":")
        string(objectId)
        raw("}")
    }
}
