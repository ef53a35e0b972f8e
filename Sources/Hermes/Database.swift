internal import Cloud
internal import Wire

/// The server's objects, users, functions and jobs, as seen by somebody's rights.
///
/// A request has two: ``Request/asCaller`` may do what whoever sent the request may do, ``Request/asMaster`` may do
/// everything. There is no third that would be taken by default: each line of an application says by whose rights it
/// reads and writes.
///
/// What is asked for takes the way of a client's request, hooks included, without a connection. In a hook that is
/// registered with `in: .transaction`, and in ``transaction(_:)``, it belongs to the transaction. Errors are those that a
/// client would get, as ``ParseError``; `CancellationError` where the client has gone or the time is up.
public struct Database: Sendable {
    let caller: any CloudCaller
    /// Of all that come from one call of cloud code.
    let root: ObjectIdentifier
    private let authority: CloudRequest.Authority
    private var context = JSONObject()
    private var installationId: String?
    var asksHooks = true

    init(_ caller: any CloudCaller, root: ObjectIdentifier, as authority: CloudRequest.Authority) {
        self.caller = caller
        self.root = root
        self.authority = authority
    }

    // MARK: whose rights

    /// The same as the master key has it.
    public var asMaster: Database { by(.master) }

    /// The same by the rights of whoever sent the request.
    public var asCaller: Database { by(.caller) }

    /// The same by nobody's rights: what a client without a session may do.
    public var asNobody: Database { by(.nobody) }

    /// The same by the rights of a session, as ``logIn(username:password:authData:as:)`` answers it.
    public func asSession(_ token: String) -> Database { by(.session(token)) }

    /// The same, with something for the hooks that are called: their ``Request/context``.
    public func with(context: [String: Value]) -> Database {
        var database = self
        database.context = context.jsonObject
        return database
    }

    /// The same, as if it came from a device.
    public func with(installationId: String) -> Database {
        var database = self
        database.installationId = installationId
        return database
    }

    private func by(_ authority: CloudRequest.Authority) -> Database {
        var database = Database(caller, root: root, as: authority)
        database.context = context
        database.installationId = installationId
        database.asksHooks = asksHooks
        return database
    }

    // MARK: transactions

    /// Runs `body`, and keeps or undoes as one all that is asked for within: kept when it returns, undone when it throws.
    ///
    /// Whatever `body` asks of the request counts as within, through the database that it is given or through the
    /// request's own. In a transaction already, it is a part of that one, and undone alone when it throws.
    ///
    /// A transaction that meets another one in a deadlock is begun anew: `body` runs again from its start, so it should
    /// change nothing but the database. It may take 60 s (less, where the hook's own time is up before) and holds what
    /// it has written from others until it ends: do what takes long before it.
    @discardableResult
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (Database) async throws -> Result
    ) async throws -> Result {
        let outer = self
        do {
            return try await way.transaction { inner in
                var database = Database(inner, root: outer.root, as: outer.authority)
                database.context = outer.context
                database.installationId = outer.installationId
                database.asksHooks = outer.asksHooks
                let given = database
                return try await OpenTransaction.$current.withValue(OpenTransaction(root: outer.root, caller: inner)) {
                    try await body(given)
                }
            }
        } catch let error as Wire.ParseError { throw ParseError(error) }
    }

    /// Through the transaction that is open around this line, if it is one of the same call.
    private var way: any CloudCaller {
        guard let open = OpenTransaction.current, open.root == root else { return caller }
        return open.caller
    }

    // MARK: requests

    @discardableResult
    func send(_ method: String, _ path: [String], _ body: JSONObject = JSONObject()) async throws -> JSON {
        var request = CloudRequest(
            method, path.map(\.percentEncoded).joined(separator: "/"), body: body, as: authority, context: context,
            installationId: installationId)
        request.asksHooks = asksHooks
        let asked = request
        do { return try await way.send(asked).body } catch let error as Wire.ParseError { throw ParseError(error) }
    }
}

/// The transaction that a task runs in.
private struct OpenTransaction: Sendable {
    @TaskLocal static var current: OpenTransaction?
    let root: ObjectIdentifier
    let caller: any CloudCaller
}

extension String {
    /// As a segment of a path.
    var percentEncoded: String {
        let plain: (UInt8) -> Bool = { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        if utf8.allSatisfy(plain) { return self }
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in utf8 {
            if plain(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
