import Postgres

/// Who asks: worked out once for a request, then passed on as a value.
public struct Viewer: Sendable, Equatable {
    /// Which of the server's keys came with the request, if any.
    public enum Key: Sendable, Equatable {
        case none, master, readOnlyMaster, maintenance
    }

    public let key: Key
    /// The user whose session it is; nil without one and with a key that stands above users.
    public let userId: String?
    /// Names of the user's roles, inherited ones included.
    public let roles: [String]
    /// `*`, the user's id, `role:NAME`…: what an ACL may name to let this viewer in.
    public let principals: [String]
    public let installationId: String?
    /// The session that the request came with.
    public let session: Session?

    public struct Session: Sendable, Equatable {
        public let objectId: String
        public let token: String
        public init(objectId: String, token: String) {
            self.objectId = objectId
            self.token = token
        }
    }

    public init(
        key: Key = .none, userId: String? = nil, roles: [String] = [], installationId: String? = nil,
        session: Session? = nil
    ) {
        self.key = key
        self.userId = userId
        self.roles = roles
        self.installationId = installationId
        self.session = session
        principals = ["*"] + (userId.map { [$0] } ?? []) + roles.map { "role:\($0)" }
    }

    public static let anonymous = Viewer()
    public static let master = Viewer(key: .master)

    /// Class-level permissions, ACLs and protected fields do not bind this viewer.
    public var isAboveAccess: Bool { key != .none }

    /// Passes the gates of routes that ask for the master key; the read-only key does so for reading.
    public var isMaster: Bool { key == .master || key == .readOnlyMaster }
}
