import Wire

/// What a schema request asks for.
public struct SchemaRequest: Sendable {
    public var fields: JSONObject
    /// nil: the permissions stay as they are.
    public var permissions: JSONObject?
    public var indexes: JSONObject

    public init(fields: JSONObject = .init(), permissions: JSONObject? = nil, indexes: JSONObject = .init()) {
        self.fields = fields
        self.permissions = permissions
        self.indexes = indexes
    }
}
