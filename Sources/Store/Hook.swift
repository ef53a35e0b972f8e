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

    /// In the order in which they are to run: built-in ones first.
    public init(_ hooks: [Hook] = []) {
        for hook in hooks {
            classes[hook.className, default: OfClass()].byEvent[Int(hook.event.rawValue)].append(hook)
            switch hook.event {
            case .beforeSave, .completeSave, .afterSave: classes[hook.className]?.saveNeeds.formUnion(hook.needs)
            case .beforeDelete, .afterDelete: classes[hook.className]?.deleteNeeds.formUnion(hook.needs)
            }
        }
    }

    /// nil: nothing listens to the class, and its writes stay one statement.
    subscript(className: String) -> OfClass? { classes[className] }
}
