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

    public init(catalogue: Catalogue, database: Database, options: StoreOptions) {
        self.catalogue = catalogue
        self.database = database
        self.options = options
    }

    /// Reads what a create or an update of a class asks for.
    public func parseUpdate(_ className: String, _ body: JSONObject, creating: Bool) async throws -> Update {
        let fields = try await catalogue.snapshot()[className]?.fields
        return try Update.parse(body, creating: creating) { fields?[$0]?.type }
    }

    func access(_ viewer: Viewer) -> Access { Access(viewer: viewer, sanitizesErrors: options.sanitizesErrors) }

    /// Where clients may not make classes, they may not ask which are there either: 119.
    func checkMayAsk(_ className: String, _ viewer: Viewer) throws(ParseError) {
        guard !viewer.isAboveAccess, !options.allowsClientClassCreation, !className.hasPrefix("_") else { return }
        throw ParseError(
            119, access(viewer).refusal("This user is not allowed to access non-existent class: \(className)"))
    }
}
