import Core
import Wire

/// One call of cloud code: what a hook, a function or a job is given, whoever provides it.
public struct CloudCall: Sendable {
    /// What the code is told, as JSON in the reference's form for webhooks:
    /// - all: `master`, `isReadOnly`, `user` (without its session's token), `installationId`, `ip`, `context`
    /// - triggers: `triggerName`, `className`; of objects `object` and `original`, each with its `className` (before a
    ///   save `object` holds the original with what is to be changed over it, operations as `__op`, and is told only
    ///   where `CloudHandler.needsObject`, else a new one's `objectId` if the client has chosen it; after it, see
    ///   `result`); of finds `query` (`where`, `limit`, `skip`, `order`, `include`, `keys`, `excludeKeys`), `isGet`,
    ///   `count`, and behind them `objects`
    /// - functions: `functionName`, `params`
    /// - jobs: `jobName`, `jobId`, `params`, `headers`
    /// - pages: `method`, `path`, `arguments`, `query`, `form`, `cookies`
    public var payload: JSONObject
    /// The client's; nil for what cloud code asks for.
    public var headers: HeaderText?
    /// Before a save: what is to be written alone, operations as `__op`. (`object` holds it over what was there.)
    public var changes: JSONObject?
    /// After a save: the payload's `object`, with final values, as JSON text. Not every hook looks into it.
    public var result: [UInt8]?
    /// Before a save: the object's id, which a new one is going to have.
    public var objectId: String?
    /// Before a save of a user: a new password goes with it, which cloud code never meets.
    public var hasPassword = false
    /// The token of the session that asks; nil for whoever has none.
    public let sessionToken: String?
    /// Whose session that is, and the names of the roles that this user has.
    public var userId: String?
    public var roles: [String] = []
    /// The request's, as lines of the log have it; empty for what the server does by itself.
    public var requestId = ""
    /// The languages that the client asks for (`Accept-Language`), as sent.
    public var languages: String?
    /// Under which clients reach the API: `https://example.com/parse`.
    public var publicURL = ""
    /// What clients send as `X-Parse-Application-Id`.
    public var appId = ""
    /// The way back: what the code reads and writes.
    public let caller: any CloudCaller
    /// Of a job: keeps a line about how far it is.
    public let report: (@Sendable (String) async throws -> Void)?
    /// The wait for the call's end, which ends with an error at the call's limit. One wait: a call is run once.
    public let waiter = Waiter()

    public init(
        payload: JSONObject, changes: JSONObject? = nil, sessionToken: String?, caller: any CloudCaller,
        report: (@Sendable (String) async throws -> Void)? = nil
    ) {
        self.payload = payload
        self.changes = changes
        self.sessionToken = sessionToken
        self.caller = caller
        self.report = report
    }

    /// The payload with what is kept beside it as text.
    public var wholePayload: JSONObject {
        var whole = payload
        if let headers { whole["headers"] = .object(headers.members) }
        if let object = resultObject { whole["object"] = .object(object) }
        return whole
    }

    /// What `result` says.
    public var resultObject: JSONObject? {
        guard let result else { return nil }
        // A dotted path may have put a value as deep as a body can be below others. Seldom: and the parser makes its room
        // anew for another depth.
        return
            ((try? JSONParser.parse(result))
            ?? (try? JSONParser.parse(result, maxDepth: 2 * JSONParser.defaultDepth)))?.object
    }
}

/// What cloud code answers.
public struct CloudAnswer: Sendable {
    /// nil: it changes nothing.
    /// - beforeSave: `{"object": {…}}`, which replaces all that was to be written (operations as `__op`); beside it
    ///   `"takenBack": […]`, fields of the client's whose own values it is to be shown instead
    /// - afterSave: `{"object": {…}}`, the client's answer; or `{"fields": {…}}`, which the answer shows beside its own
    /// - beforeFind: `{"query": {…}}`, or `{"objects": […]}`, which are found instead
    /// - afterFind: `{"objects": […]}`
    /// - accountExport: `{"data": …}`, which goes with the export
    /// - a function: its result
    /// - a page: its text
    /// - a job: its last message, a text
    public var body: JSON?
    /// Of a function: its result as JSON text, in place of `body`, by who has it as text.
    public var text: [UInt8]?
    /// What the call's context has become; nil: as it was.
    public var context: JSONObject?
    /// Of a function: the status and headers that it asks for.
    public var status: Int?
    public var headers: [(name: String, value: String)] = []

    public init(_ body: JSON? = nil, context: JSONObject? = nil) {
        self.body = body
        self.context = context
    }
}

/// How cloud code reads and writes: requests to the API of the server that it runs in, without a connection. They go
/// the way of every request, in the transaction of the operation that called the code, if it is in one.
public protocol CloudCaller: Sendable {
    /// Answers what a client would get for the request.
    /// - Throws: `ParseError` for what a client would get as an error.
    func send(_ request: CloudRequest) async throws -> CloudResponse

    /// Runs `body` with a caller whose requests are one transaction: kept when it returns, undone when it throws.
    ///
    /// Within a transaction it is a part of that one, undone alone when it throws. Otherwise a transaction that loses
    /// a race runs `body` again from its start: it must bear that. `body` runs on `CodeThreads`.
    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (any CloudCaller) async throws -> Result
    ) async throws -> Result
}

extension CloudCaller {
    /// Whoever stands in for a server has no transactions.
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (any CloudCaller) async throws -> Result
    ) async throws -> Result {
        throw ParseError(108, "There are no transactions here.")
    }
}

public struct CloudRequest: Sendable {
    /// By whose rights.
    public enum Authority: Sendable, Equatable {
        /// Nobody's: what any client without a session may do.
        case nobody
        case master
        /// Those of a session.
        case session(String)
        /// Those of who called the code.
        case caller
    }

    public var method: String
    /// Below the mount path, its segments percent-encoded: `classes/Temas/x1`.
    public var path: String
    /// The JSON body; of a GET its parameters (`where` as an object).
    public var body: JSONObject
    public var authority: Authority
    /// For the hooks that the request calls.
    public var context: JSONObject
    /// In place of the caller's.
    public var installationId: String?
    /// Whether the application's own hooks are asked, and its defaults heeded.
    public var asksHooks = true

    public init(
        _ method: String, _ path: String, body: JSONObject = JSONObject(), as authority: Authority = .nobody,
        context: JSONObject = JSONObject(), installationId: String? = nil
    ) {
        self.method = method
        self.path = path
        self.body = body
        self.authority = authority
        self.context = context
        self.installationId = installationId
    }
}

public struct CloudResponse: Sendable {
    public let status: Int
    public let headers: [(name: String, value: String)]
    public let body: JSON

    public init(status: Int, headers: [(name: String, value: String)] = [], body: JSON) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
