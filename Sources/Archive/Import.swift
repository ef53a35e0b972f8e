import Core
import Glibc
import Postgres
import Schema
import Store
import Wire

/// Brings an export of Parse's into the database: by COPY, in transactions of some ten thousand objects, each of which
/// also says how far the file is, so that an import can be stopped and taken up again. Objects keep ids and dates.
///
/// Classes and fields that are not there are made, by the types of the first values. An object that does not fit is
/// refused alone.
public struct Import: Sendable {
    public var place: DatabasePlace
    /// As the option `hashSessionTokens` says; nil: as the database does.
    public var hashesSessionTokens: Bool?
    /// Where what is refused is written, if anything is.
    public var reportPath: String
    /// Forgets how far an earlier import of the same files was.
    public var startsAnew = false

    public init(place: DatabasePlace, reportPath: String) { (self.place, self.reportPath) = (place, reportPath) }

    /// What came of one file.
    public struct Outcome: Sendable {
        public let name: String
        public let path: String
        /// Objects, earlier runs of the same import included.
        public let imported: Int
        public let refused: Int
        /// Why the rest of the file could not be read.
        public let failure: String?
        /// What else is to be said of it.
        public let remarks: [String]
    }

    /// - Throws: `ArchiveFailure`, `PostgresError`; `Interrupted`, after which the same import goes on where it was.
    public func read(_ sources: [ImportSource], _ progress: Progress) async throws -> [Outcome] {
        try await LongWork.run("What was imported stays. Run the same command again: it goes on behind it.") {
            _, loop in
            let opened = try place.openOrMake()
            defer { opened.close() }
            var configuration = DatabaseConfiguration.forLongWork(opened.conninfo, name: "import")
            configuration.settings["maintenance_work_mem"] = "256MB"
            let database = Database(loop: loop, configuration: configuration)
            do {
                let outcomes = try await run(sources, database, progress)
                await database.close()
                progress.end()
                return outcomes
            } catch {
                await database.close()
                progress.end()
                throw error
            }
        }
    }

    private func run(
        _ sources: [ImportSource], _ database: Database, _ progress: Progress
    ) async throws -> [Outcome] {
        _ = try await Migrator().run(database)
        let settings = try await DatabaseSettings(database)
        let catalogue = Catalogue(database: database, cache: SchemaCache())
        try await ImportState.prepare(database)
        let files = try sources.map { source in
            let file = try ObjectFile(source.path)
            return (source: source, file: file, fingerprint: try file.fingerprint())
        }
        let milliseconds = try await database.write("SELECT (extract(epoch FROM now()) * 1000)::bigint").int(0, 0)
        var states: [ImportState] = []
        for (source, _, fingerprint) in files {
            if startsAnew { try await ImportState.forget(source.name, fingerprint, database) }
            states.append(try await ImportState.load(source.name, fingerprint, database))
        }
        let report = RefusalReport(reportPath, isContinued: states.contains { $0.place != nil })
        var outcomes: [Outcome] = []
        var schemas = ImportedSchemas()
        for ((source, file, fingerprint), state) in zip(files, states) {
            if source.content == .schemas {
                schemas = try ImportedSchemas(file)
                try await schemas.make(catalogue)
                continue
            }
            let load = FileLoad(
                source: source, file: file, fingerprint: fingerprint, state: state, database: database,
                catalogue: catalogue, report: report,
                now: Wire.Timestamp(milliseconds: milliseconds),
                hashesTokens: hashesSessionTokens ?? settings.hashesSessionTokens)
            outcomes.append(try await load.run(progress))
        }
        try await schemas.makeIndexes(catalogue)
        if let (source, _, _) = files.first(where: { $0.source.content == .schemas }) {
            outcomes.insert(
                Outcome(
                    name: source.name, path: source.path, imported: schemas.count, refused: 0, failure: nil,
                    remarks: schemas.remarks), at: 0)
        }
        // What servers remember of sessions and roles may be wrong now.
        try await database.notify(channel: AccessChange.channel, payload: AccessChange.everything.payload)
        // Done as a whole: the next import of these files is a new one.
        for (source, _, fingerprint) in files { try await ImportState.forget(source.name, fingerprint, database) }
        try await ImportState.tidy(database)
        return outcomes
    }
}
