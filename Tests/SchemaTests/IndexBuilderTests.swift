import Core
import Postgres
import TestSupport
import Testing
import Wire

@testable import Schema

/// Indexes of classes that are too large to stop for them.
@Suite struct IndexBuilderTests {
    private static let votes = SchemaRequest(indexes: ["por_votos": ["votos": -1]])

    @Test func aLargeClassGetsItsIndexFromTheBuilder() async throws {
        try await withLargeClass { catalogue, database in
            let schema = try await catalogue.update("Temas", IndexBuilderTests.votes)
            // It is there for who asks, and not yet for PostgreSQL.
            #expect(schema.indexes.map(\.name) == ["por_votos"])
            let waiting = try await catalogue.indexProgress(of: "Temas")["Temas"]
            #expect(waiting?.map(\.state) == ["building"])
            try await withBuilder(database) { builder in
                let hasWorked = await builder.buildAll()
                #expect(hasWorked)
            }
            let left = try await catalogue.indexProgress()
            #expect(left.isEmpty)
            let made = try await definitions(database)
            #expect(made["Temas.por_votos"] == "btree (votos DESC)")
        }
    }

    @Test func theBuilderIsToldWhatIsToBeDone() async throws {
        try await withLargeClass { catalogue, database in
            let builder = IndexBuilder(
                loop: database.loop, configuration: database.configuration, poll: 3_600_000_000_000)
            builder.start(notifications: database)
            let isListening = try await eventually(database.loop) { database.isListening }
            #expect(isListening)
            // A pointer's own index, too.
            _ = try await catalogue.ensure("Temas", fields: ["autor": .pointer("_User")])
            let isBuilt = try await eventually(database.loop) {
                try await definitions(database)["Temas:autor"] == "btree (autor, \"createdAt\", \"objectId\")"
            }
            #expect(isBuilt)
            await builder.stop()
        }
    }

    @Test func neitherReadersNorWritersWaitForAnIndex() async throws {
        try await withLargeClass { catalogue, database in
            _ = try await catalogue.update("Temas", IndexBuilderTests.votes)
            let loop = database.loop
            try await withBuilder(database) { builder in
                // As long as this goes on, no index gets finished.
                try await database.transaction(isolation: .repeatableRead) { old in
                    _ = try await old.execute("SELECT count(*) FROM \"_Role\"")
                    var hasEnded = false
                    loop.spawn {
                        await builder.buildAll()
                        hasEnded = true
                    }
                    let isWaiting = try await eventually(loop) {
                        try await catalogue.indexProgress(of: "Temas")["Temas"]?.first?.phase?
                            .hasPrefix("waiting for old snapshots") == true
                    }
                    #expect(isWaiting)
                    for number in 0..<50 {
                        _ = try await database.write(insertStatement, [.text("nuevo\(number)")])
                        _ = try await database.write(
                            "UPDATE \"Temas\" SET votos = 7 WHERE \"objectId\" = $1", [.text("nuevo\(number)")])
                    }
                    let seen = try await database.read("SELECT count(*) FROM \"Temas\" WHERE votos = 7").int(0, 0)
                    #expect(seen >= 50)
                    let behind = try await database.read(
                        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '\"Temas\"'::regclass")
                    #expect(behind.int(0, 0) == 0)
                    #expect(!hasEnded)
                }
                let isDone = try await eventually(loop) { try await catalogue.indexProgress().isEmpty }
                #expect(isDone)
            }
        }
    }

    @Test func aBuildThatWasKilledIsBegunAnewAndItsRestDropped() async throws {
        try await withLargeClass { catalogue, database in
            _ = try await catalogue.update("Temas", IndexBuilderTests.votes)
            let loop = database.loop
            try await database.transaction(isolation: .repeatableRead) { old in
                _ = try await old.execute("SELECT count(*) FROM \"_Role\"")
                try await withBuilder(database) { builder in
                    var hasEnded = false
                    loop.spawn {
                        await builder.buildAll()
                        hasEnded = true
                    }
                    let isWaiting = try await eventually(loop) { try await invalid(database) == 1 }
                    #expect(isWaiting)
                    // Another node finds that somebody is at work.
                    try await withBuilder(database) { other in
                        let hasWorked = await other.buildAll()
                        #expect(!hasWorked)
                    }
                    _ = try await database.write(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'hermes index builder'
                            AND query LIKE 'CREATE INDEX%'
                        """)
                    // This builder may take it up again itself; it does not get further than the one before.
                    let isGone = try await eventually(loop) {
                        try await database.read("SELECT \"tries\" FROM \"_Index\" WHERE \"name\" = 'por_votos'")
                            .int(0, 0) > 0 || hasEnded
                    }
                    #expect(isGone)
                }
                #expect(try await invalid(database) == 1)
            }
            _ = try await database.write("UPDATE \"_Index\" SET \"notBefore\" = now()")
            try await withBuilder(database) { builder in
                let isDone = try await eventually(loop) {
                    await builder.buildAll()
                    return try await catalogue.indexProgress().isEmpty
                }
                #expect(isDone)
            }
            let rest = try await invalid(database)
            #expect(rest == 0)
            let made = try await definitions(database)
            #expect(made["Temas.por_votos"] != nil)
        }
    }

    @Test func aBuildGivesWayToANewField() async throws {
        try await withLargeClass { catalogue, database in
            _ = try await catalogue.update("Temas", IndexBuilderTests.votes)
            let loop = database.loop
            try await withBuilder(database) { builder in
                try await database.transaction(isolation: .repeatableRead) { old in
                    _ = try await old.execute("SELECT count(*) FROM \"_Role\"")
                    loop.spawn { await builder.buildAll() }
                    let isWaiting = try await eventually(loop) { try await invalid(database) == 1 }
                    #expect(isWaiting)
                    // A further index does not disturb it.
                    _ = try await catalogue.update(
                        "Temas", SchemaRequest(indexes: ["por_titulo": ["titulo": 1]]))
                    let undisturbed = try await database.read("SELECT max(\"tries\")::int8 FROM \"_Index\"").int(0, 0)
                    #expect(undisturbed == 0)
                    let schema = try await catalogue.ensure("Temas", fields: ["nuevo": .number])
                    #expect(schema["Temas"]?.fields["nuevo"] != nil)
                    // An index that is deleted while it is being built leaves nothing either.
                    _ = try await catalogue.update("Temas", SchemaRequest(indexes: ["por_votos": ["__op": "Delete"]]))
                }
                let isGone = try await eventually(loop) {
                    await builder.buildAll()
                    let all = try await database.read("SELECT count(*) FROM pg_class WHERE relname = 'Temas.por_votos'")
                    return all.int(0, 0) == 0
                }
                #expect(isGone)
            }
        }
    }

    @Test func doublesInALargeClassAreToldByTheirFieldOnly() async throws {
        try await withLargeClass { catalogue, database in
            _ = try await database.write("UPDATE \"Temas\" SET titulo = 'secreto' WHERE votos < 3")
            _ = try await catalogue.update("Temas", SchemaRequest(indexes: ["uno": ["titulo": "uniqueNoCase"]]))
            try await withBuilder(database) { _ = await $0.buildAll() }
            let progress = try await catalogue.indexProgress(of: "Temas")["Temas"]?.first
            #expect(progress?.state == "failed")
            #expect(progress?.reason?.contains("titulo") == true)
            #expect(progress?.reason?.contains("secreto") == false)
            let rest = try await invalid(database)
            #expect(rest == 0)
        }
    }

    @Test func theIndexesOfAnOlderDatabaseBecomeRows() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            _ = try await Migrator(Array(Migration.all.prefix { $0.number < 3 })).run(database)
            for sql in [
                """
                INSERT INTO "_SCHEMA" VALUES ('Temas', '{"fields": {"autor": {"type": "Pointer", "targetClass": "_User"},
                    "lugar": {"type": "GeoPoint"}, "votos": {"type": "Number"}, "titulo": {"type": "String"}},
                    "indexes": {"_id_": {"_id": 1}, "por_votos": {"votos": -1}, "palabras": {"titulo": "text"}}}')
                """,
                """
                CREATE TABLE "Temas" ("objectId" text PRIMARY KEY, "createdAt" timestamptz, "updatedAt" timestamptz,
                    "_rperm" text[], "_wperm" text[], "autor" text, "lugar" point, "votos" float8, "titulo" text)
                """,
                "CREATE INDEX ON \"Temas\" (\"autor\")", "CREATE INDEX ON \"Temas\" USING gist (\"lugar\")",
                "CREATE INDEX \"Temas.por_votos\" ON \"Temas\" (\"votos\" DESC)",
                "CREATE INDEX \"Temas.palabras\" ON \"Temas\" (\"titulo\")",
                """
                INSERT INTO "_User" ("objectId", "createdAt", "updatedAt", "username") VALUES ('a', now(), now(), 'ana')
                """,
            ] { _ = try await database.write(Statement(sql)) }
            _ = try await Migrator().run(database)
            let catalogue = Catalogue(database: database, cache: SchemaCache())
            let indexes = try await catalogue.snapshot()["Temas"]?.indexes.map(\.name)
            #expect(indexes?.sorted() == ["palabras", "por_votos"])
            let progress = try await catalogue.indexProgress()["Temas"]
            // It was never an index of words.
            #expect(progress?.map(\.name) == ["palabras"])
            #expect(progress?.first?.state == "failed")
            try await withBuilder(database) { _ = await $0.buildAll() }
            let made = try await definitions(database)
            #expect(made["Temas:autor"] == "btree (autor, \"createdAt\", \"objectId\")")
            #expect(made["Temas_autor_idx"] == nil)
            #expect(made["Temas:lugar"] == "gist (lugar)")
            #expect(made["Temas_lugar_idx"] == nil)
            #expect(made["Temas.por_votos"] == "btree (votos DESC)")
            #expect(made["_User:username"] == "btree (username)")
            #expect(made["_User:email"] == "btree (email)")
        }
    }

    // MARK: what the tests stand on

    /// A class of more than `SchemaTransaction.smallTable`.
    private func withLargeClass(_ body: @Sendable (Catalogue, Database) async throws -> Void) async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.ensure("Temas", fields: ["titulo": .string, "votos": .number])
            _ = try await database.write(
                """
                INSERT INTO "Temas" ("objectId", "createdAt", "updatedAt", "titulo", "votos")
                SELECT 'viejo' || n, now(), now(), repeat('x', 500) || n, n FROM generate_series(1, 12000) n
                """)
            try await body(catalogue, database)
        }
    }

    private func withBuilder(_ database: Database, _ body: (IndexBuilder) async throws -> Void) async throws {
        let builder = IndexBuilder(loop: database.loop, configuration: database.configuration)
        do { try await body(builder) } catch {
            await builder.stop()
            throw error
        }
        await builder.stop()
    }

    private func invalid(_ database: Database) async throws -> Int64 {
        try await database.read("SELECT count(*) FROM pg_index WHERE NOT indisvalid").int(0, 0)
    }
}
