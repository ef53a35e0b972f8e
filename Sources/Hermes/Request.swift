internal import Cloud
internal import Core
internal import Synchronization
internal import Wire

/// What every hook, function and job is told, and what it may do.
public protocol Request: Sendable {
    /// What it was called with; everything that follows is read from it.
    var details: RequestDetails { get }
}

extension Request {
    /// The request came with the master key.
    public var isMaster: Bool { details.call.payload["master"]?.bool == true }

    /// The user whose session the request came with: which one. The object itself, ``fetchUser(as:)`` reads. nil for
    /// whoever has no session, and for the master key.
    public var user: Pointer<User>? { details.call.userId.map { Pointer($0) } }

    /// The same for an application's own description of its users.
    public func user<Fields: ParseObject>(as type: Fields.Type) -> Pointer<Fields>? { user?.typed(type) }

    /// The same where there must be one.
    ///
    /// - Throws: 142 where there is none.
    public func requireUser<Fields: ParseObject>(as type: Fields.Type = User.self) throws -> Pointer<Fields> {
        guard let user: Pointer<Fields> = user?.typed(type) else {
            throw ParseError(142, "Validation failed. Please login to continue.")
        }
        return user
    }

    /// Reads the user as it sees itself. nil where there is none.
    public func fetchUser<Fields: ParseObject>(as type: Fields.Type = User.self) async throws -> Record<Fields>? {
        guard let user = user(as: type) else { return nil }
        return try await asCaller.fetch(user)
    }

    /// The names of the user's roles, those included that roles bring along.
    public var roles: [String] { details.call.roles }

    /// Whether the user has a role, by itself or through another one.
    public func hasRole(_ name: String) -> Bool { roles.contains(name) }

    /// What clients and hooks hand to one another: what is set before a save is there behind it. Clients send it as
    /// `X-Parse-Cloud-Context`; so do not trust it.
    public var context: [String: Value] {
        get { Value(details.context).object ?? [:] }
        nonmutating set { details.context = newValue.jsonObject }
    }

    /// The client's headers, by their names in lower case, without master key and maintenance key. Empty for what cloud
    /// code asks for.
    public var headers: [String: String] {
        let call = details.call
        let headers = call.headers?.members ?? call.payload["headers"]?.object ?? JSONObject()
        return Dictionary(headers.members.map { ($0.key, $0.value.string ?? "") }, uniquingKeysWith: { $0 + ", " + $1 })
    }

    /// The client's address.
    public var address: String? { details.call.payload["ip"]?.string }

    /// The client's device, if it tells one; `cloud` for the master key without one.
    public var installationId: String? { details.call.payload["installationId"]?.string }

    /// Of the request, as the server's log has it.
    public var requestId: String { details.call.requestId }

    /// Writes lines that carry the hook's name and the request's id.
    public var log: RequestLog { RequestLog(name: details.name, requestId: details.call.requestId) }

    /// Reads and writes by the rights of whoever sent the request.
    public var asCaller: Database { details.database(.caller) }

    /// Reads and writes without limits.
    public var asMaster: Database { details.database(.master) }

    /// Keeps or undoes as one what is asked for within: see ``Database/transaction(_:)``. What the body is given has the
    /// rights of whoever sent the request; `t.asMaster` has all.
    @discardableResult
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (Database) async throws -> Result
    ) async throws -> Result {
        try await asCaller.transaction(body)
    }
}

/// What a call of cloud code came with.
public final class RequestDetails: Sendable {
    let call: CloudCall
    /// The hook's, for the log.
    let name: String
    private let changedContext = Mutex<JSONObject?>(nil)

    init(_ call: CloudCall, name: String) {
        self.call = call
        self.name = name
    }

    var context: JSONObject {
        get { changedContext.withLock { $0 } ?? call.payload["context"]?.object ?? JSONObject() }
        set { changedContext.withLock { $0 = newValue } }
    }

    func database(_ authority: CloudRequest.Authority) -> Database {
        Database(call.caller, root: ObjectIdentifier(self), as: authority)
    }

    /// An answer, with what became of the context.
    func answer(_ body: JSON? = nil) -> CloudAnswer { CloudAnswer(body, context: changedContext.withLock { $0 }) }
}

/// The server's log, for one call of cloud code.
public struct RequestLog: Sendable {
    let name: String
    let requestId: String

    /// For who looks for a fault; off unless `logLevel` is debug.
    public func debug(_ message: @autoclosure () -> String, _ values: @autoclosure () -> [String: Value] = [:]) {
        write(.debug, message, values)
    }
    /// What is worth knowing.
    public func info(_ message: @autoclosure () -> String, _ values: @autoclosure () -> [String: Value] = [:]) {
        write(.info, message, values)
    }
    /// What somebody should look at.
    public func warning(_ message: @autoclosure () -> String, _ values: @autoclosure () -> [String: Value] = [:]) {
        write(.warning, message, values)
    }
    /// What did not work.
    public func error(_ message: @autoclosure () -> String, _ values: @autoclosure () -> [String: Value] = [:]) {
        write(.error, message, values)
    }

    private func write(_ level: Log.Level, _ message: () -> String, _ values: () -> [String: Value]) {
        guard Log.shared.isEnabled(level) else { return }
        let values = values()
        if values.isEmpty {
            Log.shared.log(level, message(), ["hook": .text(name), "id": .text(requestId)])
        } else {
            let text = String(decoding: JSON.object(values.jsonObject).bytes, as: UTF8.self)
            Log.shared.log(
                level, message(), ["hook": .text(name), "id": .text(requestId), "values": .text(text)])
        }
    }
}
