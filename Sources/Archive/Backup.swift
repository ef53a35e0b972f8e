import Core
import Glibc
import Postgres
import Wire

/// A whole database in one file, taken while the server works: pg_dump's custom format, with a manifest and checksums.
///
/// All of it is of one moment: the counts and the dump share one snapshot. What is written meanwhile is not in it, and
/// waits for nothing but its own turn; only a change of a class waits until that class has been read.
public struct Backup: Sendable {
    public var place: DatabasePlace
    /// Hermes' version, for the manifest.
    public var hermes: String
    /// The file with the application's keys, to go along; nil: it stays at home.
    public var keysFile: String?

    public init(place: DatabasePlace, hermes: String, keysFile: String? = nil) {
        (self.place, self.hermes, self.keysFile) = (place, hermes, keysFile)
    }

    /// What was made.
    public struct Made: Sendable {
        public let manifest: BackupManifest
        /// Bytes of the file.
        public let size: Int
        public let holdsKeys: Bool
    }

    /// Writes the backup to a file, for its owner's eyes only, which appears when it is whole.
    ///
    /// - Throws: `ArchiveFailure` where the file is there already, the database is none of Hermes', or pg_dump fails;
    ///   `Interrupted`. Nothing is left behind then.
    public func write(to path: String, _ progress: Progress) async throws -> Made {
        guard !Paths.exists(path) else {
            throw ArchiveFailure("\(path) is there already: take another name, or remove it")
        }
        return try await LongWork.run("Nothing was written; run it again.") { _, loop in
            let opened = try place.open()
            defer { opened.close() }
            let database = Database(loop: loop, configuration: .forLongWork(opened.conninfo, name: "backup"))
            do {
                let made = try await write(to: path, opened.conninfo, database, progress)
                await database.close()
                progress.end()
                return made
            } catch {
                await database.close()
                progress.end()
                throw error
            }
        }
    }

    private func write(
        to path: String, _ conninfo: String, _ database: Database, _ progress: Progress
    ) async throws -> Made {
        try await database.transaction(isolation: .repeatableRead, readOnly: true, retries: 0) { transaction in
            guard try await Survey.isOfHermes(transaction) else {
                throw ArchiveFailure("This is no database of Hermes: tell another one with --data or --database-url.")
            }
            let server = try await Survey.server(transaction)
            let tool = try PostgresTool.find("pg_dump", atLeast: server.major)
            let tables = try await Survey.tables(transaction)
            let counts = try await Survey.counts(tables, transaction)
            let manifest = BackupManifest(
                createdAt: server.now, hermes: hermes, migration: try await Survey.migration(transaction),
                postgres: server.version, pgDump: tool.version, databaseSize: server.databaseSize,
                classes: counts.classes, tables: counts.others, indexes: server.indexes)
            let file = try TarWriter(path, seconds: server.now.milliseconds / 1000)
            try file.add(BackupManifest.name, manifest.bytes)
            var holdsKeys = false
            if let keysFile, let keys = try SmallFile.read(keysFile) {
                try file.add(BackupManifest.keys, keys)
                holdsKeys = true
            }
            let snapshot = try await transaction.run("SELECT pg_export_snapshot()").string(0, 0)
            progress.begin("backup", total: manifest.rows, unit: .rows)
            try await dump(tool, conninfo, snapshot, into: file, database, tables, progress)
            try Task.checkCancellation()
            try file.commit()
            return Made(manifest: manifest, size: file.size, holdsKeys: holdsKeys)
        }
    }

    private func dump(
        _ tool: PostgresTool, _ conninfo: String, _ snapshot: String, into file: TarWriter, _ database: Database,
        _ tables: [Survey.Table], _ progress: Progress
    ) async throws {
        let output = try ChildProcess.makePipe()
        defer { close(output.read) }
        let errors = try TextSink()
        let child: ChildProcess
        do {
            defer { close(output.write) }
            child = try tool.start(
                [
                    "--format=custom", "--snapshot=\(snapshot)", "--no-owner", "--no-privileges", "--no-password",
                    "--no-unlogged-table-data", "--no-publications", "--no-subscriptions", "--no-security-labels",
                    "--no-tablespaces",
                ], conninfo: conninfo, applicationName: "hermes pg_dump \(getpid())", output: output.write,
                errors: errors.descriptor)
        }
        let follower = database.loop.spawn { await Self.follow(database, tables, progress) }
        defer { follower.cancel() }
        // Whatever ends this work ends the program first.
        defer { if child.exitCode == nil { child.signal(SIGKILL) } }
        try file.begin(BackupManifest.dump)
        let pipe = Pipe(output.read, on: database.loop)
        defer { pipe.end() }
        while let piece = try await pipe.read() { try file.append(piece) }
        try file.end()
        guard let exit = child.wait(seconds: 60), exit == 0 else {
            throw ArchiveFailure("pg_dump failed: \(errors.text)")
        }
    }

    private static let copying = Statement(
        """
        SELECT p.relid::bigint, p.tuples_processed FROM pg_stat_progress_copy p JOIN pg_stat_activity a USING (pid)
        WHERE a.application_name = $1 AND a.datname = current_database()
        """)

    /// Tells from time to time how many rows the dump has read: pg_dump reads table after table.
    private static func follow(_ database: Database, _ tables: [Survey.Table], _ progress: Progress) async {
        var reached: [Int64: Int] = [:]
        while !Task.isCancelled {
            guard (try? await database.loop.sleep(nanoseconds: 300_000_000)) != nil,
                let rows = try? await database.read(copying, [.text("hermes pg_dump \(getpid())")])
            else { return }
            guard rows.count > 0 else { continue }
            let current = rows.int(0, 0)
            // Whatever was being read before is read now.
            for table in tables where reached[table.oid] != nil && table.oid != current {
                reached[table.oid] = table.rows
            }
            reached[current] = Int(rows.int(0, 1))
            progress.reach(reached.values.reduce(0, +))
        }
    }
}
