/// A value of one of Parse's types, as it stands in a field or in a query.
public enum Value: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case date(Timestamp)
    case bytes([UInt8])
    case geoPoint(GeoPoint)
    case polygon([GeoPoint])
    case file(File)
    case pointer(Pointer)
    /// A field of type Relation: only its target's class.
    case relation(className: String)
    /// Elements as they came: nested Parse types stay in their JSON form, checked.
    case array([JSON])
    case object(JSONObject)
}

/// Degrees: latitude −90…90, longitude −180…180.
public struct GeoPoint: Sendable, Hashable {
    public var latitude: Double
    public var longitude: Double
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

public struct File: Sendable, Hashable {
    public var name: String
    public var url: String?
    public init(name: String, url: String? = nil) {
        self.name = name
        self.url = url
    }
}

public struct Pointer: Sendable, Hashable {
    public var className: String
    public var objectId: String
    public init(className: String, objectId: String) {
        self.className = className
        self.objectId = objectId
    }
}
