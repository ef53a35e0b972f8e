internal import Wire

/// A place on Earth, in degrees: latitude −90…90, longitude −180…180.
public struct GeoPoint: ParseValue, Hashable {
    /// Degrees north.
    public var latitude: Double
    /// Degrees east.
    public var longitude: Double

    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    public init?(parseValue: Value) {
        guard let point = parseValue.geoPoint else { return nil }
        self = point
    }
    public var parseValue: Value { .geoPoint(self) }
}

/// An area, by its corners: three at least.
public struct Polygon: ParseValue, Hashable {
    /// The corners, in order.
    public var points: [GeoPoint]

    public init(_ points: [GeoPoint]) { self.points = points }

    public init?(parseValue: Value) {
        guard let polygon = parseValue.polygon else { return nil }
        self = polygon
    }
    public var parseValue: Value { .polygon(self) }
}

/// A file that has been stored: its name, and where it can be read.
public struct File: ParseValue, Hashable {
    /// As the server has stored it.
    public var name: String
    /// Where it can be read; nil where it is not known.
    public var url: String?

    public init(name: String, url: String? = nil) {
        self.name = name
        self.url = url
    }

    public init?(parseValue: Value) {
        guard let file = parseValue.file else { return nil }
        self = file
    }
    public var parseValue: Value { .file(self) }
}

/// Plain bytes in a field.
public struct Bytes: ParseValue, Hashable {
    /// What they are.
    public var bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init?(parseValue: Value) {
        guard let bytes = parseValue.bytes else { return nil }
        self = bytes
    }
    public var parseValue: Value { .bytes(self) }
}

/// A field that leads to many objects of a class: asked with
/// ``Query/related(to:_:)-(_,KeyPath<Other,Relation<Fields>?>)``, changed with
/// ``Record/add(_:to:)-(Pointer<Target>...,_)`` and ``Record/remove(_:from:)-(Pointer<Target>...,_)``.
public struct Relation<Target: ParseObject>: ParseValue, Hashable {
    public init() {}

    public init?(parseValue: Value) {
        guard case .relation = parseValue else { return nil }
    }
    public var parseValue: Value { .relation(className: Target.className) }
}

/// Which object of a class: what fields hold that refer to one.
public struct Pointer<Target: ParseObject>: ParseValue, Hashable {
    /// The class of the object.
    public let className: String
    /// Its id.
    public let objectId: String
    var included: Included?

    /// To an object of the class, whether there is one or not.
    public init(_ objectId: String) { self.init(className: Target.className, objectId: objectId) }

    init(className: String, objectId: String) {
        self.className = className
        self.objectId = objectId
    }

    /// The object, where the query included it.
    public var object: Record<Target>? { included.map { Record(className: className, known: $0.object) } }

    /// nil where it leads to another class.
    public init?(parseValue: Value) {
        guard let pointer = parseValue.pointer,
            pointer.className == Target.className || Target.self == Untyped.self
        else { return nil }
        self.init(className: pointer.className, objectId: pointer.objectId)
        included = pointer.included
    }

    public var parseValue: Value {
        var pointer = AnyPointer(className: className, objectId: objectId)
        pointer.included = included
        return .pointer(pointer)
    }

    /// The same for another description of the same class; nil for one of another class.
    public func typed<Other: ParseObject>(_ type: Other.Type = Other.self) -> Pointer<Other>? {
        Pointer<Other>(parseValue: parseValue)
    }

    var json: JSON {
        if let included { return .object(included.object) }
        return ["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)]
    }

    /// Two pointers are equal that lead to one object, whatever came along.
    public static func == (one: Self, other: Self) -> Bool {
        one.objectId == other.objectId && one.className == other.className
    }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(objectId)
        hasher.combine(className)
    }
}

/// A pointer into any class.
public typealias AnyPointer = Pointer<Untyped>

extension AnyPointer {
    /// To an object of a class, whether there is one or not.
    public init(_ className: String, _ objectId: String) { self.init(className: className, objectId: objectId) }
}

/// An object that came with a pointer.
struct Included: Sendable {
    let object: JSONObject
    init(_ object: JSONObject) { self.object = object }
}

/// Who may read and write an object: nobody but the master key at first.
///
///     var acl = ACL(publicRead: true)
///     acl.allow(.user(autor), read: true, write: true)
///     acl.allow(.role("moderadores"), write: true)
public struct ACL: ParseValue, Hashable {
    /// Whose rights.
    public enum Subject: Sendable, Hashable {
        case everybody
        /// By the id of a user.
        case user(String)
        case role(String)

        /// A user of the application.
        public static func user<User: ParseObject>(_ user: Pointer<User>) -> Subject { .user(user.objectId) }

        var name: String {
            switch self {
            case .everybody: "*"
            case .user(let id): id
            case .role(let name): "role:" + name
            }
        }
    }

    private var rights: [String: Rights] = [:]

    private struct Rights: Hashable {
        var read = false
        var write = false
    }

    /// For nobody, or for everybody.
    public init(publicRead: Bool = false, publicWrite: Bool = false) {
        if publicRead || publicWrite { allow(.everybody, read: publicRead, write: publicWrite) }
    }

    /// Gives rights; those that stand stay.
    public mutating func allow(_ subject: Subject, read: Bool = false, write: Bool = false) {
        rights[subject.name, default: Rights()].read = read || canRead(subject)
        rights[subject.name, default: Rights()].write = write || canWrite(subject)
    }

    /// Takes all rights away that a subject has by its own name.
    public mutating func forbid(_ subject: Subject) { rights[subject.name] = nil }

    /// By its own name, not by a role or as one of everybody.
    public func canRead(_ subject: Subject) -> Bool { rights[subject.name]?.read == true }
    /// The same for writing.
    public func canWrite(_ subject: Subject) -> Bool { rights[subject.name]?.write == true }

    public init?(parseValue: Value) {
        guard let members = parseValue.object else { return nil }
        for (name, given) in members {
            rights[name] = Rights(read: given["read"]?.bool == true, write: given["write"]?.bool == true)
        }
    }

    public var parseValue: Value {
        .object(
            rights.mapValues { given in
                var members: [String: Value] = [:]
                if given.read { members["read"] = true }
                if given.write { members["write"] = true }
                return .object(members)
            })
    }
}
