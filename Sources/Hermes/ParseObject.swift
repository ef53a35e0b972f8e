internal import Synchronization

/// Describes a class of objects: its name, and those of its fields that the application speaks of.
///
///     struct Tema: ParseObject {
///         static let className = "Temas"
///         var Tema: String?
///         var comentarios: Int?
///         var autor: Pointer<Usuario>?
///     }
///
/// Properties are stored, optional (a field may always be missing), of types that are ``ParseValue``, and have the names
/// of the fields. `objectId`, `createdAt`, `updatedAt` and `ACL` are there without being named. Fields that are not named
/// can still be reached: `object["fijado"]`.
///
/// The description makes no objects: those are ``Record``s of it, which know what changed. A description that is filled
/// in, `Tema(Tema: "Roma")`, is a new record's contents. A type that is not one of these is found when the class is
/// first used, and ends the program with a message that names it.
public protocol ParseObject: Sendable {
    /// The name of the class: `Temas`, or one of the server's own, such as `_User`.
    static var className: String { get }
    /// Swift makes it by itself, unless the type is public.
    init()
}

/// The fields that every object has. Here they serve key paths, as in `.descending(\.createdAt)`; their values are
/// ``Record``'s.
extension ParseObject {
    /// The object's id.
    public var objectId: String? { nil }
    /// When the object was made.
    public var createdAt: Date? { nil }
    /// When the object was last changed.
    public var updatedAt: Date? { nil }
}

/// Stands for no description at all: of objects whose fields are reached by their names alone.
public struct Untyped: ParseObject {
    public static let className = ""
    public init() {}
}

/// An object that is told nothing of its fields: `object["Tema"]`.
public typealias Object = Record<Untyped>

/// The server's users, as far as it knows them itself; an application that gives them more fields describes `_User`
/// by a type of its own.
public struct User: ParseObject {
    public static let className = "_User"
    public var username: String?
    public var email: String?
    public var emailVerified: Bool?
    /// Only written, never read.
    public var password: String?
    public init() {}
}

/// Roles: who has them gets what ACLs and permissions give to `role:NAME`.
public struct Role: ParseObject {
    public static let className = "_Role"
    public var name: String?
    public var users: Relation<User>?
    /// Roles whose members have this one too.
    public var roles: Relation<Role>?
    public init() {}
}

/// The sessions of log-ins.
public struct Session: ParseObject {
    public static let className = "_Session"
    public var user: Pointer<User>?
    public var sessionToken: String?
    public var installationId: String?
    public var expiresAt: Date?
    public init() {}
}

// MARK: key paths and names

/// Which field each property of a description stands for, found once for each class.
///
/// A key path knows where its property lies (`MemoryLayout.offset(of:)`), and a mirror knows the properties' names,
/// types and order: laid out by Swift's rule for structs (each at the next multiple of its alignment), the two meet.
/// That the end of the layout is the size of the type proves it. Looking a name up takes about 30 ns.
final class FieldLayout: Sendable {
    let names: [Int: String]

    private init<Fields: ParseObject>(_ type: Fields.Type) {
        var names: [Int: String] = [:]
        var end = 0
        for child in Mirror(reflecting: Fields()).children {
            guard let field = child.value as? any OptionalField, let name = child.label else {
                preconditionFailure(
                    "\(Fields.self).\(child.label ?? "?") cannot be a field: it must be optional, of a ParseValue type")
            }
            let layout = Swift.type(of: field).layout
            end = (end + layout.alignment - 1) / layout.alignment * layout.alignment
            names[end] = name
            end += layout.size
        }
        precondition(end == MemoryLayout<Fields>.size, "\(Fields.self) must be a struct of stored properties alone")
        self.names = names
    }

    private static let known = Mutex<[ObjectIdentifier: FieldLayout]>([:])

    static func of<Fields: ParseObject>(_ type: Fields.Type) -> FieldLayout {
        known.withLock { known in
            if let layout = known[ObjectIdentifier(type)] { return layout }
            let layout = FieldLayout(type)
            known[ObjectIdentifier(type)] = layout
            return layout
        }
    }

    func name<Fields: ParseObject>(_ key: PartialKeyPath<Fields>) -> String {
        if let offset = MemoryLayout<Fields>.offset(of: key), let name = names[offset] { return name }
        if key == \Fields.objectId { return "objectId" }
        if key == \Fields.createdAt { return "createdAt" }
        if key == \Fields.updatedAt { return "updatedAt" }
        preconditionFailure("\(key) is no stored property of \(Fields.self), so no field")
    }
}

extension ParseObject {
    /// The field that a property stands for.
    static func name(_ key: PartialKeyPath<Self>) -> String { FieldLayout.of(Self.self).name(key) }
}

/// An optional property of a description.
protocol OptionalField {
    static var layout: (size: Int, alignment: Int) { get }
    static var fieldType: (type: String, target: String?) { get }
    var parseValue: Value? { get }
}

extension Optional: OptionalField where Wrapped: ParseValue {
    static var layout: (size: Int, alignment: Int) { (MemoryLayout<Self>.size, MemoryLayout<Self>.alignment) }
    var parseValue: Value? { self?.parseValue }
}
