import Wire

/// What the configuration says of objects and queries.
public struct StoreOptions: Sendable {
    /// How many objects a find answers that names no limit.
    public var defaultLimit = 100
    /// The most that a find answers; larger limits are lowered to it. nil: no bound.
    public var maxLimit: Int?
    /// How many rows a subquery looks at. nil: no bound.
    public var subqueryLimit: Int?
    public var allowsClientClassCreation = false
    public var allowsCustomObjectIds = false
    /// Characters of an objectId.
    public var objectIdSize = 10
    /// Refusals say "Permission denied" and no more.
    public var sanitizesErrors = true
    /// A user sees the protected fields of its own row.
    public var ownersSeeProtectedFields = true
    /// Answers to writes show protected fields.
    public var saveAnswersShowProtectedFields = false
    /// New users are readable by themselves alone.
    public var usersArePrivate = true
    /// Seconds that a transaction may go on; then its next statement is refused and it is undone.
    public var transactionTimeLimit = 60.0
    /// What stands before a file's name in its URL: `https://…/files/APPID/`.
    public var fileURLPrefix = ""
    /// What tokens of sessions are sealed with; nil: none of those is shown.
    public var tokenSeal: Seal?

    /// By class.
    public var findDefaults: [String: FindDefaults] = [:]
    /// By class.
    public var readerFields: [String: [ReaderField]] = [:]

    public init() {}
}
