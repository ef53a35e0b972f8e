/// What a `where` says: one tree, read by every interpreter (SQL, in memory).
public indirect enum Predicate: Sendable, Equatable {
    case and([Predicate])
    case or([Predicate])
    case nor([Predicate])
    /// A constraint on a field or, with a dotted path, on what lies within an Object field.
    case field(FieldPath, Constraint)
    /// `$relatedTo`: the objects in the relation `key` of `object`.
    case relatedTo(object: Pointer, key: String)

    /// Holds for every object.
    public static let always = Predicate.and([])
}

/// `titulo`, or `datos.autor.nombre`.
public struct FieldPath: Sendable, Hashable {
    public var field: String
    public var rest: [String]
    public init(field: String, rest: [String] = []) {
        self.field = field
        self.rest = rest
    }
    public var isDotted: Bool { !rest.isEmpty }
    public var description: String { ([field] + rest).joined(separator: ".") }
}

public indirect enum Constraint: Sendable, Equatable {
    /// Plain equality and `$eq`; `.null` is a field that is missing or null. `$ne` also matches a missing field.
    case equal(Value)
    case notEqual(Value)
    case less(Value)
    case lessOrEqual(Value)
    case greater(Value)
    case greaterOrEqual(Value)
    case exists(Bool)
    case isIn([Value])
    case notIn([Value])
    case all([Value])
    /// `$all` of `^\Q…\E` regular expressions: for each prefix an element that begins with it.
    case allPrefixes([String])
    case containedBy([Value])
    case regex(pattern: String, options: RegexOptions)
    case text(TextSearch)
    /// `maxDistance` in radians.
    case nearSphere(GeoPoint, maxDistance: Double?)
    case withinBox(southWest: GeoPoint, northEast: GeoPoint)
    case withinPolygon([GeoPoint])
    /// `radius` in radians.
    case withinSphere(center: GeoPoint, radius: Double)
    case geoIntersects(GeoPoint)
    case inQuery(Subquery)
    case notInQuery(Subquery)
    /// `$select`: the field's value is among those of `key` in what the subquery finds.
    case select(Subquery, key: FieldPath)
    case notSelect(Subquery, key: FieldPath)
}

public struct RegexOptions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let ignoreCase = RegexOptions(rawValue: 1)
    public static let multiline = RegexOptions(rawValue: 2)
    public static let extended = RegexOptions(rawValue: 4)
    public static let dotMatchesNewline = RegexOptions(rawValue: 8)
}

public struct TextSearch: Sendable, Equatable {
    public var term: String
    public var language: String?
    public var caseSensitive: Bool
    public var diacriticSensitive: Bool
    public init(term: String, language: String? = nil, caseSensitive: Bool = false, diacriticSensitive: Bool = false) {
        self.term = term
        self.language = language
        self.caseSensitive = caseSensitive
        self.diacriticSensitive = diacriticSensitive
    }
}

/// A query within a query.
public struct Subquery: Sendable, Equatable {
    public var className: String
    public var predicate: Predicate
    public var order: [Order]
    public var skip: Int
    public var limit: Int?
    /// As in `Query`: the relation of `className` whose target is looked through.
    public var redirectClassNameForKey: String?
    /// As in `Query`.
    public var relativeTimeFields: Set<String> = []
    public init(
        className: String, predicate: Predicate, order: [Order] = [], skip: Int = 0, limit: Int? = nil,
        redirectClassNameForKey: String? = nil
    ) {
        self.className = className
        self.predicate = predicate
        self.order = order
        self.skip = skip
        self.limit = limit
        self.redirectClassNameForKey = redirectClassNameForKey
    }
}

public struct Order: Sendable, Equatable {
    public var path: FieldPath
    public var descending: Bool
    public init(_ path: FieldPath, descending: Bool = false) {
        self.path = path
        self.descending = descending
    }
}

/// A find as a client asks for it.
public struct Query: Sendable {
    public var className: String
    public var predicate: Predicate
    public var order: [Order]
    public var skip: Int
    /// nil: the server's default. 0: no rows.
    public var limit: Int?
    public var count: Bool
    /// nil: all. Never holds the fields that always come (objectId, createdAt, updatedAt, ACL).
    public var keys: [FieldPath]?
    public var excludeKeys: [FieldPath]
    /// Each path once, parents before children: `autor` comes before `autor.ciudad`.
    public var include: [[String]]
    /// `include=*` or `includeAll`: every pointer of the first level.
    public var includeAll: Bool
    public var redirectClassNameForKey: String?
    public var explain: Bool
    public var hint: String?
    /// Where the page begins: what the answer to the page before said; empty for the first page, whose answer is to say
    /// where the next one begins. nil: nothing is said of that.
    public var cursor: String?
    /// Paths into included objects, of which these alone are to come.
    public var narrowed: [FieldPath] = []
    /// What the `where` cost, as it was written.
    public var complexity = Complexity()
    /// Fields compared with a `$relativeTime`, which stands as a Date in the predicate: fields of another type than
    /// Date refuse it with 107.
    public var relativeTimeFields: Set<String> = []

    public init(className: String, predicate: Predicate = .always) {
        self.className = className
        self.predicate = predicate
        order = []
        skip = 0
        limit = nil
        count = false
        keys = nil
        excludeKeys = []
        include = []
        includeAll = false
        redirectClassNameForKey = nil
        explain = false
        hint = nil
        cursor = nil
    }
}

extension Query: Equatable {
    /// Whether both ask the same, however it was written: `complexity` and `relativeTimeFields` do not count.
    public static func == (one: Query, other: Query) -> Bool {
        one.className == other.className && one.predicate == other.predicate && one.order == other.order
            && one.skip == other.skip && one.limit == other.limit && one.count == other.count
            && one.keys == other.keys && one.excludeKeys == other.excludeKeys && one.include == other.include
            && one.includeAll == other.includeAll && one.redirectClassNameForKey == other.redirectClassNameForKey
            && one.explain == other.explain && one.hint == other.hint && one.cursor == other.cursor
            && one.narrowed == other.narrowed
    }
}
