import Core
import Postgres
import Schema
import Wire

/// The objects of all classes, as one viewer at a time may see and change them.
///
/// One for each worker; it takes connections from that worker's pools.
public final class Store {
    public let catalogue: Catalogue
    public let database: Database
    public let options: StoreOptions

    /// Keys and values that no client may send, whatever it writes.
    public let denylist: KeywordDenylist
    /// What listens to writes. Replaced whole; a write under way goes on with those that it began with.
    public var hooks: Hooks
    /// Those of them that are the server's own: an application may ask that its own be left out.
    public var builtInHooks: Hooks
    /// Of this store's own catalogue.
    let getPlans = GetPlans()
    /// Called on this node for what all nodes are told, once it stands: other nodes hear it from PostgreSQL.
    let onNotice: (_ channel: String, _ payload: String) -> Void

    public init(
        catalogue: Catalogue, database: Database, options: StoreOptions, denylist: KeywordDenylist, hooks: Hooks,
        onNotice: @escaping (_ channel: String, _ payload: String) -> Void
    ) {
        self.catalogue = catalogue
        self.database = database
        self.options = options
        self.denylist = denylist
        self.hooks = hooks
        builtInHooks = hooks
        self.onNotice = onNotice
    }

    /// An operation that a request, or the server itself, begins.
    public func operation(
        as viewer: Viewer, request: RequestInfo = RequestInfo(), context: JSONObject = JSONObject()
    ) -> Operation {
        Operation(self, as: viewer, request: request, context: context, scope: nil, depth: 0)
    }

    /// Changes classes, in the operation's transaction where it has one.
    public func changeSchema<Result>(
        in operation: Operation, _ change: (Catalogue, Transaction?) async throws -> Result
    ) async throws -> Result {
        guard operation.viewer.key == .master else {
            throw ParseError(119, access(operation.viewer).refusal("Only the master key may change classes."))
        }
        return try await change(catalogue, operation.scope?.transaction)
    }

    func access(_ viewer: Viewer) -> Access { Access(viewer: viewer, sanitizesErrors: options.sanitizesErrors) }

    /// Where clients may not make classes, they may not ask which are there either: 119.
    func checkMayAsk(_ className: String, _ viewer: Viewer) throws(ParseError) {
        guard !viewer.isAboveAccess, !options.allowsClientClassCreation, !className.hasPrefix("_") else { return }
        throw ParseError(
            119, access(viewer).refusal("This user is not allowed to access non-existent class: \(className)"))
    }
}
