import Core
import Glibc
import Options
import Postgres
import Schema
import Server

extension Doctor {
    /// PostgreSQL: the private cluster's, running or not, or the one that the options name.
    mutating func checkDatabase(_ options: ServerOptions) async {
        if let uri = options.databaseURI { return await checkServer(uri, options, whereToLook: "--database-url") }
        let cluster = options.dataFolder + "/postgres"
        do {
            let version = (try? TextFile.read(cluster + "/PG_VERSION")).flatMap { Int($0.prefix { $0.isNumber }) }
            let binaries = try PostgresBinaries.find(majorVersion: version)
            good("PostgreSQL", "programs of version \(binaries.majorVersion) in \(binaries.folder)")
        } catch {
            return bad("PostgreSQL", "\(error)", "apt install postgresql, or tell --database-url")
        }
        guard access(cluster + "/PG_VERSION", F_OK) == 0 || errno == EACCES else {
            return doubtful("database", "the private cluster is not there yet", "the first hermes serve makes it")
        }
        if let folder = Self.socketFolder(cluster) {
            return await checkServer(
                "host='\(folder)' port=5432 user=postgres dbname=\(PrivateDatabase.name)", options,
                whereToLook: options.dataFolder + "/postgres.log")
        }
        do {
            // Nobody uses it: started for the time of a look.
            let server = try PrivateCluster.start(PrivateCluster.Options(dataFolder: options.dataFolder))
            await checkServer(
                server.conninfo(database: PrivateDatabase.name), options,
                whereToLook: options.dataFolder + "/postgres.log")
            server.stop()
        } catch {
            bad("database", "the private cluster does not start: \(error)", "see \(options.dataFolder)/postgres.log")
        }
    }

    /// The folder of a running cluster's socket.
    static func socketFolder(_ cluster: String) -> String? { PrivateCluster.socketFolder(ofRunning: cluster) }

    private struct Answer: Sendable {
        var fitness: DatabaseFitness
        /// How many connections are left.
        var available: Int
        /// Milliseconds that its clock is ahead of ours.
        var skew: Int
        var migrations: Migrator.State
    }

    private mutating func checkServer(_ conninfo: String, _ options: ServerOptions, whereToLook: String) async {
        let worker = Worker(name: "doctor")
        do {
            let answer = try await worker.run { _, loop in
                var configuration = DatabaseConfiguration(conninfo)
                configuration.waitBound = .seconds(5)
                let database = Database(loop: loop, configuration: configuration)
                do {
                    let answer = try await Self.ask(database)
                    await database.close()
                    return answer
                } catch {
                    await database.close()
                    throw error
                }
            }
            judge(answer, options)
        } catch let error as PostgresError where error.sqlState == "3D000" && options.databaseURI == nil {
            doubtful("database", "the private cluster is there, its database not yet", "hermes serve makes it")
        } catch {
            bad(
                "database", "not reached: \(error)",
                "see that PostgreSQL runs and lets this user in; look at \(whereToLook)")
        }
        await worker.stop()
    }

    private static func ask(_ database: Database) async throws -> Answer {
        try await database.ping()
        let fitness = try await DatabaseFitness(database)
        let before = now()
        let theirs = try await database.read("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").int(0, 0)
        let after = now()
        return Answer(
            fitness: fitness,
            available: try await database.availableConnections(ignoringOwn: true),
            skew: Int(theirs - (before + after) / 2),
            migrations: try await Migrator().state(database))
    }

    private mutating func judge(_ answer: Answer, _ options: ServerOptions) {
        if let fault = answer.fitness.fault {
            bad("database", fault.problem, fault.remedy)
        } else {
            good("database", "PostgreSQL \(answer.fitness.version) answers")
        }
        let wanted = options.databaseConfiguration("").connections(workers: options.workerCount)
        // A private cluster is started with as many as are wanted.
        if options.databaseURI != nil, wanted > answer.available {
            doubtful(
                "connections", "up to \(wanted) are wanted, PostgreSQL has \(answer.available) left",
                "raise max_connections, or lower database.ownedConnections; until then each worker takes fewer")
        }
        if abs(answer.skew) > 1000 {
            bad("clock", "PostgreSQL's is \(answer.skew) ms ahead", "set the time of both machines by NTP")
        } else {
            good("clock", "within \(max(1, abs(answer.skew))) ms of PostgreSQL's")
        }
        switch answer.migrations {
        case .upToDate: good("migrations", "all \(Migration.all.count) applied")
        case .behind(let count): doubtful("migrations", "\(count) not applied yet", "hermes serve applies them")
        case .ahead(let found, let known):
            bad(
                "migrations", "the database has number \(found), this program knows \(known)",
                "run the newer Hermes, or restore the backup made before it ran")
        }
    }

    /// Milliseconds since 1970.
    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
