internal import Cloud
internal import Wire

/// What a class is beyond its fields: indexes, permissions, and what finds bring that do not say. The fields are those of
/// its description.
///
///     app.define(Tema.self) { tema in
///         tema.unique("nombre", \.clave)
///         tema.index("orden", \.fijado, \.ultimo)
///         tema.text("palabras", \.Tema, languages: ["es", "en"])
///         tema.permit([.find, .get, .count], to: .everybody)
///         tema.permit([.create, .update, .delete], to: .users)
///         tema.hide(\.clave)
///         tema.finds(limit: 50, order: [.descending(\.fijado), .descending(\.ultimo)])
///     }
public struct ClassDefinition<Fields: ParseObject>: Sendable {
    /// What may be done with objects of a class.
    public enum Operation: String, Sendable, CaseIterable {
        case find, get, count, create, update, delete
    }

    /// Whom a class lets do something; which objects, their ACLs say beside it.
    public enum Subject: Sendable {
        case everybody
        /// Whoever has a session; others get 101.
        case users
        case role(String)
    }

    private var required: Set<String> = []
    private var indexes = JSONObject()
    private var permissions: [Operation: JSONObject] = [:]
    private var hidden: [String: [String]] = [:]
    private var defaults = FindDefaults()
    private var numbers: [ReaderField] = []

    init() {}

    // MARK: fields

    /// Objects must have a value in these fields: 142 else.
    public mutating func require(_ keys: PartialKeyPath<Fields>...) { required.formUnion(keys.map(Fields.name)) }

    /// Nobody but the master sees these fields, or asks by them (119).
    public mutating func hide(_ keys: PartialKeyPath<Fields>...) { hidden["*", default: []] += keys.map(Fields.name) }

    /// Nobody but the master asks by the fields that are hidden; but in objects whose field `owner` names the reader, he
    /// sees these.
    public mutating func show(_ keys: PartialKeyPath<Fields>..., toOwner owner: PartialKeyPath<Fields>) {
        let shown = Set(keys.map(Fields.name))
        hidden["userField:" + Fields.name(owner)] = (hidden["*"] ?? []).filter { !shown.contains($0) }
    }

    // MARK: indexes

    /// An index for finds by these fields, and in their order. Pointers have one without being asked for.
    public mutating func index(_ name: String, _ keys: PartialKeyPath<Fields>...) { add(name, keys, 1) }

    /// No two objects have the same values in these fields: 137. Objects without a value in one of them never collide.
    public mutating func unique(_ name: String, _ keys: PartialKeyPath<Fields>...) { add(name, keys, "unique") }

    /// `$text` on this field is quick; without `$language` it searches in all these languages (one or two, `es`, `en`,
    /// …), of two whatever the accents. Of a text the first 100,000 characters.
    public mutating func text(_ name: String, _ key: KeyPath<Fields, String?>, languages: [String]) {
        add(name, [key], .string("text:" + languages.joined(separator: "+")))
    }

    /// Finds by what a list holds are quick.
    public mutating func elements<V: ParseValue>(_ name: String, _ key: KeyPath<Fields, [V]?>) {
        add(name, [key], "gin")
    }

    private mutating func add(_ name: String, _ keys: [PartialKeyPath<Fields>], _ kind: JSON) {
        indexes[name] = .object(JSONObject(keys.map { (Fields.name($0), kind) }))
    }

    // MARK: permissions

    /// Lets somebody do something. What nobody is let do, the master key alone may; clients get 119.
    public mutating func permit(_ operations: [Operation], to subject: Subject) {
        for operation in operations {
            let key: String
            switch subject {
            case .everybody: key = "*"
            case .users: key = "requiresAuthentication"
            case .role(let name): key = "role:" + name
            }
            permissions[operation, default: JSONObject()][key] = true
        }
    }

    /// Lets those do something whom a field of the object names, as a pointer or a list of them. What a class lets
    /// anybody else do, it lets do without this.
    public mutating func permit(_ operations: [Operation], toThoseIn keys: PartialKeyPath<Fields>...) {
        let names = JSON.array(keys.map { .string(Fields.name($0)) })
        for operation in operations { permissions[operation, default: JSONObject()]["pointerFields"] = names }
    }

    // MARK: finds

    /// What finds bring that do not say.
    ///
    /// - Parameters:
    ///   - limit: objects at most; nil: the server's `defaultLimit`.
    ///   - order: in place of their creation.
    ///   - include: pointers whose objects come along, `usuario`, or one field of them alone, `usuario.username`; also
    ///     where one object is asked for by its id. `keys` and `excludeKeys` of a client that leave the pointer out are
    ///     heeded.
    ///   - own: a field that names users: only objects that name the reader are found, which an index of it makes quick
    ///     where there are many of others. The master finds all.
    public mutating func finds(
        limit: Int? = nil, order: [Order<Fields>] = [], include: [String] = [], own: PartialKeyPath<Fields>? = nil
    ) {
        defaults.limit = limit
        defaults.own = own.map(Fields.name)
        defaults.order = order.map { order in
            let isDescending = order.text.hasPrefix("-")
            return Wire.Order(
                FieldPath(field: isDescending ? String(order.text.dropFirst()) : order.text), descending: isDescending)
        }
        defaults.include = include.map { text in
            let parts = text.split(separator: ".").map(String.init)
            return FieldPath(field: parts[0], rest: Array(parts.dropFirst()))
        }
    }

    /// Objects come with a number that each reader has of his own: it stands in another class, which holds one object for
    /// each reader and object, and takes no further statement.
    ///
    ///     tema.number("noLeidos", of: Lectura.self, \.vistos, by: \.usuario, at: \.tema, from: \.comentarios,
    ///         for: ["miembros"])
    ///
    /// - Parameters:
    ///   - name: what the number is called among the object's fields. Clients can't ask by it.
    ///   - type: the class that holds the number.
    ///   - number: the field that holds it; an object for which the reader has none counts 0.
    ///   - reader: the field that points to the reader.
    ///   - object: the field that points to the object that is read.
    ///   - total: a field of this class from which the number is taken, down to 0; nil: the number itself is told.
    ///   - roles: who has such a number; others do not see the field.
    public mutating func number<Other: ParseObject, Reader, Target>(
        _ name: String, of type: Other.Type, _ number: KeyPath<Other, Int?>,
        by reader: KeyPath<Other, Pointer<Reader>?>,
        at object: KeyPath<Other, Pointer<Target>?>, from total: KeyPath<Fields, Int?>? = nil, for roles: [String]
    ) {
        numbers.append(
            ReaderField(
                name: name, roles: roles, className: Other.className, reader: Other.name(reader),
                object: Other.name(object), number: Other.name(number), total: total.map { Fields.name($0) }))
    }

    // MARK: as the server takes it

    var cloudClass: CloudClass {
        var fields = JSONObject()
        for child in Mirror(reflecting: Fields()).children {
            guard let name = child.label, let field = child.value as? any OptionalField else { continue }
            let (type, target) = Swift.type(of: field).fieldType
            var description = JSONObject([("type", .string(type))])
            if let target { description["targetClass"] = .string(target) }
            if required.contains(name) { description["required"] = true }
            fields[name] = .object(description)
        }
        var levels = JSONObject()
        for operation in Operation.allCases {
            levels[operation.rawValue] = .object(permissions[operation] ?? JSONObject())
        }
        if !hidden.isEmpty {
            levels["protectedFields"] = .object(
                JSONObject(hidden.sorted { $0.key < $1.key }.map { ($0.key, .array($0.value.map { .string($0) })) }))
        }
        return CloudClass(
            definition: JSONObject([
                ("className", .string(Fields.className)), ("fields", .object(fields)),
                ("classLevelPermissions", .object(levels)), ("indexes", .object(indexes)),
            ]), finds: defaults, readerFields: numbers)
    }
}

extension Hermes {
    /// Makes a class at the start: its fields are those of the description. Fields, indexes and permissions of a class
    /// that is there already are brought to this; what it has beside them stays, with all objects. Clients can add no
    /// fields.
    public func define<Fields: ParseObject>(
        _ type: Fields.Type, _ describe: (inout ClassDefinition<Fields>) -> Void
    ) {
        var definition = ClassDefinition<Fields>()
        describe(&definition)
        let made = definition.cloudClass
        register { $0.classes.append(made) }
    }
}

// MARK: types

extension Optional where Wrapped: ParseValue {
    /// As schemas name the type of a field, and the class that a pointer or a relation leads to.
    static var fieldType: (type: String, target: String?) {
        switch Wrapped.self {
        case is String.Type: return ("String", nil)
        case is Bool.Type: return ("Boolean", nil)
        case is any ParseNumber.Type: return ("Number", nil)
        case is Date.Type: return ("Date", nil)
        case is GeoPoint.Type: return ("GeoPoint", nil)
        case is Polygon.Type: return ("Polygon", nil)
        case is File.Type: return ("File", nil)
        case is Bytes.Type: return ("Bytes", nil)
        case is any ListField.Type: return ("Array", nil)
        case let pointer as any PointingField.Type: return (pointer.typeName, pointer.targetName)
        case let raw as any RawRepresentable.Type: return (Self.typeName(ofRaw: raw), nil)
        default: return ("Object", nil)
        }
    }

    private static func typeName<Raw: RawRepresentable>(ofRaw type: Raw.Type) -> String {
        Raw.RawValue.self is any ParseNumber.Type ? "Number" : "String"
    }
}

/// A list.
private protocol ListField {}
extension Array: ListField {}

/// A pointer or a relation.
private protocol PointingField {
    static var typeName: String { get }
    static var targetName: String { get }
}
extension Pointer: PointingField {
    static var typeName: String { "Pointer" }
    static var targetName: String { Target.className }
}
extension Relation: PointingField {
    static var typeName: String { "Relation" }
    static var targetName: String { Target.className }
}
