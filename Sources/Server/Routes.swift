import Core
import Wire

extension RouteTable {
    /// All routes of the API. Of two that a path fits, the first one counts.
    static let standard = RouteTable(
        basics + objects("classes", nil) + users + sessions
            + ownNames.sorted { $0.key < $1.key }.flatMap { objects($0.value, $0.key) } + schemas + hooks + config
            + jobs
            + later)

    /// Classes whose objects have a name of their own in paths: `/users` is `/classes/_User`.
    static let ownNames = [
        "_User": "users", "_Session": "sessions", "_Role": "roles", "_Installation": "installations",
    ]

    /// A path in the words that all paths to the same objects share.
    static func plainPath(_ path: [String]) -> [String] {
        guard path.count > 1, path[0].lowercased() == "classes", let name = ownNames[path[1]] else { return path }
        return [name] + path.dropFirst(2)
    }

    private static let events = Metrics.shared.counter(
        "hermes_events_total", help: "Analytics events that clients have sent.")

    private static let basics: [Route] = [
        // Each of its parts says for itself whether it writes.
        Route("POST", "batch", writes: false) { try await $0.batch($1) },
        Route("GET", "scriptlog", .master, writes: false) { try $0.log($1) },
        Route("GET", "serverinfo", .master, writes: false, body: .none) { _, _ in ServerInfo.answer },
        Route("POST", "functions/:name", writes: false, body: .fields) { api, request in
            try await api.cloud.function(request.arguments[0], request)
        },
        Route("GET", "functions", .master, writes: false) { api, _ in api.cloud.listFunctions() },
        // Analytics: counted, and nothing else is made of them.
        Route("POST", "events/:name", writes: false) { _, _ in
            events.add()
            return .empty
        },
        Route("GET", "aggregate/:class", .master, writes: false) { try await $0.distinct($1.arguments[0], $1) },
    ]

    /// The five routes of objects: of the class that the path names, or of one.
    private static func objects(_ name: String, _ className: String?) -> [Route] {
        let list = className == nil ? "\(name)/:class" : name
        let objects = className.map { Route.Objects.of($0) } ?? .any
        func route(
            _ method: String, _ pattern: String, writes: Bool,
            _ handler: @escaping @Sendable (API, String, Request) async throws -> Answer
        ) -> Route {
            Route(method, pattern, writes: writes, isTransactional: true, objects: objects) { api, request in
                try await handler(api, className ?? request.arguments[0], request)
            }
        }
        return [
            route("GET", list, writes: false) { try await $0.find($1, $2) },
            route("POST", list, writes: true) { try await $0.create($1, $2) },
            route("GET", list + "/:id", writes: false) { try await $0.get($1, $2.objectId, $2) },
            route("PUT", list + "/:id", writes: true) { try await $0.update($1, $2.objectId, $2) },
            route("DELETE", list + "/:id", writes: true) { try await $0.delete($1, $2.objectId, $2) },
        ]
    }

    private static let users: [Route] = [
        Route("GET", "users/me", writes: false) { try await $0.me($1) },
        Route("GET", "users/me/export", writes: false) { try await $0.exportAccount($1) },
        Route("GET", "users/:id/export", .master, writes: false) { try await $0.exportAccount($1) },
        Route("POST", "users/me/delete", writes: true) { try await $0.deleteAccount($1) },
        Route("POST", "users/:id/delete", .master, writes: true) { try await $0.deleteAccount($1) },
        Route("GET", "users/:id/lock", .master, writes: false) { try await $0.lock($1) },
        Route("POST", "users/:id/lock", .master, writes: true) { try await $0.lockAccount($1) },
        Route("DELETE", "users/:id/lock", .master, writes: true) { try await $0.unlockAccount($1) },
        Route("GET", "login", writes: true, body: .fields, isTransactional: true, ignoresSession: true) {
            try await $0.logIn($1)
        },
        Route("POST", "login", writes: true, body: .fields, isTransactional: true, ignoresSession: true) {
            try await $0.logIn($1)
        },
        Route("POST", "loginas", .masterByCode, writes: true, body: .fields, isTransactional: true) {
            try await $0.logInAs($1)
        },
        Route("GET", "verifypassword", writes: false, body: .fields) { try await $0.verifyPassword($1) },
        Route("POST", "verifypassword", writes: false, body: .fields) { try await $0.verifyPassword($1) },
        Route("POST", "logout", writes: true, isTransactional: true) { try await $0.logOut($1) },
        Route("POST", "requestpasswordreset", writes: true) { try await $0.requestPasswordReset($1) },
        Route("POST", "requestloginlink", writes: true) { try await $0.requestLogInLink($1) },
        Route("POST", "loginbylink", writes: true, ignoresSession: true) { try await $0.logInByLink($1) },
        Route("POST", "verificationemailrequest", writes: true) { try await $0.requestVerification($1) },
        Route("POST", "challenge", writes: false) { try await $0.challenge($1) },
        Route("POST", "upgradetorevocablesession", writes: true, isTransactional: true) {
            try await $0.upgradeSession($1)
        },
    ]

    private static let sessions: [Route] = [
        Route("GET", "sessions/me", writes: false) { try await $0.currentSession($1) }
    ]

    private static let schemas: [Route] = [
        Route("GET", "schemas", .master, writes: false, isTransactional: true) { try await $0.schemas($1) },
        Route("POST", "schemas", .master, writes: true, isTransactional: true) { try await $0.createSchema(nil, $1) },
        Route("GET", "schemas/:class", .master, writes: false, isTransactional: true) {
            try await $0.schema($1.arguments[0], $1)
        },
        Route("POST", "schemas/:class", .master, writes: true, isTransactional: true) {
            try await $0.createSchema($1.arguments[0], $1)
        },
        Route("PUT", "schemas/:class", .master, writes: true, isTransactional: true) {
            try await $0.updateSchema($1.arguments[0], $1)
        },
        Route("DELETE", "schemas/:class", .master, writes: true, isTransactional: true) {
            try await $0.deleteSchema($1.arguments[0], $1)
        },
        Route("DELETE", "purge/:class", .master, writes: true) { try await $0.purge($1.arguments[0], $1) },
    ]

    private static let hooks = API.HookRoute.allCases.flatMap { hook in
        let list = "hooks/\(hook.rawValue)"
        let one = list + (hook == .triggers ? "/:class/:trigger" : "/:name")
        return [
            Route("GET", list, .master, writes: false) { api, _ in try await api.hooks(hook) },
            Route("POST", list, .master, writes: true) { try await $0.createHook(hook, $1) },
            Route("GET", one, .master, writes: false) { try await $0.hook(hook, $1) },
            Route("PUT", one, .master, writes: true) { try await $0.updateHook(hook, $1) },
            Route("DELETE", one, .master, writes: true) { try await $0.deleteHook(hook, $1) },
        ]
    }

    private static let config: [Route] = [
        Route("GET", "config", writes: false) { try await $0.config($1) },
        Route("PUT", "config", .master, writes: true) { try await $0.updateConfig($1) },
    ]

    private static let jobs: [Route] = [
        Route("POST", "jobs", .master, writes: true, isTransactional: true) { try await $0.startJob(nil, $1) },
        Route("POST", "jobs/:name", .master, writes: true, isTransactional: true) {
            try await $0.startJob($1.arguments[0], $1)
        },
        Route("DELETE", "jobs/:id", .master, writes: true, isTransactional: true) {
            try await $0.cancelJob($1.arguments[0], $1)
        },
        Route("GET", "cloud_code/jobs", .master, writes: false) { try await $0.jobSchedules($1) },
        Route("GET", "cloud_code/jobs/data", .master, writes: false) { try await $0.jobNames($1) },
        Route("POST", "cloud_code/jobs", .master, writes: true, isTransactional: true) {
            try await $0.createJobSchedule($1)
        },
        Route("PUT", "cloud_code/jobs/:id", .master, writes: true, isTransactional: true) {
            try await $0.updateJobSchedule($1.arguments[0], $1)
        },
        Route("DELETE", "cloud_code/jobs/:id", .master, writes: true, isTransactional: true) {
            try await $0.delete("_JobSchedule", $1.arguments[0], $1)
        },
    ]

    // MARK: what this version does not serve yet

    /// Routes of the protocol that answer 108; who may ask is checked all the same.
    private static let later: [Route] =
        unserved("push", "Push", .master) + unserved("push_audiences", "Push", .master, depth: 1...2)
        + unserved("security", "This route", .master)
        + unserved("files", "Files", .anybody, depth: 1...4, body: .stream)
        + unserved("validate_purchase", "This route", .anybody, methods: ["POST"])

    private static func unserved(
        _ name: String, _ title: String, _ gate: Route.Gate, depth: ClosedRange<Int> = 1...1,
        body: Route.Body = .object, methods: [String] = ["GET", "POST", "PUT", "DELETE"]
    ) -> [Route] {
        methods.flatMap { method in
            depth.map { depth in
                let pattern = ([name] + Array(repeating: ":any", count: depth - 1)).joined(separator: "/")
                return Route(method, pattern, gate, writes: method != "GET", body: body) { api, request in
                    try api.store.denylist.check(.object(request.body))
                    throw ParseError(108, "\(title) cannot be used with this version of Hermes yet.")
                }
            }
        }
    }
}
