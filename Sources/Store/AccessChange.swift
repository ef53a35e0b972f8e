/// What must empty the caches of viewers on every node.
public struct AccessChange: Sendable, Equatable {
    /// The channel on which nodes tell each other of changed sessions and roles.
    public static let channel = "hermes_access"

    public let payload: String

    /// All sessions.
    public static let everything = AccessChange(payload: "*")
    public static func user(_ id: String) -> AccessChange { AccessChange(payload: "user:\(id)") }
    public static func session(_ id: String) -> AccessChange { AccessChange(payload: "session:\(id)") }

    /// Beyond so many users one message for all is cheaper.
    private static let mostUsers = 50

    /// What a write changes for the sessions of others. A new role without members changes nothing for anybody.
    static func changes(by write: Write, relations: [RelationChange]) -> [AccessChange] {
        switch (write.className, write.kind) {
        case ("_Session", .update), ("_Session", .delete): return [.session(write.objectId)]
        case ("_User", .delete): return [.user(write.objectId)]
        case ("_Role", .delete): return [.everything]
        case ("_Role", _):
            guard !relations.isEmpty else { return [] }
            let users = relations.filter { $0.field == "users" }.flatMap { $0.add + $0.remove }
            let isOfUsersAlone = relations.allSatisfy { $0.field == "users" }
            guard isOfUsersAlone, users.count <= mostUsers else { return [.everything] }
            return users.map { .user($0) }
        default: return []
        }
    }
}
