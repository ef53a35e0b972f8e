import Accounts
import Core
import HTTP
import Options
import Postgres
import Schema
import Store
import Wire

/// The Parse API of one worker: a request in, an answer out.
final class API {
    let options: ServerOptions
    let accounts: Accounts
    let store: Store
    let errors = ErrorAnswer()
    private let identification: Identification
    private let denylist: KeywordDenylist
    private let cors: CORS

    init(options: ServerOptions, accounts: Accounts, denylist: KeywordDenylist) {
        self.options = options
        self.accounts = accounts
        self.store = accounts.store
        self.denylist = denylist
        identification = Identification(options: options)
        cors = CORS(options)
    }

    // MARK: the path of a request

    /// Answers any request below the mount path.
    func answer(_ http: HTTPRequest, path: [String], id: String) async -> Answer {
        var answer: Answer
        do {
            answer = try await serve(http, path)
        } catch {
            let isDefect: Bool
            (answer, isDefect) = errors.answer(error)
            if isDefect {
                Log.shared.error(
                    "a request failed",
                    ["id": .text(id), "method": .text(http.method), "path": .text(http.path), "error": "\(error)"])
            }
        }
        answer.headers += cors.headers(origin: cors.asksForOrigin ? http.header("Origin") : nil)
        answer.headers.append(("Content-Type", "application/json; charset=utf-8"))
        // Who asks decides what the answer holds, and HTTP's caches don't look at the session's token. Left without
        // this header, Foundation's on Linux even answers one query with what another one of the same class found.
        answer.headers.append(("Cache-Control", "private, no-cache"))
        return answer
    }

    private func serve(_ http: HTTPRequest, _ path: [String]) async throws -> Answer {
        if http.method == "OPTIONS" { return Answer(body: []) }
        if path.first?.lowercased() == "health" { return Answer(json: ["status": "ok"]) }
        // Identify.
        let sendsFile = path.first?.lowercased() == "files"
        var body = sendsFile ? JSONObject() : try RequestBody.object(http)
        var method = http.method == "HEAD" ? "GET" : http.method
        let caller = try identification.identify(http, method: &method, body: &body)
        try checkAllowed(path, caller)
        let route = Route(method, path)
        let viewer = try await viewer(caller, ignoringSession: route == .logIn)
        guard let route else {
            throw ParseError(nil, "There is no route \(method) /\(path.joined(separator: "/")).", status: 404)
        }
        // Parse.
        var parameters = RequestBody.parameters(http)
        if method == "GET", !body.isEmpty { parameters += body.members }
        let request = Request(
            method: method, path: path, parameters: parameters, body: body, viewer: viewer, caller: caller,
            transaction: nil)
        try await checkIdempotency(request)
        // Plan, run, write.
        return try await run(route, request)
    }

    /// What the key or the session make of the caller.
    private func viewer(_ caller: Caller, ignoringSession: Bool) async throws -> Viewer {
        guard caller.key == .none else { return Viewer(key: caller.key, installationId: caller.installationId) }
        guard let token = caller.sessionToken, !ignoringSession else {
            return Viewer(installationId: caller.installationId)
        }
        return try await accounts.viewer(token: token, installationId: caller.installationId)
    }

    /// `routeAllowList` binds clients.
    func checkAllowed(_ path: [String], _ caller: Caller) throws(ParseError) {
        guard let list = options.routeAllowList, caller.key == .none else { return }
        let text = path.joined(separator: "/")
        guard list.contains(where: { $0.matches(text) }) else {
            throw ParseError(119, refusal("The route /\(text) is not open to clients."))
        }
    }

    func refusal(_ message: String) -> String { options.enableSanitizedErrorResponse ? "Permission denied" : message }

    // MARK: routes

    func run(_ route: Route, _ request: Request) async throws -> Answer {
        switch route {
        case .health: return Answer(json: ["status": "ok"])
        case .find(let className): return try await find(className, request)
        case .get(let className, let id): return try await get(className, id, request)
        case .create(let className): return try await create(className, request)
        case .update(let className, let id): return try await update(className, id, request)
        case .delete(let className, let id): return try await delete(className, id, request)
        case .me: return try await me(request)
        case .logIn, .logInAs, .verifyPassword: return try await logIn(route, request)
        case .logOut:
            try await accounts.logOut(request.viewer)
            return .empty
        case .challenge: return try await challenge(request)
        case .currentSession: return try await currentSession(request)
        case .upgradeSession: return answer(try await accounts.upgradeSession(request.viewer))
        case .batch: return try await batch(request)
        case .schemas, .schema, .createSchema, .updateSchema, .deleteSchema: return try await schemas(route, request)
        case .purge(let className):
            try checkMaster(request.viewer, writes: true)
            try await store.purge(className)
            if let change = AccessChange.notification(for: className) { accounts.forget(change.payload) }
            return .empty
        case .distinct(let className): return try await distinct(className, request)
        case .serverInfo:
            try checkMaster(request.viewer, writes: false)
            return ServerInfo.answer
        case .function(let name): throw ParseError(141, "Invalid function: \"\(name)\"")
        case .later(let later): return try refuse(later, request)
        }
    }

    /// Throws 403 for clients, 119 for the read-only key where the route writes.
    func checkMaster(_ viewer: Viewer, writes: Bool) throws(ParseError) {
        guard viewer.isMaster else {
            throw ParseError(nil, refusal("unauthorized: master key is required"), status: 403)
        }
        if writes { try checkWritable(viewer) }
    }

    func checkWritable(_ viewer: Viewer) throws(ParseError) {
        if viewer.key == .readOnlyMaster {
            throw ParseError(119, refusal("The read-only master key cannot change anything."))
        }
    }

    func checkKeywords(_ body: JSONObject) throws(ParseError) { try denylist.check(.object(body)) }

    private func refuse(_ later: Route.Later, _ request: Request) throws(ParseError) -> Answer {
        switch later.gate {
        case .master: try checkMaster(request.viewer, writes: later.writes)
        case .files:
            if request.viewer.key == .readOnlyMaster, later.writes {
                throw ParseError(nil, refusal("The read-only master key cannot change files."), status: 403)
            }
        case .anybody: break
        }
        if later.writes { try checkKeywords(request.body) }
        throw ParseError(108, "\(later.name) cannot be used with this version of Hermes yet.")
    }
}

/// The JSON and the parameters of a request.
enum RequestBody {
    /// The members of the body: JSON whatever the content type says, but for forms.
    static func object(_ request: HTTPRequest) throws(ParseError) -> JSONObject {
        guard !request.body.isEmpty else { return JSONObject() }
        if let type = request.header("Content-Type")?.lowercased(),
            type.hasPrefix("application/x-www-form-urlencoded")
        {
            return JSONObject(pairs(String(decoding: request.body, as: UTF8.self)).map { ($0.0, .string($0.1)) })
        }
        switch try JSONParser.parse(request.body) {
        case .object(let object): return object
        case .array: return JSONObject()
        default: throw ParseError(nil, "The body must be a JSON object.", status: 400)
        }
    }

    static func parameters(_ request: HTTPRequest) -> [(key: String, value: JSON)] {
        guard let query = request.query, !query.isEmpty else { return [] }
        return Query.parameters(fromURL: pairs(query))
    }

    /// `a=1&b=2`, decoded.
    static func pairs(_ text: String) -> [(String, String)] {
        text.split(separator: "&").map { part in
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decode = { (side: Substring) in String(percentDecoding: side, plusIsSpace: true) ?? String(side) }
            return (decode(sides[0]), sides.count > 1 ? decode(sides[1]) : "")
        }
    }
}

/// `/serverInfo`: what dashboards ask to know what a server can do.
enum ServerInfo {
    static let version = "9.10.0"

    static let answer = Answer(json: [
        "features": [
            "globalConfig": ["create": false, "read": false, "update": false, "delete": false],
            "hooks": ["create": false, "read": false, "update": false, "delete": false],
            "cloudCode": ["jobs": false],
            "logs": ["level": false, "size": false, "order": false, "until": false, "from": false],
            "push": ["immediatePush": false, "scheduledPush": false, "storedPushData": false, "pushAudiences": false],
            "schemas": [
                "addField": true, "removeField": true, "addClass": true, "removeClass": true,
                "clearAllDataFromClass": true,
                "exportClass": false, "editClassLevelPermissions": true, "editPointerPermissions": true,
            ],
        ],
        "parseServerVersion": .string(version),
    ])
}
