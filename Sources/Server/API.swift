import Accounts
import Cloud
import Core
import HTTP
import Mail
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
    let routes: RouteTable
    let errors: ErrorAnswer
    private let identification: Identification
    private let pages: PageRoutes
    private let cors: CORS
    private(set) lazy var cloud = CloudDispatch(self, registry, timeLimit: options.cloudTimeLimit)
    private let registry: CloudRegistry
    let hookTable: HookTable
    let globalConfig: GlobalConfig
    let presence: Presence
    /// nil where no SMTP server is told (`email.smtp`).
    let mailer: Mailer?

    init(
        options: ServerOptions, accounts: Accounts, routes: RouteTable = .standard, registry: CloudRegistry,
        hookTable: HookTable, globalConfig: GlobalConfig, mailer: Mailer?, ownPages: OwnPages?,
        presence: Presence = Presence()
    ) {
        self.presence = presence
        self.options = options
        self.accounts = accounts
        self.store = accounts.store
        errors = ErrorAnswer(schema: accounts.store.catalogue.cache)
        self.routes = routes
        self.registry = registry
        self.hookTable = hookTable
        self.globalConfig = globalConfig
        self.mailer = mailer
        identification = Identification(options: options)
        pages = PageRoutes(options: options, accounts: accounts, ownPages: ownPages)
        cors = CORS(options)
        accounts.language = { [unowned self] userId, operation in try await cloud.language(of: userId, in: operation) }
    }

    // MARK: the path of a request

    /// Answers any request below the mount path.
    ///
    /// - Parameters:
    ///   - client: where it comes from.
    ///   - user: set to whose session came with it.
    func answer(_ http: HTTPRequest, path: [String], client: String, user: inout String?) async -> Answer {
        var answer: Answer
        do {
            answer = try await serve(http, path, client, &user)
        } catch {
            let isDefect: Bool
            (answer, isDefect) = errors.answer(error)
            if isDefect {
                Log.shared.error(
                    "a request failed",
                    ["id": .text(http.id), "method": .text(http.method), "path": .text(http.path), "error": "\(error)"])
            }
        }
        answer.headers += cors.headers(origin: cors.asksForOrigin ? http.header("Origin") : nil)
        if !answer.headers.contains(where: { $0.0 == "Content-Type" }) {
            answer.headers.append(("Content-Type", "application/json; charset=utf-8"))
        }
        // Who asks decides what the answer holds, and HTTP's caches don't look at the session's token. Left without
        // this header, Foundation's on Linux even answers one query with what another one of the same class found.
        answer.headers.append(("Cache-Control", "private, no-cache"))
        return answer
    }

    /// How the body of a request comes, from its head alone.
    func bodyMode(_ http: HTTPRequest, _ path: [String]) -> HTTPRequest.BodyMode {
        routes.match(http.method, path)?.route.body == .stream ? .streamed(limit: nil) : .collected(limit: nil)
    }

    private func serve(
        _ http: HTTPRequest, _ path: [String], _ client: String, _ user: inout String?
    ) async throws -> Answer {
        if http.method == "OPTIONS" { return Answer(body: []) }
        cloud.refresh()
        if path.first?.lowercased() == "health" { return Answer(json: ["status": "ok"]) }
        if let page = try await pages.answer(
            http, path, client: client, accountPages: cloud.code.accountPages)
        {
            return page
        }
        // Identify.
        var method = http.method == "HEAD" ? "GET" : http.method
        let asSent = routes.match(method, path)
        var body = try RequestBody.members(http, as: asSent?.route.body ?? .object)
        var caller = try identification.identify(http, method: &method, body: &body)
        caller.client = client
        try checkAllowed(path, caller)
        let match = method == http.method ? asSent : routes.match(method, path)
        let ignoresSession = match?.route.ignoresSession == true
        let counted = RateLimits.Counted(method: method, path: path, ignoresSession: ignoresSession)
        let viewer: Viewer
        do { viewer = try await self.viewer(caller, ignoringSession: ignoresSession) } catch {
            // Who invents sessions is counted all the same.
            try await cloud.rateLimits.check([counted], caller, nil, store)
            throw error
        }
        try await cloud.rateLimits.check([counted], caller, viewer, store)
        if cloud.code.notesPresence { await presence.note(viewer, store.database) }
        user = viewer.userId
        guard let match else {
            throw ParseError(nil, "There is no route \(method) /\(path.joined(separator: "/")).", status: 404)
        }
        // Parse.
        var parameters = RequestBody.parameters(http.query, as: match.route.body)
        if method == "GET", !body.isEmpty { parameters += body.members }
        var info = RequestInfo()
        info.id = http.id
        info.address = client
        info.language = http.header("Accept-Language")
        if !cloud.code.isEmpty { info.headers = CloudDispatch.headers(http) }
        var request = Request(
            method: method, path: path, arguments: match.arguments, parameters: parameters, body: body, caller: caller,
            operation: store.operation(as: viewer, request: info, context: caller.context))
        if match.route.body == .stream { request.nextChunk = { try await http.nextChunk() } }
        try await checkIdempotency(request)
        // Plan, run, write.
        return try await run(match.route, request)
    }

    /// Whether a request shows an operator's key.
    func isOperator(_ http: HTTPRequest) -> Bool { identification.isOperator(http) }

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

    /// Takes a route, once it is certain that the caller may. A part of a batch comes by here as well.
    func run(_ route: Route, _ request: Request) async throws -> Answer {
        let viewer = request.viewer
        switch route.gate {
        case .anybody: break
        case .master where !viewer.isMaster:
            throw ParseError(nil, refusal("unauthorized: master key is required"), status: 403)
        case .masterByCode where !viewer.isMaster:
            throw ParseError(119, refusal("master key is required"))
        case .master, .masterByCode: break
        }
        if route.writes, viewer.key == .readOnlyMaster {
            let status = route.body == .stream ? 403 : nil
            throw ParseError(
                status == nil ? 119 : nil, refusal("The read-only master key cannot change anything."), status: status)
        }
        return try await route.handler(self, request)
    }
}

/// The JSON and the parameters of a request.
enum RequestBody {
    static func members(_ request: HTTPRequest, as body: Route.Body) throws(ParseError) -> JSONObject {
        switch body {
        case .stream, .none: return JSONObject()
        case .object: return try object(request)
        case .fields:
            let type = request.header("Content-Type") ?? ""
            guard let boundary = MultipartForm.boundary(type) else { return try object(request) }
            return try MultipartForm.fields(request.body, boundary: boundary)
        }
    }

    /// The members of the body: JSON whatever the content type says, but for forms.
    private static func object(_ request: HTTPRequest) throws(ParseError) -> JSONObject {
        guard !request.body.isEmpty else { return JSONObject() }
        if let type = request.header("Content-Type")?.lowercased(),
            type.hasPrefix("application/x-www-form-urlencoded")
        {
            return JSONObject(pairs(String(decoding: request.body, as: UTF8.self)).map { ($0.0, .string($0.1)) })
        }
        switch try JSONParser.parse(request.body) {
        case .object(let object): return object
        case .array(let list) where list.isEmpty: return JSONObject()
        case .array: throw ParseError(107, "The body must be a JSON object, not a list.")
        default: throw ParseError(nil, "The body must be a JSON object.", status: 400)
        }
    }

    /// - Parameter query: what follows the `?`.
    static func parameters(_ query: (some StringProtocol)?, as body: Route.Body) -> [(key: String, value: JSON)] {
        guard let query, !query.isEmpty else { return [] }
        let pairs = pairs(String(query))
        guard case .fields = body else { return Query.parameters(fromURL: pairs) }
        return pairs.map { ($0.0, .string($0.1)) }
    }

    /// `a=1&b=2`, decoded.
    static func pairs(_ text: String) -> [(String, String)] {
        let decode = { (side: Slice<UnsafeBufferPointer<UInt8>>) in
            let side = UnsafeBufferPointer(rebasing: side)
            return String(percentDecoding: side, plusIsSpace: true) ?? String(decoding: side, as: UTF8.self)
        }
        var text = text
        return text.withUTF8 { bytes in
            bytes.split(separator: UInt8(ascii: "&")).map { part in
                guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (decode(part), "") }
                return (decode(part[..<equals]), decode(part[(equals + 1)...]))
            }
        }
    }
}

/// `/serverInfo`: what dashboards ask to know what a server can do.
enum ServerInfo {
    static let version = "9.10.0"

    static var answer: Answer {
        Answer(json: [
            "features": [
                "globalConfig": ["create": true, "read": true, "update": true, "delete": true],
                "hooks": ["create": true, "read": true, "update": true, "delete": true],
                "cloudCode": ["jobs": true],
                "logs": ["level": true, "size": true, "order": true, "until": true, "from": true],
                "push": [
                    "immediatePush": false, "scheduledPush": false, "storedPushData": false, "pushAudiences": false,
                ],
                "schemas": [
                    "addField": true, "removeField": true, "addClass": true, "removeClass": true,
                    "clearAllDataFromClass": true,
                    "exportClass": false, "editClassLevelPermissions": true, "editPointerPermissions": true,
                ],
            ],
            "parseServerVersion": .string(version),
        ])
    }
}
