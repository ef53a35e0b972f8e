internal import Wire

/// What objects of a class to find: conditions, an order, a page, and what comes along.
///
///     let query = Query(Tema.self)
///         .where(\.comentarios > 5)
///         .order(.descending(\.createdAt))
///         .include(\.autor)
///         .limit(20)
///     let temas = try await request.asCaller.find(query)
///
/// A query is a value, and each of its functions answers a new one. Nothing is asked until a ``Database`` is given it.
public struct Query<Fields: ParseObject>: Sendable {
    /// The name of the class.
    public let className: String
    private var conditions: [Condition<Fields>] = []
    /// All but `where`, as it travels.
    private var parameters = JSONObject()

    init(className: String) { self.className = className }

    /// All objects of a class.
    public init(_ type: Fields.Type) { self.init(className: Fields.className) }

    /// Only objects that fulfil this too.
    public func `where`(_ condition: Condition<Fields>) -> Query {
        var query = self
        query.conditions.append(condition)
        return query
    }

    /// In this order; of two that are alike in the first, the second decides… In place of an order that was there.
    public func order(_ orders: Order<Fields>...) -> Query {
        with("order", .string(orders.map(\.text).joined(separator: ",")))
    }

    /// At most so many, 100 by default. The server's `maxLimit` (10,000) bounds it.
    public func limit(_ count: Int) -> Query { with("limit", .number(Double(count))) }

    /// Leaves out so many at the start. What is left out is read all the same: to go through many, use
    /// ``Database/all(_:page:)``.
    public func skip(_ count: Int) -> Query { with("skip", .number(Double(count))) }

    /// The objects that these pointers lead to come along: `tema.autor?.object?.username`.
    public func include(_ keys: PartialKeyPath<Fields>...) -> Query { adding("include", keys.map(Fields.name)) }

    /// The same by names, also through several pointers: `"Tema.autor"`.
    public func include(_ names: String...) -> Query { adding("include", names) }

    /// Only these fields, and those that every object has.
    public func select(_ keys: PartialKeyPath<Fields>...) -> Query { adding("keys", keys.map(Fields.name)) }

    /// The same by names.
    public func select(_ names: String...) -> Query { adding("keys", names) }

    /// All fields but these.
    public func exclude(_ names: String...) -> Query { adding("excludeKeys", names) }

    /// Only objects that a relation of another object leads to.
    public func related<Other>(to object: Pointer<Other>, _ key: KeyPath<Other, Relation<Fields>?>) -> Query {
        related(to: object, Other.name(key))
    }

    /// The same by the field's name.
    public func related<Other>(to object: Pointer<Other>, _ name: String) -> Query {
        var plain = object
        plain.included = nil
        return `where`(Condition("$relatedTo", ["object": plain.json, "key": .string(name)]))
    }

    private func with(_ name: String, _ value: JSON) -> Query {
        var query = self
        query.parameters[name] = value
        return query
    }

    private func adding(_ name: String, _ names: [String]) -> Query {
        let before = parameters[name]?.string.map { [$0] } ?? []
        return with(name, .string((before + names).joined(separator: ",")))
    }
}

extension Query<Untyped> {
    /// All objects of a class, by its name.
    public init(_ className: String) { self.init(className: className) }
}

/// One step of a query's order.
public struct Order<Fields: ParseObject>: Sendable {
    let text: String

    /// The least first; objects without a value last.
    public static func ascending(_ key: PartialKeyPath<Fields>) -> Order { Order(text: Fields.name(key)) }
    /// The greatest first.
    public static func descending(_ key: PartialKeyPath<Fields>) -> Order { Order(text: "-" + Fields.name(key)) }
    /// The least first; objects without a value last.
    public static func ascending(_ name: String) -> Order { Order(text: name) }
    /// The greatest first.
    public static func descending(_ name: String) -> Order { Order(text: "-" + name) }
}

// MARK: how it travels

extension Query {
    /// As a client sends it.
    var json: JSONObject {
        var json = parameters
        if !conditions.isEmpty { json["where"] = .object(Condition.all(conditions)) }
        return json
    }

    /// Within a condition of another query.
    var asValue: JSONObject {
        var json = json
        json["className"] = .string(className)
        if json["where"] == nil { json["where"] = [:] }
        return json
    }

    /// What a hook before a find is told.
    init(className: String, json: JSONObject) {
        self.init(className: className)
        parameters = json
        parameters["where"] = nil
        if let given = json["where"]?.object, !given.isEmpty { conditions = [Condition(given)] }
    }

    /// Whether what is found comes with a field of this name, as far as the query's `keys` and `excludeKeys` say.
    public func shows(_ name: String) -> Bool {
        func names(_ key: String) -> [Substring]? { parameters[key]?.string?.split(separator: ",") }
        let isSame = { (path: Substring) in path.prefix { $0 != "." } == name }
        return (names("keys")?.contains(where: isSame) ?? true)
            && names("excludeKeys")?.contains(Substring(name)) != true
    }

    var hasOrder: Bool { parameters["order"] != nil }
}
