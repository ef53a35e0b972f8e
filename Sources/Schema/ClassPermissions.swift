import Wire

/// The class-level permissions of one class: who may do which operation at all, before any row is looked at.
public struct ClassPermissions: Sendable {
    public enum Operation: String, Sendable, CaseIterable {
        case find, get, count, create, update, delete, addField
        public var isRead: Bool { self == .find || self == .get || self == .count }
    }

    /// Who may do one operation.
    public struct Grant: Sendable, Equatable {
        public var everybody = false
        public var requiresAuthentication = false
        /// User ids and `role:NAME`.
        public var principals: Set<String> = []
        public var pointerFields: [String] = []
    }

    /// As given, for the schema API to show; nil when the class was made without permissions and so is open.
    public let given: JSONObject?
    private let grants: [Operation: Grant]
    public let readUserFields: [String]
    public let writeUserFields: [String]
    /// The entries of `protectedFields`: key (`*`, `authenticated`, `role:X`, a user id, `userField:f`) and fields.
    public let protectedFields: [(key: String, fields: Set<String>)]
    /// The ACL of objects that are created without one; nil: public. `currentUser` stands for the caller.
    public let defaultACL: ACL?

    /// Open to all.
    public static let open = ClassPermissions(given: nil)

    /// Reads permissions that were checked by `check`.
    public init(given: JSONObject?, serverProtectedFields: JSONObject? = nil) {
        self.given = given
        var grants: [Operation: Grant] = [:]
        if let given {
            for operation in Operation.allCases {
                grants[operation] = ClassPermissions.grant(given[operation.rawValue])
            }
        }
        self.grants = grants
        readUserFields = ClassPermissions.strings(given?["readUserFields"])
        writeUserFields = ClassPermissions.strings(given?["writeUserFields"])
        var protected: [(key: String, fields: Set<String>)] = []
        for source in [given?["protectedFields"], serverProtectedFields.map { JSON.object($0) }] {
            guard case .object(let entries)? = source else { continue }
            for (key, fields) in entries.members {
                let names = Set(ClassPermissions.strings(fields))
                if let index = protected.firstIndex(where: { $0.key == key }) {
                    protected[index].fields.formUnion(names)
                } else {
                    protected.append((key, names))
                }
            }
        }
        protectedFields = protected
        if case .object(let entries)? = given?["ACL"], !ClassPermissions.isPublic(entries) {
            defaultACL = ACL(
                entries.members.map { principal, rights in
                    guard case .object(let rights) = rights else {
                        return ACL.Entry(principal, read: false, write: false)
                    }
                    return ACL.Entry(
                        principal, read: rights["read"] == .bool(true), write: rights["write"] == .bool(true))
                })
        } else {
            defaultACL = nil
        }
    }

    public func grant(_ operation: Operation) -> Grant {
        given == nil ? Grant(everybody: true) : grants[operation] ?? Grant()
    }

    /// The pointer fields that let their users do `operation`.
    public func pointerFields(_ operation: Operation) -> [String] {
        var fields = grant(operation).pointerFields
        for field in operation.isRead ? readUserFields : writeUserFields where !fields.contains(field) {
            fields.append(field)
        }
        return fields
    }

    /// What the schema API shows.
    public var shown: JSONObject {
        guard var shown = given else { return ClassPermissions.shownWhenOpen }
        for operation in Operation.allCases where shown[operation.rawValue] == nil {
            shown[operation.rawValue] = .object(JSONObject())
        }
        if shown["protectedFields"] == nil { shown["protectedFields"] = .object(JSONObject()) }
        return shown
    }

    private static let shownWhenOpen: JSONObject = {
        let everybody = JSON.object(JSONObject([("*", .bool(true))]))
        let all = JSON.object(JSONObject([("read", .bool(true)), ("write", .bool(true))]))
        var shown = JSONObject([("ACL", .object(JSONObject([("*", all)])))])
        for operation in Operation.allCases { shown[operation.rawValue] = everybody }
        shown["protectedFields"] = .object(JSONObject([("*", .array([]))]))
        return shown
    }()

    private static func isPublic(_ acl: JSONObject) -> Bool {
        acl.count == 1 && acl["*"] == .object(JSONObject([("read", .bool(true)), ("write", .bool(true))]))
    }

    private static func grant(_ json: JSON?) -> Grant {
        var grant = Grant()
        guard case .object(let entries)? = json else { return grant }
        for (key, value) in entries.members {
            switch key {
            case "*": grant.everybody = value == .bool(true)
            case "requiresAuthentication": grant.requiresAuthentication = value == .bool(true)
            case "pointerFields": grant.pointerFields = strings(value)
            default: if value == .bool(true) { grant.principals.insert(key) }
            }
        }
        return grant
    }

    private static func strings(_ json: JSON?) -> [String] {
        guard case .array(let elements)? = json else { return [] }
        return elements.compactMap { if case .string(let string) = $0 { string } else { nil } }
    }
}
