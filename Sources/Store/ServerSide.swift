import Postgres

/// What the server adds to a write.
public struct ServerSide: Sendable {
    public var columns: [ServerColumn] = []
    /// An id that the server has chosen already.
    public var objectId: String?
    /// Told to all nodes when the write is committed: channel and payload.
    public var notification: (channel: String, payload: String)?
    /// Statements that belong to the same transaction, run after the write.
    public var afterwards: [(statement: Statement, parameters: [Parameter])] = []

    public init() {}

    var needsTransaction: Bool { notification != nil || !afterwards.isEmpty }
}
