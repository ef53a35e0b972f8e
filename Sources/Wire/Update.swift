/// What a create or an update changes: one tree.
public struct Update: Sendable, Equatable {
    /// In the order in which they came; a field appears once, or several times with different dotted paths.
    public var changes: [Change]
    /// nil: says nothing of the ACL. An empty ACL (`{}`) closes the object to all but the master key.
    public var acl: ACLChange?
    /// As they came, unchecked: what may be done with them depends on the caller and the configuration.
    public var objectId: JSON?
    public var createdAt: JSON?
    public var updatedAt: JSON?

    public init(changes: [Change] = [], acl: ACLChange? = nil) {
        self.changes = changes
        self.acl = acl
    }

    public struct Change: Sendable, Equatable {
        public var path: FieldPath
        public var operation: Operation
        public init(_ path: FieldPath, _ operation: Operation) {
            self.path = path
            self.operation = operation
        }
    }

    public enum Operation: Sendable, Equatable {
        /// `.null` empties the field, as `delete` does.
        case set(Value)
        case delete
        case increment(Double)
        case add([JSON])
        case addUnique([JSON])
        case remove([JSON])
        /// Pointers of one class; both lists may be filled (`Batch`).
        case relation(add: [Pointer], remove: [Pointer])
        /// As `set` on a create, nothing on an update.
        case setOnInsert(Value)
    }
}

public enum ACLChange: Sendable, Equatable {
    case set(ACL)
    /// `{"__op": "Delete"}`: public again. (`ACL: null` says nothing.)
    case delete
}

/// Who may read and write one object: `*`, user ids, `role:NAME`.
public struct ACL: Sendable, Equatable {
    /// In the order in which they came, each principal once; one with neither right does not stand here.
    public var entries: [Entry]
    public init(_ entries: [Entry] = []) { self.entries = entries }

    public struct Entry: Sendable, Equatable {
        public var principal: String
        public var read: Bool
        public var write: Bool
        public init(_ principal: String, read: Bool, write: Bool) {
            self.principal = principal
            self.read = read
            self.write = write
        }
    }
}
