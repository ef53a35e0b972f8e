/// What an application says of finds and gets of a class where the client says nothing.
public struct FindDefaults: Sendable {
    /// Objects that come at most.
    public var limit: Int?
    public var order: [Order] = []
    /// Pointers that are included: `field`, or `field.name` for one field of the object alone.
    public var include: [FieldPath] = []

    /// A field that names users, as a pointer or a list of them: only objects that name the reader are found. The master
    /// finds all.
    public var own: String?

    public init() {}

    /// Fills in what a query leaves open. `keys` and `excludeKeys` that leave a pointer out are heeded.
    ///
    /// - Parameter reader: the id of the user who asks; nil for whoever no rights bind, and for nobody.
    public func apply(to query: inout Query, isGet: Bool, reader: String?) {
        if !isGet, let own, let reader {
            let names = Predicate.field(
                FieldPath(field: own), .equal(.pointer(Pointer(className: "_User", objectId: reader))))
            query.predicate = query.predicate == .always ? names : .and([query.predicate, names])
        }
        if !isGet {
            if query.limit == nil { query.limit = limit }
            if query.order.isEmpty, !query.predicate.sortsByDistance { query.order = order }
        }
        for path in include where !query.includeAll && !query.include.contains([path.field]) {
            guard query.keys?.contains(where: { $0.field == path.field }) ?? true,
                !query.excludeKeys.contains(FieldPath(field: path.field))
            else { continue }
            query.include.append([path.field])
            if path.isDotted { query.narrowed.append(path) }
        }
    }
}

extension Predicate {
    /// `$nearSphere`, which sorts where the query asks for no order.
    public var sortsByDistance: Bool {
        switch self {
        case .and(let parts): parts.contains { $0.sortsByDistance }
        case .field(_, .nearSphere): true
        default: false
        }
    }
}

/// A number that each reader has of its own of each object, such as how much of it he has not read. It comes with the
/// object's own fields, out of another class that holds an object for each reader.
public struct ReaderField: Sendable {
    /// What it is called in the objects.
    public let name: String
    /// Who has it: whoever has one of these roles.
    public let roles: [String]
    /// The class that holds the readers' numbers, and its fields: who reads, what he reads, the number.
    public let className: String
    public let reader: String
    public let object: String
    public let number: String
    /// A field of the object from which the number is taken, down to zero; nil: the number itself is told.
    public let total: String?

    public init(
        name: String, roles: [String], className: String, reader: String, object: String, number: String,
        total: String? = nil
    ) {
        self.name = name
        self.roles = roles
        self.className = className
        self.reader = reader
        self.object = object
        self.number = number
        self.total = total
    }
}
