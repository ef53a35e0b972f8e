import Wire

/// What may be done on the way of a write: a built-in rule, or an application's.
///
/// It runs on the worker of the operation; whoever lets an application's code run elsewhere hops there and back by
/// itself. It throws to refuse: a `ParseError` is the client's answer.
public struct Hook: Sendable {
    public enum Event: UInt8, Sendable, CaseIterable {
        /// Before an object is made or changed: may change it, or refuse.
        case beforeSave
        /// Behind all `beforeSave`, before the object's types are checked: for the server's own rules, which have the
        /// last word.
        case completeSave
        /// When it stands; an error is logged and changes nothing.
        case afterSave
        case beforeDelete
        case afterDelete
    }

    /// What a hook asks for beside the write itself.
    public struct Needs: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The object as it was: `Write.original`.
        public static let original = Needs(rawValue: 1)
        /// The hook and the write are one transaction, in which the object is locked.
        public static let transaction = Needs(rawValue: 2)
        /// The object as it has become, for what runs behind the write: `Write.result`.
        public static let result = Needs(rawValue: 4)
    }

    /// For the log.
    public let name: String
    public let className: String
    public let event: Event
    public let needs: Needs
    public let run: @Sendable (Write) async throws -> Void

    public init(
        _ name: String, on className: String, _ event: Event, needs: Needs = [],
        run: @escaping @Sendable (Write) async throws -> Void
    ) {
        self.name = name
        self.className = className
        self.event = event
        self.needs = needs
        self.run = run
    }
}

/// What may be done on the way of a find or a get: an application's.
public struct FindHook: Sendable {
    public enum Event: Sendable {
        /// May change the query, refuse, or bring objects to be found instead; also of what other finds include.
        case beforeFind
        /// May change or drop what was found; also what other finds include.
        case afterFind
    }

    /// For the log.
    public let name: String
    public let className: String
    public let event: Event
    public let run: @Sendable (Find) async throws -> Void

    public init(
        _ name: String, on className: String, _ event: Event, run: @escaping @Sendable (Find) async throws -> Void
    ) {
        self.name = name
        self.className = className
        self.event = event
        self.run = run
    }
}

/// What may be done around accounts, when somebody logs in or out: an application's.
public struct SessionHook: Sendable {
    public enum Event: Sendable {
        /// Behind the check of the password, before there is a session; may refuse.
        case beforeLogin
        case afterLogin
        /// With the session that has ended.
        case afterLogout
        /// When the user is found, before the mail; may refuse.
        case beforePasswordResetRequest
        /// An account is exported: what it answers goes with it.
        case accountExport
    }

    public let name: String
    public let event: Event
    /// With the user, or the session, as JSON; answers what `accountExport` adds, else nothing.
    public let run: @Sendable (JSONObject, Operation) async throws -> JSON?

    public init(_ name: String, _ event: Event, run: @escaping @Sendable (JSONObject, Operation) async throws -> JSON?)
    {
        self.name = name
        self.event = event
        self.run = run
    }
}

/// All hooks at one moment: an immutable value, swapped whole.
public struct Hooks: Sendable {
    struct OfClass: Sendable {
        fileprivate(set) var byEvent: [[Hook]] = Array(repeating: [], count: Hook.Event.allCases.count)
        /// What the hooks of a save, or of a delete, need together.
        fileprivate(set) var saveNeeds: Hook.Needs = []
        fileprivate(set) var deleteNeeds: Hook.Needs = []

        subscript(event: Hook.Event) -> [Hook] { byEvent[Int(event.rawValue)] }

        func needs(_ kind: Write.Kind) -> Hook.Needs { kind == .delete ? deleteNeeds : saveNeeds }
    }

    private var classes: [String: OfClass] = [:]
    private var beforeFinds: [String: [FindHook]] = [:]
    private var afterFinds: [String: [FindHook]] = [:]
    private var sessions: [SessionHook]

    /// In the order in which they are to run: built-in ones first.
    public init(_ hooks: [Hook] = [], finds: [FindHook] = [], sessions: [SessionHook] = []) {
        for hook in hooks {
            classes[hook.className, default: OfClass()].byEvent[Int(hook.event.rawValue)].append(hook)
            switch hook.event {
            case .beforeSave, .completeSave, .afterSave: classes[hook.className]?.saveNeeds.formUnion(hook.needs)
            case .beforeDelete, .afterDelete: classes[hook.className]?.deleteNeeds.formUnion(hook.needs)
            }
        }
        for hook in finds {
            switch hook.event {
            case .beforeFind: beforeFinds[hook.className, default: []].append(hook)
            case .afterFind: afterFinds[hook.className, default: []].append(hook)
            }
        }
        self.sessions = sessions
    }

    /// nil: nothing listens to the class, and its writes stay one statement.
    subscript(className: String) -> OfClass? { classes[className] }

    /// Nothing listens to any find, and rows go to the client as they come.
    var ignoreFinds: Bool { beforeFinds.isEmpty && afterFinds.isEmpty }
    func beforeFind(_ className: String) -> [FindHook] { beforeFinds[className] ?? [] }
    func afterFind(_ className: String) -> [FindHook] { afterFinds[className] ?? [] }
    var listenBeforeFinds: Bool { !beforeFinds.isEmpty }
    /// Something listens to what a find of the class has brought: behind it, or to finds of what was included.
    func listenBehind(_ className: String, including included: @autoclosure () -> Set<String>) -> Bool {
        guard !ignoreFinds else { return false }
        return afterFinds[className] != nil
            || included().contains { afterFinds[$0] != nil || beforeFinds[$0] != nil }
    }

    public func of(_ event: SessionHook.Event) -> [SessionHook] { sessions.filter { $0.event == event } }
}
