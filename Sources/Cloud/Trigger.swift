/// What cloud code can listen to, by the reference's names.
public enum TriggerKind: String, Sendable, CaseIterable {
    case beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind
    case beforeLogin, afterLogin, afterLogout, beforePasswordResetRequest
    /// An account is exported: what it answers is added. Hermes' own.
    case accountExport
    case beforeConnect, beforeSubscribe
    /// A LiveQuery event on its way to one recipient.
    case afterEvent
}

/// An event of one class. Three names are no classes: `@File`, `@Config` and `@Connect`.
public struct Trigger: Sendable, Hashable {
    public let kind: TriggerKind
    public let className: String

    public init(_ kind: TriggerKind, on className: String) {
        self.kind = kind
        self.className = className
    }
}
