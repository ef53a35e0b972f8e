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

    func access(_ viewer: Viewer) -> Access { Access(viewer: viewer, sanitizesErrors: options.sanitizesErrors) }

    /// Where clients may not make classes, they may not ask which are there either: 119.
    func checkMayAsk(_ className: String, _ viewer: Viewer) throws(ParseError) {
        guard !viewer.isAboveAccess, !options.allowsClientClassCreation, !className.hasPrefix("_") else { return }
        throw ParseError(
            119, access(viewer).refusal("This user is not allowed to access non-existent class: \(className)"))
    }

    /// The class, if clients may name it at all.
    ///
    /// Throws 103 for a name that no class can have, 119 for the server's own classes.
    func checkReachable(_ className: String, _ viewer: Viewer) throws(ParseError) {
        try Names.checkClass(className)
        guard !viewer.isAboveAccess else { return }
        if DefaultFields.closedSystemClasses.contains(className) || Names.isJoinClass(className) {
            throw ParseError(
                119, access(viewer).refusal("Clients aren't allowed to perform that operation on \(className)."))
        }
    }
}
