/// What must empty the caches of viewers on every node.
public enum AccessChange {
    /// The channel on which nodes tell each other of changed sessions and roles.
    public static let channel = "hermes_access"

    /// The notification that belongs to any write to `className`; nil where none does.
    public static func notification(for className: String) -> (channel: String, payload: String)? {
        switch className {
        case "_Role", "_Session", "_User": (channel, "*")
        default: nil
        }
    }
}
