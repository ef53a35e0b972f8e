import Core
import Postgres
import Schema
import Wire

/// What all operations of one request have in common beside the viewer.
public struct RequestInfo: Sendable {
    /// Of the request, as its line of the log has it; empty for what the server does by itself.
    public var id = ""
    /// The client's address.
    public var address: String?
    /// Its headers, as cloud code is told them; nil where it is told none.
    public var headers: HeaderText?
    /// The languages that the client asks for (`Accept-Language`), as sent.
    public var language: String?
    /// Whether a browser asked for a page: what its code sends in the visitor's name is as if the visitor had sent it.
    public var isForPage = false

    public init() {}
}

/// One operation on its way: who asks, where it runs, what goes along, how deep it is nested, and what is to follow
/// its commit. Whatever runs a statement for it runs it here, so that nothing takes a connection beside it: the parts
/// of a batch, a save within a hook, a session that a sign-up opens.
///
/// Lives on one worker; not `Sendable`.
public final class Operation {
    /// How deep operations may call for one another: a hook that saves, whose hook saves…
    public static let maximumDepth = 16

    public let viewer: Viewer
    public let request: RequestInfo
    /// The viewer's user as hooks are told it, once it has been read for them.
    public var user: JSONObject?
    /// Whether an application's hooks are asked, and its defaults heeded.
    public let asksCloudCode: Bool
    /// What hooks hand to one another: the client's `_context`, then whatever a hook makes of it.
    public var context: JSONObject
    public let depth: Int
    let store: Store
    /// Hashes of passwords that were computed before the transaction was begun.
    private let hashes: HashesAhead
    /// The transaction that this operation is a part of; nil: each statement is committed by itself.
    let scope: TransactionScope?

    init(
        _ store: Store, as viewer: Viewer, request: RequestInfo, context: JSONObject, scope: TransactionScope?,
        depth: Int, hashes: HashesAhead = HashesAhead(), asksCloudCode: Bool = true
    ) {
        self.asksCloudCode = asksCloudCode
        self.store = store
        self.viewer = viewer
        self.request = request
        self.context = context
        self.scope = scope
        self.depth = depth
        self.hashes = hashes
    }

    public var isInTransaction: Bool { scope != nil }

    var hooks: Hooks { asksCloudCode ? store.hooks : store.builtInHooks }

    /// One of several that a batch asks for, in the same transaction: what its hooks make of the context is its own.
    public func part() -> Operation {
        Operation(
            store, as: viewer, request: request, context: context, scope: scope, depth: depth, hashes: hashes,
            asksCloudCode: asksCloudCode)
    }

    /// An operation that this one calls for, in the same transaction, by another viewer perhaps.
    ///
    /// - Throws: 141 past `maximumDepth`: a hook that calls itself again and again.
    /// - Parameters:
    ///   - viewer: in place of this operation's.
    ///   - context: what its hooks are handed, in place of this operation's.
    ///   - request: in place of this operation's.
    ///   - asksCloudCode: false: past the application's own hooks.
    public func nested(
        as viewer: Viewer? = nil, context: JSONObject? = nil, request: RequestInfo? = nil, asksCloudCode: Bool? = nil
    ) throws(ParseError) -> Operation {
        guard depth < Operation.maximumDepth else {
            throw ParseError(
                141, "Hooks call one another more than \(Operation.maximumDepth) deep. One of them saves in a circle.")
        }
        return Operation(
            store, as: viewer ?? self.viewer, request: request ?? self.request, context: context ?? self.context,
            scope: scope, depth: depth + 1, hashes: hashes, asksCloudCode: asksCloudCode ?? self.asksCloudCode)
    }

    /// The same outside its transaction: for what goes on when that has ended.
    public func afterwards() -> Operation {
        guard scope != nil else { return self }
        return Operation(
            store, as: viewer, request: request, context: context, scope: nil, depth: depth,
            asksCloudCode: asksCloudCode)
    }

    /// Runs `body`; when it throws, what it did is undone, and the transaction that this is a part of can go on.
    public func savepoint<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let scope else { return try await body() }
        do { return try await scope.transaction.savepoint(body) } catch {
            store.catalogue.undone(in: scope.transaction)
            throw error
        }
    }

    /// Runs `body` in this operation's transaction, or in one of its own: kept when it returns, undone when it throws.
    ///
    /// A transaction of its own that loses a race runs `body` again from its start: it must bear that. What follows
    /// the commit (`afterCommit`) has been done when this returns.
    public func inTransaction<Result>(_ body: (Operation) async throws -> Result) async throws -> Result {
        if scope != nil { return try await body(self) }
        var scope: TransactionScope?
        let result = try await store.database.transaction { transaction in
            let new = TransactionScope(transaction, timeLimit: store.options.transactionTimeLimit)
            scope = new
            let operation = Operation(
                store, as: viewer, request: request, context: context, scope: new, depth: depth, hashes: hashes,
                asksCloudCode: asksCloudCode)
            let result = try await body(operation)
            context = operation.context
            return result
        }
        if let scope { await scope.committed(store) }
        return result
    }

    /// Does `body` once the operation's changes stand: now, or after the commit of the transaction that it is in.
    func afterCommit(_ body: @escaping () async -> Void) async {
        if let scope { scope.afterCommit.append(body) } else { await body() }
    }

    /// The schema as this operation sees it: what its own transaction has made of it included.
    public func schema() async throws -> SchemaSnapshot {
        try await store.catalogue.snapshot(in: scope?.transaction)
    }

    /// The same, for what is about one class. Where it seems not to be there the database is asked: another node may
    /// have made it and answered its client, who now asks here, sooner than this node hears of it.
    func schema(having className: String) async throws -> SchemaSnapshot {
        let known = try await schema()
        guard known[className] == nil else { return known }
        try await store.catalogue.reload()
        return try await schema()
    }

    // MARK: passwords

    /// Keeps a password's hash, computed while no connection was held, for the write that will need it.
    public func keepHash(_ hash: String, of password: String) { hashes.ready[password, default: []].append(hash) }

    /// A hash that was computed ahead, each given out once.
    public func takeHash(of password: String) -> String? { hashes.ready[password]?.popLast() }

    /// What a provider's data have been shown to stand for, so that they need not be shown twice: a code works once.
    public func keepProof(_ id: String, of data: String) { hashes.proofs[data] = id }

    public func proof(of data: String) -> String? { hashes.proofs[data] }

    /// The worker's, where it runs.
    public var loop: Loop { store.database.loop }

    // MARK: statements

    /// Runs a statement that changes something. Of the classes' tables only the path of writes changes anything.
    package func write(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows {
        try scope?.checkTime()
        if let scope { return try await scope.transaction.execute(statement, parameters) }
        return try await store.database.write(statement, parameters)
    }

    /// Runs the statement that writes one object. By itself it may share its commit with other such writes.
    func writeObject(
        _ statement: Statement, _ parameters: [Parameter], _ className: String, _ objectId: String
    ) async throws -> Rows {
        guard scope == nil else { return try await write(statement, parameters) }
        // FNV-1a: the same on all nodes.
        var key: UInt64 = 0xcbf2_9ce4_8422_2325
        for text in [className, objectId] {
            for byte in text.utf8 { key = (key ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return try await store.database.writeRow(statement, parameters, key: key)
    }

    /// Tells all nodes, this one included, once the change stands.
    func notify(channel: String, payload: String) async throws {
        _ = try await write(Operation.notification, [.text(channel), .text(payload)])
        // Others of this node may have read, and remembered, what stood before: they forget it before the answer.
        await afterCommit { [store] in store.onNotice(channel, payload) }
    }

    private static let notification: Statement = "SELECT pg_notify($1, $2)"
}

extension Operation: StatementReader {
    public func read(_ statement: Statement, _ parameters: [Parameter]) async throws -> Rows {
        try scope?.checkTime()
        if let scope { return try await scope.transaction.execute(statement, parameters) }
        return try await store.database.read(statement, parameters)
    }

    /// Runs several that read, whose order is all the same: sent together where that can be.
    func readAll(_ statements: [(statement: Statement, parameters: [Parameter])]) async throws -> [Rows] {
        guard scope != nil else { return try await store.database.readAll(statements) }
        var all: [Rows] = []
        for (statement, parameters) in statements { all.append(try await read(statement, parameters)) }
        return all
    }
}

/// What the operations of one transaction share.
final class TransactionScope {
    let transaction: Transaction
    var afterCommit: [() async -> Void] = []

    /// On the monotonic clock, in nanoseconds; what has not been sent by then is not sent any more.
    private let deadline: UInt64
    private let timeLimit: Double

    init(_ transaction: Transaction, timeLimit: Double) {
        self.transaction = transaction
        self.timeLimit = timeLimit
        deadline = Loop.monotonicNow() &+ UInt64(timeLimit * 1e9)
    }

    /// - Throws: 102 when the transaction has taken its time: others wait for what it has locked.
    func checkTime() throws(ParseError) {
        guard Loop.monotonicNow() > deadline else { return }
        throw ParseError(
            102, "The transaction took longer than \(Int(timeLimit)) s, so it was undone. Do less in one of them.")
    }

    /// Called once the transaction stands.
    fileprivate func committed(_ store: Store) async {
        store.catalogue.committed(transaction)
        // What follows may ask for more of the same.
        var next = 0
        while next < afterCommit.count {
            await afterCommit[next]()
            next += 1
        }
        afterCommit = []
    }
}

/// What was worked out ahead of the writes that need it.
final class HashesAhead {
    /// By password.
    var ready: [String: [String]] = [:]
    /// Of providers' data, the ids.
    var proofs: [String: String] = [:]
}
