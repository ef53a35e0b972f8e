import Core
import Glibc
import Postgres
import Schema
import Wire

/// Puts a backup into an empty data folder or an empty database: all of it, or nothing.
public struct Restore: Sendable {
    public var place: DatabasePlace
    /// Where the application's keys go, where the backup holds them and there are none; nil: they are told otherwise.
    public var keysFile: String?

    public init(place: DatabasePlace, keysFile: String? = nil) { (self.place, self.keysFile) = (place, keysFile) }

    /// What was put there.
    public struct Made: Sendable {
        public enum Keys: Sendable { case none, written, leftOut }
        public let manifest: BackupManifest
        public let keys: Keys
    }

    /// Checks a backup without putting it anywhere: reads all of it.
    ///
    /// - Throws: `ArchiveFailure` where it is none, or was cut off or altered; `Interrupted`.
    public static func check(_ path: String, _ progress: Progress) async throws -> BackupManifest {
        try await LongWork.run("Nothing was changed.") { _, loop in
            try open(path, progress).manifest
        }
    }

    private static func open(_ path: String, _ progress: Progress) throws -> (file: TarReader, manifest: BackupManifest)
    {
        let file = try TarReader(path)
        guard let first = file.members.first, first.name == BackupManifest.name, file[BackupManifest.dump] != nil else {
            throw ArchiveFailure("\(path) is not a backup made by hermes backup")
        }
        progress.begin("checking", total: file.members.dropLast().reduce(0) { $0 + $1.size }, unit: .bytes)
        defer { progress.end() }
        try file.check { done in
            try Task.checkCancellation()
            progress.reach(done)
        }
        return (file, try BackupManifest(try file.content(first), of: path))
    }

    /// Restores; nothing is written before the whole file was checked.
    ///
    /// - Throws: `ArchiveFailure` where the file is no whole backup, the place is not empty, or the backup is newer than
    ///   this program or the server; `Interrupted`. The place has no object then.
    public func read(from path: String, _ progress: Progress) async throws -> Made {
        try await LongWork.run("Nothing was restored; run it again.") { _, loop in
            let (file, manifest) = try Restore.open(path, progress)
            if let known = Migration.all.last?.number, manifest.migration > known {
                throw ArchiveFailure(
                    "\(path) is of a newer Hermes (\(manifest.hermes), migration \(manifest.migration); this one knows "
                        + "\(known)): restore it with that one. Nothing was written.")
            }
            let opened = try place.make()
            defer { opened.close() }
            let database = Database(loop: loop, configuration: .forLongWork(opened.conninfo, name: "restore"))
            do {
                try await fill(database, opened.conninfo, file, manifest, progress)
                await database.close()
                progress.end()
            } catch {
                await database.close()
                progress.end()
                throw error
            }
            return Made(manifest: manifest, keys: try putKeys(file))
        }
    }

    private func putKeys(_ file: TarReader) throws -> Made.Keys {
        guard let member = file[BackupManifest.keys] else { return .none }
        guard let keysFile else { return .leftOut }
        return try SmallFile.make(keysFile, try file.content(member)) ? .written : .leftOut
    }

    private func fill(
        _ database: Database, _ conninfo: String, _ file: TarReader, _ manifest: BackupManifest, _ progress: Progress
    ) async throws {
        try await database.transaction(retries: 0) { transaction in
            // Servers that are started meanwhile wait: they would make tables.
            _ = try await transaction.run("SELECT pg_advisory_xact_lock(\(Migrator.lock))")
            let content = try await Survey.content(transaction)
            guard content.isEmpty else {
                let others = content.count > 1 ? " and \(content.count - 1) more" : ""
                let remedy =
                    place.uri == nil
                    ? "Take another folder (--data), or move \(place.dataFolder)/postgres away."
                    : "Make an empty one (CREATE DATABASE … TEMPLATE template0) and tell its address."
                throw ArchiveFailure(
                    "The database is not empty: it has \(content[0])\(others). A backup is restored into an empty one only. "
                        + remedy)
            }
            let server = try await Survey.server(transaction)
            guard server.major >= manifest.serverMajor else {
                throw ArchiveFailure(
                    "The backup is of PostgreSQL \(manifest.postgres), and this server is \(server.version): take a "
                        + "server that is not older. Nothing was written.")
            }
            let madeBy = Int(manifest.pgDump.prefix { $0.isNumber }) ?? server.major
            let tool = try PostgresTool.find("pg_restore", atLeast: max(server.major, madeBy))
            try await load(tool, conninfo, file, manifest, database, progress)
        }
        progress.begin("counting", total: manifest.rows, unit: .rows)
        try await database.transaction(isolation: .repeatableRead, readOnly: true, retries: 0) { transaction in
            let tables = try await Survey.tables(transaction)
            let counts = try await Survey.counts(tables, transaction)
            guard counts.classes == manifest.classes, counts.others == manifest.tables else {
                throw ArchiveFailure(
                    "What was restored has other numbers of objects than the backup says. Don't use it; use another copy."
                )
            }
        }
        progress.begin("statistics", total: nil, unit: .rows)
        _ = try await database.run("ANALYZE")
    }

    /// The migration that made `hermes_words` stand alone.
    private static let wordsAlone = 15

    private func load(
        _ tool: PostgresTool, _ conninfo: String, _ file: TarReader, _ manifest: BackupManifest, _ database: Database,
        _ progress: Progress
    ) async throws {
        guard let dump = file[BackupManifest.dump] else { return }
        let input = try ChildProcess.makePipe()
        let errors = try TextSink()
        let child: ChildProcess
        do {
            defer { close(input.read) }
            child = try tool.start(
                [
                    "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--no-password",
                    "--verbose",
                ], conninfo: conninfo, applicationName: "hermes pg_restore \(getpid())", input: input.read,
                errors: errors.descriptor)
        } catch {
            close(input.write)
            throw error
        }
        // Ended in the middle, it undoes all.
        defer { if child.exitCode == nil { child.signal(SIGKILL) } }
        let pipe = Pipe(input.write, on: database.loop, writing: true)
        progress.begin("restore", total: dump.size, unit: .bytes)
        do {
            defer {
                pipe.end()
                close(input.write)
            }
            var offset = 0
            while offset < dump.size {
                let piece = try file.piece(of: dump, from: offset)
                guard try await pipe.write(piece) else { break }
                offset += piece.count
                progress.reach(offset)
            }
        }
        progress.begin("indexes", total: manifest.indexes, unit: .rows)
        var built = 0
        while child.exitCode == nil {
            for line in errors.next().split(separator: "\n")
            where line.contains(": creating INDEX") || line.contains(": creating CONSTRAINT") { built += 1 }
            progress.reach(built)
            try await database.loop.sleep(nanoseconds: 100_000_000)
        }
        guard child.exitCode == 0 else {
            if manifest.migration < Restore.wordsAlone, errors.text.contains("hermes_fold(text) does not exist") {
                throw ArchiveFailure(
                    "This backup is of a Hermes whose index of words in two languages pg_restore cannot build. Nothing "
                        + "was restored. docs/backup.md says how it is brought back: by steps, with one line between.")
            }
            throw ArchiveFailure("pg_restore failed, and all of it was undone: \(errors.text)")
        }
    }
}
