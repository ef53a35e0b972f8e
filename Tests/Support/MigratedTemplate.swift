import Core
import Postgres
import Schema

extension TestDatabase {
    /// Gives a database all of the server's own classes and tables.
    public static func migrate(_ conninfo: String) async throws {
        let worker = Worker(name: "migrate")
        let failure = await worker.run { _, loop -> (any Error)? in
            let database = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
            var failure: (any Error)?
            do { _ = try await Migrator().run(database) } catch { failure = error }
            await database.close()
            return failure
        }
        await worker.stop()
        if let failure { throw failure }
    }
}

extension TestDatabase.Template {
    /// With all of the server's own classes and tables.
    public static let migrated = TestDatabase.Template("migrated") { try await TestDatabase.migrate($0) }
}
