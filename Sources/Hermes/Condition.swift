internal import Wire

/// A condition that objects of a class fulfil or not, made with operators or with the functions below:
///
///     \.comentarios > 5
///     \.autor == usuario.pointer && !(\.cerrado == true)
///     .startsWith(\.Tema, "Roma")
///     Name("comentarios") > 5                // by the field's name
///
/// A field that is missing fulfils `== nil` and every `!=`, and no comparison.
public struct Condition<Fields: ParseObject>: Sendable {
    let json: JSONObject

    init(_ json: JSONObject) { self.json = json }
    init(_ name: String, _ constraint: JSON) { json = JSONObject([(name, constraint)]) }
    init(_ name: String, _ operation: String, _ value: JSON) { self.init(name, [operation: value]) }

    /// All of them at once.
    static func all(_ conditions: [Condition]) -> JSONObject {
        var names: Set<String> = []
        let areApart = conditions.allSatisfy { $0.json.members.allSatisfy { names.insert($0.key).inserted } }
        // Of one field in two of them, or of two `$or`, the last would win.
        guard areApart else { return JSONObject([("$and", .array(conditions.map { .object($0.json) }))]) }
        return JSONObject(conditions.flatMap(\.json.members))
    }
}

extension JSON {
    /// An object with one member whose name is not known when this is written.
    fileprivate init(dictionaryLiteral name: String, _ value: JSON) { self = .object(JSONObject([(name, value)])) }
}

// MARK: with properties

/// The field has this value, or its list holds it; nil: it has none.
public func == <Fields: ParseObject, V: ParseValue>(key: KeyPath<Fields, V?>, value: V?) -> Condition<Fields> {
    Condition(Fields.name(key), equals(value?.parseValue))
}
/// The field has another value, or none.
public func != <Fields: ParseObject, V: ParseValue>(key: KeyPath<Fields, V?>, value: V?) -> Condition<Fields> {
    Condition(Fields.name(key), "$ne", (value?.parseValue ?? .null).compared)
}
/// The field has a lesser value.
public func < <Fields: ParseObject, V: ParseValue>(key: KeyPath<Fields, V?>, value: V) -> Condition<Fields> {
    Condition(Fields.name(key), "$lt", value.parseValue.compared)
}
/// The field has a lesser value, or this one.
public func <= <Fields: ParseObject, V: ParseValue>(key: KeyPath<Fields, V?>, value: V) -> Condition<Fields> {
    Condition(Fields.name(key), "$lte", value.parseValue.compared)
}
/// The field has a greater value.
public func > <Fields: ParseObject, V: ParseValue>(key: KeyPath<Fields, V?>, value: V) -> Condition<Fields> {
    Condition(Fields.name(key), "$gt", value.parseValue.compared)
}
/// The field has a greater value, or this one.
public func >= <Fields: ParseObject, V: ParseValue>(key: KeyPath<Fields, V?>, value: V) -> Condition<Fields> {
    Condition(Fields.name(key), "$gte", value.parseValue.compared)
}

extension Value {
    /// As conditions have it: of an object that came along with a pointer, the pointer.
    fileprivate var compared: JSON {
        guard case .pointer(var pointer) = self else { return json }
        pointer.included = nil
        return pointer.json
    }
}

/// An object is compared as a whole, not by its members, which could be taken for operators.
private func equals(_ value: Value?) -> JSON {
    guard let value else { return .null }
    if case .object = value { return ["$eq": value.compared] }
    return value.compared
}

// MARK: with names

/// A field by its name, in a condition: `Name("comentarios") > 5`, `Name("datos.ciudad") == "Roma"`.
public struct Name: Sendable {
    let text: String
    /// By its name, or the path to a part of it, with dots between.
    public init(_ text: String) { self.text = text }
}

/// The field has this value, or its list holds it; nil: it has none.
public func == <Fields: ParseObject>(name: Name, value: Value) -> Condition<Fields> {
    Condition(name.text, equals(value))
}
/// The field has another value, or none.
public func != <Fields: ParseObject>(name: Name, value: Value) -> Condition<Fields> {
    Condition(name.text, "$ne", value.compared)
}
/// The field has a lesser value.
public func < <Fields: ParseObject>(name: Name, value: Value) -> Condition<Fields> {
    Condition(name.text, "$lt", value.compared)
}
/// The field has a lesser value, or this one.
public func <= <Fields: ParseObject>(name: Name, value: Value) -> Condition<Fields> {
    Condition(name.text, "$lte", value.compared)
}
/// The field has a greater value.
public func > <Fields: ParseObject>(name: Name, value: Value) -> Condition<Fields> {
    Condition(name.text, "$gt", value.compared)
}
/// The field has a greater value, or this one.
public func >= <Fields: ParseObject>(name: Name, value: Value) -> Condition<Fields> {
    Condition(name.text, "$gte", value.compared)
}

// MARK: together

/// Both.
public func && <Fields: ParseObject>(
    one: Condition<Fields>, other: @autoclosure () -> Condition<Fields>
) -> Condition<Fields> {
    Condition(Condition.all([one, other()]))
}

/// At least one of the two.
public func || <Fields: ParseObject>(
    one: Condition<Fields>, other: @autoclosure () -> Condition<Fields>
) -> Condition<Fields> {
    .any([one, other()])
}

/// Objects that do not fulfil it.
prefix public func ! <Fields: ParseObject>(condition: Condition<Fields>) -> Condition<Fields> {
    Condition("$nor", .array([.object(condition.json)]))
}

extension Condition {
    /// At least one of them. Of none: nothing fulfils it.
    public static func any(_ conditions: [Condition]) -> Condition {
        guard !conditions.isEmpty else { return .isIn("objectId", []) }
        return Condition("$or", .array(conditions.map { .object($0.json) }))
    }

    /// Each of them. Of none: everything fulfils it.
    public static func every(_ conditions: [Condition]) -> Condition { Condition(all(conditions)) }

    // MARK: values

    /// The field's value, or one of its elements where it is a list, is one of these.
    public static func isIn<V: ParseValue>(_ key: KeyPath<Fields, V?>, _ values: [V]) -> Condition {
        isIn(Fields.name(key), values.map(\.parseValue))
    }
    /// The same by the field's name.
    public static func isIn(_ name: String, _ values: [Value]) -> Condition {
        Condition(name, "$in", .alternatives(values.map(\.compared)))
    }

    /// None of these.
    public static func isNotIn<V: ParseValue>(_ key: KeyPath<Fields, V?>, _ values: [V]) -> Condition {
        isNotIn(Fields.name(key), values.map(\.parseValue))
    }
    /// The same by the field's name.
    public static func isNotIn(_ name: String, _ values: [Value]) -> Condition {
        Condition(name, "$nin", .alternatives(values.map(\.compared)))
    }

    /// The list holds this value.
    public static func contains<V: ParseValue>(_ key: KeyPath<Fields, [V]?>, _ value: V) -> Condition {
        Condition(Fields.name(key), equals(value.parseValue))
    }
    /// The same by the field's name.
    public static func contains(_ name: String, _ value: Value) -> Condition { Condition(name, equals(value)) }

    /// The list holds all of these.
    public static func containsAll<V: ParseValue>(_ key: KeyPath<Fields, [V]?>, _ values: [V]) -> Condition {
        containsAll(Fields.name(key), values.map(\.parseValue))
    }
    /// The same by the field's name.
    public static func containsAll(_ name: String, _ values: [Value]) -> Condition {
        Condition(name, "$all", .array(values.map(\.compared)))
    }

    /// The field has a value, or has none.
    public static func exists<V: ParseValue>(_ key: KeyPath<Fields, V?>, _ exists: Bool = true) -> Condition {
        self.exists(Fields.name(key), exists)
    }
    /// The same by the field's name.
    public static func exists(_ name: String, _ exists: Bool = true) -> Condition {
        Condition(name, "$exists", .bool(exists))
    }

    // MARK: text

    /// The text begins with this one, case and accents as they are. An index of the field serves it.
    public static func startsWith(_ key: KeyPath<Fields, String?>, _ text: String) -> Condition {
        startsWith(Fields.name(key), text)
    }
    /// The same by the field's name.
    public static func startsWith(_ name: String, _ text: String) -> Condition {
        // Quoted, so that what a person typed is no pattern.
        matches(
            name,
            "^\\Q" + text.split(separator: "\\E", omittingEmptySubsequences: false).joined(separator: "\\E\\\\E\\Q")
                + "\\E")
    }

    /// The text fits a regular expression (PostgreSQL's). Options: `i` without regard to case, `m`, `s`, `x`.
    ///
    /// An expression that a client sends can take long: prefer ``startsWith(_:_:)-(KeyPath<Fields,String?>,_)`` or
    /// ``text(_:_:language:)-(KeyPath<Fields,String?>,_,_)``.
    public static func matches(
        _ key: KeyPath<Fields, String?>, _ pattern: String, options: String = ""
    ) -> Condition {
        matches(Fields.name(key), pattern, options: options)
    }
    /// The same by the field's name.
    public static func matches(_ name: String, _ pattern: String, options: String = "") -> Condition {
        var constraint: JSONObject = JSONObject([("$regex", .string(pattern))])
        if !options.isEmpty { constraint["$options"] = .string(options) }
        return Condition(name, .object(constraint))
    }

    /// The text holds all these words, in any form that the language has for them.
    ///
    /// The language is one of PostgreSQL's, `english`, `spanish`…; nil: the server's.
    public static func text(_ key: KeyPath<Fields, String?>, _ words: String, language: String? = nil) -> Condition {
        text(Fields.name(key), words, language: language)
    }
    /// The same by the field's name.
    public static func text(_ name: String, _ words: String, language: String? = nil) -> Condition {
        var search = JSONObject([("$term", .string(words))])
        if let language { search["$language"] = .string(language) }
        return Condition(name, "$text", ["$search": .object(search)])
    }

    // MARK: places

    /// Near a place, so many kilometres away at most (nil: however far), the nearest first unless the query has an order
    /// of its own.
    public static func near(
        _ key: KeyPath<Fields, GeoPoint?>, _ point: GeoPoint, within kilometres: Double? = nil
    ) -> Condition {
        var constraint = JSONObject([("$nearSphere", Value(point).json)])
        if let kilometres { constraint["$maxDistanceInKilometers"] = .number(kilometres) }
        return Condition(Fields.name(key), .object(constraint))
    }

    /// Within an area.
    public static func within(_ key: KeyPath<Fields, GeoPoint?>, _ polygon: Polygon) -> Condition {
        Condition(
            Fields.name(key), "$geoWithin", ["$polygon": .array(polygon.points.map { Value($0).json })])
    }

    // MARK: other objects

    /// The pointer leads to an object that the other query finds.
    public static func matches<Other>(_ key: KeyPath<Fields, Pointer<Other>?>, _ query: Query<Other>) -> Condition {
        Condition(Fields.name(key), "$inQuery", .object(query.asValue))
    }

    /// The pointer leads to none that the other query finds, or nowhere.
    public static func matchesNone<Other>(_ key: KeyPath<Fields, Pointer<Other>?>, _ query: Query<Other>) -> Condition {
        Condition(Fields.name(key), "$notInQuery", .object(query.asValue))
    }
}
