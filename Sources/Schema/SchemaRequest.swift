import Wire

/// What a schema request asks for.
public struct SchemaRequest: Sendable {
    public var fields: JSONObject
    /// nil: the permissions stay as they are.
    public var permissions: JSONObject?
    /// Whether the class loses its permissions instead, and is as open as one that was made without.
    public var dropsPermissions: Bool
    public var indexes: JSONObject

    public init(
        fields: JSONObject = .init(), permissions: JSONObject? = nil, dropsPermissions: Bool = false,
        indexes: JSONObject = .init()
    ) {
        self.fields = fields
        self.permissions = permissions
        self.dropsPermissions = dropsPermissions
        self.indexes = indexes
    }
}
