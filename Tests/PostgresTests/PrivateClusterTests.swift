import Core
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// The server that `hermes serve` makes for itself.
@Suite struct PrivateClusterTests {
    private func withFolder<R>(_ body: (String) async throws -> R) async throws -> R {
        let folder = "/tmp/hermes-cluster-\(UInt32.random(in: 0 ... .max))"
        mkdir(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await body(folder)
    }

    private func start(_ folder: String) async throws -> PrivateCluster {
        let options = durable(folder)
        return try await blocking { try PrivateCluster.start(options) }
    }

    private func durable(_ folder: String) -> PrivateCluster.Options {
        var options = PrivateCluster.Options(dataFolder: folder)
        options.settings["shared_buffers"] = "16MB"
        return options
    }

    @Test func anotherProgramInTheSameFolderIsRefused() async throws {
        try await withFolder { folder in
            let cluster = try await start(folder)
            #expect(cluster.isRunning)
            do {
                _ = try await start(folder)
                Issue.record("two programs use one folder")
            } catch let error as PrivateCluster.Failure {
                #expect(error.description.contains("in use by another Hermes (process \(getpid()))"))
            }
            try await blocking { try cluster.createDatabase("forum") }
            try await blocking { try cluster.createDatabase("forum") }
            try await blocking { cluster.stop() }
            #expect(!cluster.isRunning)
            // The data is there the next time.
            let again = try await start(folder)
            try await blocking { try again.execute("SELECT 1", database: "forum") }
            try await blocking { again.stop() }
        }
    }

    @Test func aClusterOfAnotherVersionIsRefused() async throws {
        try await withFolder { folder in
            mkdir(folder + "/postgres", 0o755)
            try "12\n".write(toFile: folder + "/postgres/PG_VERSION", atomically: true, encoding: .utf8)
            do {
                _ = try await start(folder)
                Issue.record("version 12 was started")
            } catch let error as PrivateCluster.Failure {
                #expect(error.description.contains("belongs to PostgreSQL 12"))
            }
        }
    }

    @Test func theProgramsOfTheDatasVersionAreTaken() async throws {
        try await withFolder { folder in
            for version in [15, 17] {
                let programs = "\(folder)/\(version)/bin"
                try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
                for program in ["postgres", "initdb"] {
                    // By a process of its own: what this one has open for writing, if only for a moment, a child
                    // that another test starts just then holds open too, and then it can't be run.
                    let file = "'\(programs)/\(program)'"
                    let script = "#!/bin/sh\necho 'postgres (PostgreSQL) \(version).2'\n"
                    let status = try await blocking {
                        system("cat >\(file) <<'END'\n\(script)END\nchmod 755 \(file)")
                    }
                    #expect(status == 0)
                }
            }
            let found = try await blocking {
                try [nil, 15, 17].map {
                    try PostgresBinaries.find(folder: nil, majorVersion: $0, debian: folder).majorVersion
                }
            }
            #expect(found == [17, 15, 17])
            do {
                _ = try await blocking { try PostgresBinaries.find(folder: nil, majorVersion: 16, debian: folder) }
                Issue.record("there is no version 16")
            } catch { #expect("\(error)".contains("apt install postgresql-16")) }
        }
    }

    @Test func recoveryMayTakeLongerThanTheLimitOfAStart() async throws {
        try await withFolder { folder in
            let first = try await start(folder)
            try await blocking { first.stop() }
            // Recovery from an archive that takes its time and has nothing.
            let signal = folder + "/postgres/recovery.signal"
            try "".write(toFile: signal, atomically: true, encoding: .utf8)
            if geteuid() == 0, let user = getpwnam("postgres") {
                chown(signal, user.pointee.pw_uid, user.pointee.pw_gid)
            }
            var options = durable(folder)
            options.settings["restore_command"] = "sleep 1; false"
            // Until it is over, nobody is let in.
            options.settings["hot_standby"] = "off"
            options.startLimitSeconds = 0.9
            let settled = options
            let second = try await blocking { try PrivateCluster.start(settled) }
            try await blocking {
                try second.execute("CREATE TABLE kept (id int)")
                second.stop()
            }
        }
    }

    @Test func theLogTellsNothingOfARowAndStaysSmall() async throws {
        try await withFolder { folder in
            var options = durable(folder)
            options.logLimit = 2000
            // What it would have to say of other programs, which do not ask it to be silent.
            let settled = options
            let cluster = try await blocking { try PrivateCluster.start(settled) }
            let log = folder + "/postgres.log"
            let other = cluster.conninfo().replacingOccurrences(of: "-c log_min_messages=fatal", with: "")
            try await blocking { try cluster.execute("CREATE TABLE person (email text UNIQUE)") }
            for conninfo in [cluster.conninfo(), other] {
                let worker = Worker(name: "test")
                await worker.run { _, loop in
                    let database = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
                    for _ in 0..<2 {
                        _ = try? await database.write(
                            "INSERT INTO person VALUES ($1)", [.text("ana@example.org")])
                        _ = try? await database.run("INSERT INTO person VALUES ('eva@example.org')")
                    }
                    await database.close()
                }
                await worker.stop()
            }
            let text = try String(contentsOfFile: log, encoding: .utf8)
            #expect(text.contains("duplicate key value"))
            #expect(!text.contains("example.org"))
            // Past its limit it moves aside, while the server goes on writing.
            let worker = Worker(name: "test")
            try await worker.run { _, loop in
                let database = Database(loop: loop, configuration: DatabaseConfiguration(other))
                let moved = try await eventually(loop) {
                    _ = try? await database.write("SELECT 1 / 0")
                    return access(log + ".1", R_OK) == 0
                }
                #expect(moved)
                await database.close()
            }
            await worker.stop()
            var information = stat()
            #expect(stat(log, &information) == 0 && information.st_size < 200_000)
            try await blocking { cluster.stop() }
        }
    }

    @Test func aFolderThatOnlyRootMayEnterServesAllTheSame() async throws {
        guard geteuid() == 0 else { return }
        try await withFolder { folder in
            mkdir(folder + "/closed", 0o700)
            let first = try await start(folder + "/closed/data")
            try await blocking { try first.execute("CREATE TABLE kept (id int)") }
            // First let go: it would start its server again.
            let orphan = first.processID
            first.abandon()
            kill(orphan, SIGKILL)
            let second = try await start(folder + "/closed/data")
            try await blocking {
                try second.execute("INSERT INTO kept VALUES (1)")
                second.stop()
            }
            var information = stat()
            #expect(stat(folder + "/closed", &information) == 0 && information.st_mode & 0o777 == 0o700)
        }
    }

    @Test func aFolderWithALongNameHasItsSocketElsewhere() async throws {
        try await withFolder { folder in
            let long = folder + "/" + String(repeating: "deep/", count: 20) + "data"
            let cluster = try await start(long)
            try await blocking { try cluster.execute("SELECT 1") }
            #expect(cluster.socketFolder.hasPrefix("/tmp/hermes-"))
            try await blocking { cluster.stop() }
            #expect(access(cluster.socketFolder, F_OK) != 0)
        }
    }

    @Test func aServerThatOutlivedItsProgramIsReplaced() async throws {
        try await withFolder { folder in
            let first = try await start(folder)
            try await blocking { try first.execute("CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)") }
            let orphan = first.processID
            first.abandon()
            let second = try await start(folder)
            #expect(second.processID != orphan)
            try await blocking { try second.execute("INSERT INTO kept VALUES (2)") }
            try await blocking { second.stop() }
        }
    }

    @Test func noAcknowledgedWriteIsLostWhenTheServerIsKilledUnderLoad() async throws {
        try await withFolder { folder in
            let cluster = try await start(folder)
            try await blocking { try cluster.execute("CREATE TABLE entry (id int8 PRIMARY KEY)") }
            let worker = Worker(name: "load")
            try await worker.run { _, loop in
                var configuration = DatabaseConfiguration(cluster.conninfo())
                configuration.waitBound = .seconds(20)
                let database = Database(loop: loop, configuration: configuration)
                let load = Load()
                let done = Waiter()
                loop.spawn {
                    _ = await loop.concurrently(32) { _ in
                        while !load.isOver {
                            load.next += 1
                            let id = load.next
                            do {
                                if id % 3 == 0 {
                                    try await database.transaction { transaction in
                                        _ = try await transaction.execute("INSERT INTO entry VALUES ($1)", [.int(id)])
                                    }
                                } else {
                                    _ = try await database.write("INSERT INTO entry VALUES ($1)", [.int(id)])
                                }
                                load.acknowledged.append(id)
                            } catch {
                                load.failed += 1
                                try await loop.sleep(nanoseconds: 5_000_000)
                            }
                            _ = try? await database.read("SELECT id FROM entry WHERE id = $1", [.int(id)])
                        }
                    }
                    done.resume()
                }
                for signal in [SIGKILL, SIGQUIT, SIGINT] {
                    let before = load.acknowledged.count
                    let busy = try await eventually(loop) { load.acknowledged.count > before + 200 }
                    #expect(busy)
                    let server = cluster.processID
                    kill(server, signal)
                    let restarted = try await eventually(loop) { cluster.processID != server && cluster.isRunning }
                    #expect(restarted)
                }
                let before = load.acknowledged.count
                let busy = try await eventually(loop) { load.acknowledged.count > before + 200 }
                #expect(busy)
                load.isOver = true
                try await done.wait()

                let stored = try await database.read("SELECT id FROM entry")
                let ids = Set((0..<stored.count).map { stored.int($0, 0) })
                let lost = load.acknowledged.filter { !ids.contains($0) }
                #expect(lost.isEmpty)
                #expect(load.failed > 0)
                await database.close()
            }
            await worker.stop()
            try await blocking { cluster.stop() }
        }
    }

    private final class Load {
        var next: Int64 = 0
        var acknowledged: [Int64] = []
        var failed = 0
        var isOver = false
    }
}
