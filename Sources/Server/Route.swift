/// Where a request leads: worked out from method and path alone.
enum Route: Equatable {
    case health
    case find(className: String)
    case create(className: String)
    case get(className: String, id: String)
    case update(className: String, id: String)
    case delete(className: String, id: String)
    case me
    case logIn, logInAs, verifyPassword, logOut, challenge
    case currentSession, upgradeSession
    case batch
    case schemas, schema(String), createSchema(String?), updateSchema(String), deleteSchema(String)
    case purge(String)
    case distinct(String)
    case serverInfo
    case function(String)
    case later(Later)

    /// Routes of the protocol that this version does not serve yet; who may ask is checked all the same.
    struct Later: Equatable {
        enum Gate { case anybody, master, files }
        let gate: Gate
        let writes: Bool
        let name: String
    }

    /// nil: there is no such route. Names of routes match without regard to case; names of classes do not.
    init?(_ method: String, _ path: [String]) {
        guard let first = path.first?.lowercased() else { return nil }
        let rest = Array(path.dropFirst())
        switch (first, rest.count) {
        case ("health", 0): self = .health
        case ("classes", 1...2):
            guard let route = Route.object(method, rest[0], rest.count > 1 ? rest[1] : nil) else { return nil }
            self = route
        case ("users", 1) where rest[0].lowercased() == "me" && method == "GET": self = .me
        case ("sessions", 1) where rest[0].lowercased() == "me" && method == "GET": self = .currentSession
        case ("users", 0...1), ("sessions", 0...1), ("roles", 0...1), ("installations", 0...1):
            let classes = [
                "users": "_User", "sessions": "_Session", "roles": "_Role", "installations": "_Installation",
            ]
            guard let route = Route.object(method, classes[first] ?? "", rest.first) else { return nil }
            self = route
        case ("login", 0) where method == "GET" || method == "POST": self = .logIn
        case ("loginas", 0) where method == "POST": self = .logInAs
        case ("verifypassword", 0) where method == "GET" || method == "POST": self = .verifyPassword
        case ("logout", 0) where method == "POST": self = .logOut
        case ("challenge", 0) where method == "POST": self = .challenge
        case ("upgradetorevocablesession", 0) where method == "POST": self = .upgradeSession
        case ("batch", 0) where method == "POST": self = .batch
        case ("schemas", 0) where method == "GET": self = .schemas
        case ("schemas", 0) where method == "POST": self = .createSchema(nil)
        case ("schemas", 1) where method == "GET": self = .schema(rest[0])
        case ("schemas", 1) where method == "POST": self = .createSchema(rest[0])
        case ("schemas", 1) where method == "PUT": self = .updateSchema(rest[0])
        case ("schemas", 1) where method == "DELETE": self = .deleteSchema(rest[0])
        case ("purge", 1) where method == "DELETE": self = .purge(rest[0])
        case ("aggregate", 1) where method == "GET": self = .distinct(rest[0])
        case ("serverinfo", 0) where method == "GET": self = .serverInfo
        case ("functions", 1) where method == "POST": self = .function(rest[0])
        default:
            guard let later = Route.later(method, first, rest) else { return nil }
            self = .later(later)
        }
    }

    private static func object(_ method: String, _ className: String, _ id: String?) -> Route? {
        switch (method, id) {
        case ("GET", nil): .find(className: className)
        case ("POST", nil): .create(className: className)
        case ("GET", let id?): .get(className: className, id: id)
        case ("PUT", let id?): .update(className: className, id: id)
        case ("DELETE", let id?): .delete(className: className, id: id)
        default: nil
        }
    }

    private static func later(_ method: String, _ first: String, _ rest: [String]) -> Later? {
        let writes = method != "GET"
        switch first {
        case "hooks": return Later(gate: .master, writes: writes, name: "Hooks")
        case "config": return Later(gate: writes ? .master : .anybody, writes: writes, name: "Config")
        case "push", "push_audiences": return Later(gate: .master, writes: writes, name: "Push")
        case "jobs", "cloud_code": return Later(gate: .master, writes: writes, name: "Jobs")
        case "files": return Later(gate: .files, writes: writes, name: "Files")
        case "scriptlog", "security": return Later(gate: .master, writes: writes, name: "This route")
        case "requestpasswordreset", "verificationemailrequest", "events", "validate_purchase":
            return method == "POST" ? Later(gate: .anybody, writes: true, name: "This route") : nil
        default: return nil
        }
    }
}
