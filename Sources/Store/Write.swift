import Postgres
import Schema
import Wire

/// One write on its way through the stages of `WritePath`: what a client asks for, and what hooks make of it.
public final class Write {
    public enum Kind: Sendable { case create, update, delete }

    /// A built-in rule may turn a create into the update of an object that is there already.
    public private(set) var kind: Kind
    public let className: String
    /// Of a create: chosen before its hooks run.
    public private(set) var objectId: String
    public let operation: Operation
    /// What is to be stored. Hooks may change it.
    public var update: Update
    /// The columns that the server itself sets beside it, such as a password's hash; only rules do.
    public var columns: [ServerColumn] = []
    /// `authData` of a user's body as it came: no field, but what a way of logging in has to say.
    public var authData: JSON?
    /// A new password, from when it is taken out of the fields until it is hashed.
    public var password: String?
    /// The object as it was: where a hook needs it, in an update or a delete.
    public internal(set) var original: JSONObject?
    /// The object as it has become, with its `className`, as JSON text: behind the write, where a hook needs it.
    public internal(set) var result: [UInt8]?
    var needsResult = false
    /// Set by a hook behind the write: what the client is answered instead.
    public var replacement: JSON?
    /// Set by a hook behind the write: what the answer shows beside its own, though it is not stored.
    public var shownByHooks = JSONObject()
    /// The fields that an application's hooks have changed: the answer tells them.
    public var changedByHooks: [String] = []
    /// An application's hook has seen it before it was written. Then the answer tells, as the reference's does, the whole
    /// of a field that was changed in part, and nothing of what an operator left as it was.
    public var wasSeenByHooks = false
    /// What the answer carries beside the written fields, such as a session's token.
    public var extras = JSONObject()
    /// The answer of a create leaves `createdAt` out, as the reference's does for sessions.
    public var answersFieldsAlone = false
    /// Runs within the write's transaction, behind the write; may run again when the transaction lost a race.
    public private(set) var effects: [(Operation) async throws -> Void] = []

    init(_ kind: Kind, _ className: String, _ objectId: String, _ update: Update, in operation: Operation) {
        self.kind = kind
        self.className = className
        self.objectId = objectId
        self.update = update
        self.operation = operation
    }

    public var viewer: Viewer { operation.viewer }
    public var isNew: Bool { kind == .create }

    /// Adds what is to be kept or undone together with this write.
    public func addEffect(_ effect: @escaping (Operation) async throws -> Void) { effects.append(effect) }

    /// The object is there already: changes that one instead of making another.
    public func becomeUpdate(of objectId: String) {
        kind = .update
        self.objectId = objectId
        update.objectId = nil
        update.createdAt = nil
    }

    /// What a client is told of an object that is not there, or that it may not write.
    public var missing: ParseError {
        guard className == "_User", kind != .create, !viewer.isAboveAccess, viewer.userId != objectId else {
            return .objectNotFound
        }
        return refusal(206, kind == .update ? "Cannot modify user \(objectId)." : "Insufficient auth to delete user")
    }

    /// A refusal, whose reason is told only where the configuration lets it.
    public func refusal(_ code: Int, _ message: String) -> ParseError {
        ParseError(code, operation.store.access(viewer).refusal(message))
    }

    /// The object as it is, read now where no hook has asked for it before.
    ///
    /// - Throws: `missing` where the viewer may not write it.
    public func readOriginal() async throws -> JSONObject {
        if let original { return original }
        let read = try await operation.store.readOriginal(self)
        original = read
        return read
    }

    // MARK: fields

    /// What the write sets a field to; nil where it says nothing, or something else than a plain value.
    public func value(_ field: String) -> Value? {
        guard case .set(let value)? = change(field)?.operation else { return nil }
        return value
    }

    public func change(_ field: String) -> Update.Change? {
        update.changes.first { $0.path.field == field && !$0.path.isDotted }
    }

    public func set(_ field: String, _ value: Value) {
        if let index = update.changes.firstIndex(where: { $0.path.field == field }) {
            update.changes[index] = Update.Change(FieldPath(field: field), .set(value))
        } else {
            update.changes.append(Update.Change(FieldPath(field: field), .set(value)))
        }
    }

    /// Takes a field, and all that lies within it, out of what is stored.
    public func remove(_ field: String) { update.changes.removeAll { $0.path.field == field } }

    /// Whether the write leaves a field without a value, or with an empty text.
    public func empties(_ field: String) -> Bool {
        switch change(field)?.operation {
        case .delete, .set(.null), .set(.string("")): true
        default: false
        }
    }
}

/// What a write made.
public final class Written {
    public let kind: Write.Kind
    public let className: String
    public let objectId: String
    public let createdAt: Timestamp
    public let updatedAt: Timestamp
    /// The fields that the answer tells: defaults, what operators made, what rules add.
    public internal(set) var answered: JSONObject
    var showsCreation = true
    /// Fields that the viewer may not see, whoever sets them.
    var hidden: Set<String> = []
    /// What a hook answers in its place.
    public internal(set) var replacement: JSON?
    /// What a hook behind a delete that stands has thrown.
    public internal(set) var failure: (any Error)?

    init(
        _ kind: Write.Kind, _ className: String, _ objectId: String, createdAt: Timestamp, updatedAt: Timestamp,
        answered: JSONObject
    ) {
        self.kind = kind
        self.className = className
        self.objectId = objectId
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.answered = answered
    }

    /// `{objectId, createdAt, …}` of a create, `{updatedAt, …}` of an update, `{}` of a delete.
    public func write(to out: inout JSONWriter) {
        if let replacement { return out.json(replacement) }
        out.raw("{")
        switch kind {
        case .create:
            out.raw("\"objectId\":")
            out.string(objectId)
            if showsCreation {
                out.raw(",\"createdAt\":\"")
                out.timestamp(createdAt)
                out.raw("\"")
            }
        case .update:
            out.raw("\"updatedAt\":\"")
            out.timestamp(updatedAt)
            out.raw("\"")
        case .delete: return out.raw("}")
        }
        for (name, value) in answered.members { out.member(name, value) }
        out.raw("}")
    }
}

extension JSONWriter {
    /// `,"name":value`
    public mutating func member(_ name: String, _ value: JSON) {
        raw(",")
        string(name)
        raw(":")
        json(value)
    }
}
