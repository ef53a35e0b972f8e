internal import Wire

/// An object of a class: what is stored, and what is to be changed.
///
/// Fields are read and written by their properties or by their names:
///
///     var tema = Record(Tema(Tema: "Roma en tres días"))
///     tema.comentarios = 0                   // typed
///     tema["fijado"] = true                  // whatever the description knows
///     tema = try await database.save(tema)
///
/// A field that is missing reads as nil, and so does one whose value is of another type: a client may send anything,
/// and types are only checked behind the hooks that come before a save. Setting nil takes the field away.
///
/// A record is a value: a copy changes by itself. Saving answers the object as it then stands.
@dynamicMemberLookup
public struct Record<Fields: ParseObject>: Sendable {
    /// The name of its class.
    public let className: String
    /// What is stored, as far as it is known here.
    var known: JSONObject
    /// What is to be written: values, or operations as `__op`.
    var changes: JSONObject
    /// Something was changed here.
    var isTouched = false
    private let layout: FieldLayout

    init(className: String, known: JSONObject, changes: JSONObject = JSONObject()) {
        self.className = className
        self.known = known
        self.changes = changes
        layout = .of(Fields.self)
    }

    /// A new object with what the description holds.
    public init(_ fields: Fields) {
        self.init(className: Fields.className, known: JSONObject())
        for child in Mirror(reflecting: fields).children {
            guard let name = child.label, let value = (child.value as? any OptionalField)?.parseValue else { continue }
            self[name] = value
        }
    }

    /// A new, empty object.
    public init(_ type: Fields.Type = Fields.self) { self.init(className: Fields.className, known: JSONObject()) }

    /// An object that is stored, to be changed without having been read: `Record(Tema.self, id)`.
    public init(_ type: Fields.Type = Fields.self, _ objectId: String) {
        self.init(Pointer<Fields>(objectId))
    }

    /// The same, by a pointer.
    public init(_ pointer: Pointer<Fields>) {
        self.init(
            className: pointer.className,
            known: pointer.included?.object ?? JSONObject([("objectId", .string(pointer.objectId))]))
    }

    // MARK: reading and writing

    /// A field by its property.
    public subscript<V: ParseValue>(dynamicMember key: WritableKeyPath<Fields, V?>) -> V? {
        get { self[layout.name(key)].flatMap { V(parseValue: $0) } }
        set { self[layout.name(key)] = newValue?.parseValue }
    }

    /// Never called: without it, the compiler says of a property that is not optional only that there is none.
    @available(*, unavailable, message: "properties of a ParseObject are optional: write `var name: Type?`")
    public subscript<V: ParseValue>(dynamicMember key: WritableKeyPath<Fields, V>) -> V {
        get { preconditionFailure() }
        set { preconditionFailure() }
    }

    /// A field by its name. Setting nil takes the field away; ``Value/null`` is stored as null.
    public subscript(name: String) -> Value? {
        get { json(name).map { Value($0) } }
        set {
            isTouched = true
            dropDotted(name)
            if let newValue {
                changes[name] = newValue.json
            } else {
                changes[name] = known["objectId"] == nil && known[name] == nil ? nil : Operation.delete
            }
        }
    }

    /// nil for an object that was never saved.
    public var objectId: String? { known["objectId"]?.string ?? changes["objectId"]?.string }
    /// When it was made; nil for an object that was never saved.
    public var createdAt: Date? { date("createdAt") }
    /// When it was last changed.
    public var updatedAt: Date? { date("updatedAt") }

    /// Who may read and write it; nil where it has none: then everybody may whom the class's permissions let.
    public var acl: ACL? {
        get { self["ACL"].flatMap { ACL(parseValue: $0) } }
        set { self["ACL"] = newValue?.parseValue }
    }

    /// A pointer to it.
    ///
    /// - Throws: 104 for an object that was never saved.
    public var pointer: Pointer<Fields> {
        get throws {
            guard let objectId else { throw ParseError(104, "An object of \(className) has no id until it is saved.") }
            return Pointer(className: className, objectId: objectId)
        }
    }

    /// It was never saved.
    public var isNew: Bool { objectId == nil }

    // MARK: what changed

    /// The names of the fields that are to be written.
    public var changedFields: [String] {
        var names: [String] = []
        for (key, _) in changes.members {
            let name = key.firstIndex(of: ".").map { String(key[..<$0]) } ?? key
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Whether a field is to be written, were it with the value that it has.
    public func isChanged<V: ParseValue>(_ key: KeyPath<Fields, V?>) -> Bool { isChanged(layout.name(key)) }

    /// The same by its name.
    public func isChanged(_ name: String) -> Bool {
        changes[name] != nil || changes.members.contains { $0.key.hasPrefix(name + ".") }
    }

    /// Takes back what was changed of a field since the object was read.
    public mutating func revert(_ name: String) {
        isTouched = true
        changes[name] = nil
        dropDotted(name)
    }

    /// The same by its property.
    public mutating func revert<V: ParseValue>(_ key: KeyPath<Fields, V?>) { revert(layout.name(key)) }

    /// The same object, described otherwise: `object.typed(Tema.self)`; nil for one of another class.
    public func typed<Other: ParseObject>(_ type: Other.Type = Other.self) -> Record<Other>? {
        guard className == Other.className || Other.self == Untyped.self else { return nil }
        var record = Record<Other>(className: className, known: known, changes: changes)
        record.isTouched = isTouched
        return record
    }

    /// All fields as they are now, by name.
    public var values: [String: Value] { Value(merged).object ?? [:] }

    func name(_ key: PartialKeyPath<Fields>) -> String { layout.name(key) }
}

extension Record<Untyped> {
    /// A new object of a class, with what it is to hold.
    public init(_ className: String, _ values: [String: Value] = [:]) {
        self.init(className: className, known: JSONObject())
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { self[name] = value }
    }

    /// An object that is stored, to be changed without having been read.
    public init(_ className: String, id: String) { self.init(AnyPointer(className, id)) }
}

extension Record: ParseValue {
    /// What a function answers of it: the whole object. In a field, put ``pointer``.
    public var parseValue: Value {
        guard let objectId else { return .object(values) }
        var object = merged
        object["__type"] = "Object"
        object["className"] = .string(className)
        var pointer = AnyPointer(className: className, objectId: objectId)
        pointer.included = Included(object)
        return .pointer(pointer)
    }

    public init?(parseValue: Value) {
        guard let pointer = Pointer<Fields>(parseValue: parseValue), let object = pointer.object else { return nil }
        self = object
    }
}

// MARK: inside

extension Record {
    /// The value of a field with its changes over it.
    func json(_ name: String) -> JSON? {
        var value = known[name]
        guard !changes.isEmpty else { return value }
        if let change = changes[name] { value = Operation.applied(change, to: value) }
        for (key, change) in changes.members where key.utf8.count > name.utf8.count && key.hasPrefix(name + ".") {
            value = Operation.applied(change, to: value, at: key.split(separator: ".").dropFirst().map(String.init))
        }
        return value
    }

    /// All fields as they are now.
    var merged: JSONObject {
        guard !changes.isEmpty else { return plain(known) }
        var object = plain(known)
        for name in changedFields { object[name] = json(name) }
        return object
    }

    /// Without what tells JSON's readers of what class it is.
    private func plain(_ object: JSONObject) -> JSONObject {
        var object = object
        object["__type"] = nil
        object["className"] = nil
        return object
    }

    private func date(_ name: String) -> Date? {
        switch known[name] {
        case .string(let text)?: Timestamp(iso: text).map { Date($0) }
        case let json?: Value(json).date
        case nil: nil
        }
    }

    private mutating func dropDotted(_ name: String) {
        for (key, _) in changes.members where key.hasPrefix(name + ".") { changes[key] = nil }
    }

    /// What it has become by being saved with this answer.
    func saved(_ answer: JSONObject) -> Record {
        var object = merged
        for (name, value) in answer.members { object[name] = value }
        return Record(className: className, known: object)
    }
}
