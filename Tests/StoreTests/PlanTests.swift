import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Store

/// How PostgreSQL carries out what the builder makes, on a forum of 2,000 topics and 20,000 comments.
@Suite struct PlanTests {
    /// A store on the forum, and an operation in a transaction: one connection, whose prepared statements can be looked
    /// at.
    static func onForum<R: Sendable>(
        _ body: @escaping @Sendable (Store, Operation) async throws -> R
    ) async throws -> R {
        try await TestDatabase.make(template: .forum).withDatabase { _, database in
            let store = try Stage(database).store
            return try await store.operation(as: PlanTests.viewer).inTransaction { try await body(store, $0) }
        }
    }

    static let viewer = Viewer(userId: "u7", roles: ["mods"])

    /// Each is asked twelve times with values of its own, and all statements of it are planned once.
    static let asked: [(className: String, parameters: String)] = [
        ("Temas", #"{"order": "-createdAt", "limit": 50}"#),
        ("Temas", #"{"order": "-createdAt"}"#),
        ("Temas", #"{"order": "-createdAt", "limit": 20, "include": "autor"}"#),
        (
            "Comentarios",
            #"{"where": {"tema": {"__type": "Pointer", "className": "Temas", "objectId": "t#"}}, "order": "-createdAt", "limit": 20, "include": "autor"}"#
        ),
        (
            "Comentarios",
            #"{"where": {"tema": {"$inQuery": {"className": "Temas", "where": {"votos": #}}}}, "order": "-createdAt", "limit": 20}"#
        ),
        (
            "Comentarios",
            #"{"where": {"tema": {"__type": "Pointer", "className": "Temas", "objectId": "t#"}}, "limit": 0, "count": 1}"#
        ),
    ]

    @Test(arguments: asked) func whatIsAskedOftenIsPlannedOnce(_ asked: (className: String, parameters: String))
        async throws
    {
        let plans = try await PlanTests.onForum { store, operation in
            for round in 1...12 {
                let text = asked.parameters.split(separator: "#", omittingEmptySubsequences: false)
                    .joined(separator: String(round * 7))
                let query = try Query.parse(
                    className: asked.className, parameters: try JSONParser.parse(text).object?.members ?? [])
                _ = try await store.find(query, in: operation)
            }
            return try await PlanTests.plans(operation)
        }
        #expect(!plans.isEmpty)
        for plan in plans { #expect(plan.generic >= 6, "\(plan)") }
    }

    @Test func longListsOfElementsAreLookedUp() async throws {
        let values = ["e3"] + (0..<5000).map { "nada \($0)" }
        @Sendable func list(_ values: [String]) -> JSON { .array(values.map { .string($0) }) }
        for sign in ["$in", "$nin"] {
            let (few, many, plan) = try await PlanTests.onForum { store, operation in
                var counts: [Int?] = []
                for values in [["e3"], values] {
                    let condition: JSON = ["etiquetas": .object(JSONObject([(sign, list(values))]))]
                    let parameters = [
                        (key: "where", value: condition), (key: "count", value: 1), (key: "limit", value: 0),
                    ]
                    let query = try Query.parse(className: "Temas", parameters: parameters)
                    counts.append(try await store.find(query, in: operation).count)
                }
                return (
                    counts[0], counts[1], try Built.condition("{\"etiquetas\": {\"\(sign)\": \(list(values))}}").text
                )
            }
            #expect(few == many && few ?? 0 > 0)
            #expect(!plan.contains("@>"))
        }
    }

    @Test func aGetIsPlannedOnce() async throws {
        let plans = try await PlanTests.onForum { store, operation in
            for round in 1...12 {
                let id = "t\(round)"
                let query = try Query.parseGet(className: "Temas", objectId: id, parameters: [])
                _ = try await store.get(query, objectId: id, in: operation)
            }
            return try await PlanTests.plans(operation)
        }
        #expect(plans.count == 1)
        for plan in plans { #expect(plan.generic >= 6, "\(plan)") }
    }

    /// What a plan holds, so that no table is read whole.
    static let plans: [(className: String, index: String, parameters: String, node: String)] = [
        (
            "Temas", "",
            #"{"where": {"lugar": {"$nearSphere": {"__type": "GeoPoint", "latitude": 1, "longitude": 2}, "$maxDistance": 0.01}}}"#,
            "Temas:lugar"
        ),
        (
            "Temas", "", #"{"where": {"lugar": {"$geoWithin": {"$centerSphere": [[2, 1], 0.01]}}}}"#,
            "Temas:lugar"
        ),
        (
            "Temas", #"CREATE INDEX etiquetas ON "Temas" USING gin (etiquetas jsonb_path_ops)"#,
            #"{"where": {"etiquetas": "e3"}}"#, "on etiquetas"
        ),
        (
            "Temas", #"CREATE INDEX etiquetas ON "Temas" USING gin (etiquetas)"#,
            #"{"where": {"etiquetas": {"$in": ["e3", "e4"]}}}"#, "on etiquetas"
        ),
        (
            "Temas", "",
            #"{"where": {"etiquetas": {"$in": \#(Array(0...100))}}}"#, "hashed SubPlan"
        ),
        (
            "Temas", "",
            #"{"where": {"etiquetas": {"$dontSelect": {"key": "titulo", "query": {"className": "Temas", "where": {}}}}}}"#,
            "hashed SubPlan"
        ),
        (
            "Temas", #"CREATE INDEX etiquetas ON "Temas" USING gin (etiquetas jsonb_path_ops)"#,
            #"{"where": {"etiquetas": {"$all": ["e3", "f4"]}}}"#, "on etiquetas"
        ),
        (
            "Comentarios", "",
            #"{"where": {"tema": {"$notInQuery": {"className": "Temas", "where": {"votos": {"$lt": 99}}}}}}"#,
            "Anti Join"
        ),
        (
            "Comentarios", "",
            #"{"where": {"texto": {"$dontSelect": {"key": "titulo", "query": {"className": "Temas", "where": {}}}}}}"#,
            "Anti Join"
        ),
        (
            // From one of them on: the date by itself leads there, and the id decides among those of one moment.
            "Comentarios", #"CREATE INDEX etiquetas ON "Comentarios" (tema, "createdAt", "objectId")"#,
            #"{"where": {"tema": {"__type": "Pointer", "className": "Temas", "objectId": "t7"}, "createdAt": {"$gte": {"__type": "Date", "iso": "2020-01-01T00:00:00.000Z"}}, "$or": [{"createdAt": {"$gt": {"__type": "Date", "iso": "2020-01-01T00:00:00.000Z"}}}, {"objectId": {"$gte": "c9"}}]}}"#,
            #"Index Cond: ((tema = 't7'::text) AND ("createdAt" >= "#
        ),
    ]

    @Test func conditionsAreWrittenSoThatIndexesServe() async throws {
        let shown: [String] = try await PlanTests.onForum { store, operation in
            let schema = try await store.catalogue.snapshot()
            // The question is what can serve, not what is cheaper in a small table.
            _ = try await operation.write("SET LOCAL enable_seqscan = off", [])
            var shown: [String] = []
            for asked in PlanTests.plans {
                if !asked.index.isEmpty { _ = try await operation.write(Statement(asked.index), []) }
                let query = try Query.parse(
                    className: asked.className, parameters: try JSONParser.parse(asked.parameters).object?.members ?? []
                )
                guard let table = schema[asked.className] else { return [] }
                let access = Access(viewer: PlanTests.viewer, sanitizesErrors: true)
                let plan = try ReadSQL(schema: schema, access: access, options: StoreOptions()).count(
                    table, query.predicate, rows: .acl)
                shown.append(try await PlanTests.explain(plan, operation))
                if !asked.index.isEmpty { _ = try await operation.write("DROP INDEX etiquetas", []) }
            }
            return shown
        }
        #expect(shown.count == PlanTests.plans.count)
        for (asked, plan) in zip(PlanTests.plans, shown) {
            #expect(plan.contains(asked.node), "\(asked.parameters)\n\(plan)")
        }
    }

    @Test func severalObjectsAreFoundByTheIndexHoweverSmallTheirTable() async throws {
        let shown = try await PlanTests.onForum { store, operation in
            let schema = try await store.catalogue.snapshot()
            guard let table = schema["_User"] else { return "" }
            let access = Access(viewer: PlanTests.viewer, sanitizesErrors: true)
            let plan = ReadSQL(schema: schema, access: access, options: StoreOptions()).get(
                table, ids: (1...20).map { "u\($0)" }, selection: .everything, rows: .acl)
            return try await PlanTests.explainGeneric(plan, operation)
        }
        #expect(shown.contains("Index Scan using \"_User_pkey\""), "\(shown)")
        #expect(!shown.contains("Seq Scan"), "\(shown)")
    }

    /// The page is found first, in the index's order; only then are its authors looked up, one by one.
    @Test func whatIsIncludedIsLookedUpForThePageAlone() async throws {
        let shown = try await PlanTests.onForum { store, operation in
            let schema = try await store.catalogue.snapshot()
            guard let table = schema["Comentarios"], let target = schema["_User"] else { return "" }
            let query = try Query.parse(className: "Comentarios", parameters: [("order", "-createdAt")])
            let access = Access(viewer: PlanTests.viewer, sanitizesErrors: true)
            let plan = try ReadSQL(schema: schema, access: access, options: StoreOptions()).find(
                table, query, selection: .everything, rows: .acl, limit: 20,
                joins: [.init(field: "autor", target: target, rows: .acl, selection: .everything)])
            return try await PlanTests.explainGeneric(plan, operation)
        }
        let parts = shown.split(separator: "Limit", maxSplits: 1)
        #expect(parts.count == 2 && parts[0].contains("Nested Loop Left Join"), "\(shown)")
        #expect(shown.contains("Index Scan using \"_User_pkey\""), "\(shown)")
        #expect(shown.contains("Index Scan Backward using"), "\(shown)")
        for word in ["Sort", "Seq Scan", "Hash"] { #expect(!shown.contains(word), "\(shown)") }
    }

    /// On average a reader has read one topic, as a topic has one reader: only the two together find few rows for the
    /// reader who has read everything.
    @Test func whatAReaderHasReadIsFoundByReaderAndObject() async throws {
        let shown = try await PlanTests.onForum { store, operation in
            let schema = try await store.catalogue.snapshot()
            guard let table = schema["Temas"] else { return "" }
            var options = StoreOptions()
            options.readerFields["Temas"] = [
                ReaderField(
                    name: "noLeidos", roles: ["mods"], className: "Lecturas", reader: "usuario", object: "tema",
                    number: "vistos")
            ]
            let query = try Query.parse(
                className: "Temas", parameters: try JSONParser.parse(#"{"order": "-createdAt"}"#).object?.members ?? [])
            let access = Access(viewer: PlanTests.viewer, sanitizesErrors: true)
            let plan = try ReadSQL(schema: schema, access: access, options: options).find(
                table, query, selection: .everything, rows: .acl, limit: 50)
            return try await PlanTests.explainGeneric(plan, operation)
        }
        #expect(shown.contains("using \"Lecturas.una_vez\""), "\(shown)")
    }

    static func explain(_ plan: ReadSQL.Plan, _ operation: Operation) async throws -> String {
        let rows = try await operation.write(Statement("EXPLAIN " + plan.statement.text), plan.parameters)
        return (0..<rows.count).map { rows.string($0, 0) }.joined(separator: "\n")
    }

    /// As it is planned once for all parameters.
    static func explainGeneric(_ plan: ReadSQL.Plan, _ operation: Operation) async throws -> String {
        _ = try await operation.write("SET LOCAL plan_cache_mode = force_generic_plan", [])
        _ = try await operation.write(Statement("PREPARE explained AS " + plan.statement.text), [])
        let values = plan.parameters.map { _ in "NULL" }.joined(separator: ", ")
        let rows = try await operation.write(Statement("EXPLAIN EXECUTE explained(\(values))"), [])
        return (0..<rows.count).map { rows.string($0, 0) }.joined(separator: "\n")
    }

    struct Plans: Sendable {
        let statement: String
        let generic: Int64
        let custom: Int64
    }

    /// How often the statements on classes of the forum ran with which plan.
    static func plans(_ operation: Operation) async throws -> [Plans] {
        let rows = try await operation.write(
            """
            SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements
            WHERE statement LIKE 'SELECT t0%' OR statement LIKE 'SELECT page%' OR statement LIKE 'SELECT count%'
            """, [])
        return (0..<rows.count).map {
            Plans(statement: rows.string($0, 0), generic: rows.int($0, 1), custom: rows.int($0, 2))
        }
    }
}

extension TestDatabase.Template {
    /// A forum whose tables PostgreSQL knows the contents of.
    static let forum = TestDatabase.Template("plans") { conninfo in
        let worker = Worker(name: "template")
        try await worker.run { _, loop in
            let database = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
            _ = try await Migrator().run(database)
            let catalogue = Catalogue(database: database, cache: SchemaCache())
            let author: JSON = ["type": "Pointer", "targetClass": "_User"]
            _ = try await catalogue.create(
                "Temas",
                SchemaRequest(
                    fields: JSONObject([
                        ("titulo", ["type": "String"]), ("votos", ["type": "Number"]), ("autor", author),
                        ("lugar", ["type": "GeoPoint"]), ("etiquetas", ["type": "Array"]),
                        ("datos", ["type": "Object"]),
                    ])))
            _ = try await catalogue.create(
                "Comentarios",
                SchemaRequest(
                    fields: JSONObject([
                        ("texto", ["type": "String"]), ("autor", author),
                        ("tema", ["type": "Pointer", "targetClass": "Temas"]),
                    ])))
            _ = try await catalogue.create(
                "Lecturas",
                SchemaRequest(
                    fields: JSONObject([
                        ("usuario", author), ("tema", ["type": "Pointer", "targetClass": "Temas"]),
                        ("comentario", ["type": "Pointer", "targetClass": "Comentarios"]),
                        ("vistos", ["type": "Number"]),
                    ]),
                    indexes: JSONObject([
                        ("una_vez", ["usuario": "unique", "tema": "unique"]),
                        ("otra", ["usuario": "unique", "comentario": "unique"]),
                    ])))
            await catalogue.expectMany(of: "Lecturas", behind: ["usuario", "tema"])
            for statement in forumRows {
                _ = try await database.write(Statement(statement), [])
            }
            await database.close()
        }
        await worker.stop()
    }

    private static let forumRows = [
        """
        INSERT INTO "_User" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "username")
        SELECT 'u' || i, now() + i * interval '1 s', now(), ARRAY['*'], ARRAY['u' || i], 'user' || i
        FROM generate_series(1, 500) i
        """,
        """
        INSERT INTO "Temas" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", titulo, votos, autor, lugar,
            etiquetas, datos)
        SELECT 't' || i, now() + i * interval '1 s', now(), ARRAY['*'], ARRAY['u' || 1 + i % 500, 'role:mods'],
            'Tema ' || i, i % 100, 'u' || 1 + i % 500, point(i % 360 - 180, i % 180 - 90),
            jsonb_build_array('e' || i % 50, 'f' || i % 7), jsonb_build_object('n', i)
        FROM generate_series(1, 2000) i
        """,
        """
        INSERT INTO "Comentarios" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", texto, autor, tema)
        SELECT 'c' || i, now() + i * interval '1 s', now(), ARRAY['*'], ARRAY['u' || 1 + i % 500], 'Texto ' || i,
            'u' || 1 + i % 500, 't' || 1 + i % 2000
        FROM generate_series(1, 20000) i
        """,
        """
        INSERT INTO "Lecturas" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", usuario, tema, vistos)
        SELECT 'l' || i, now(), now(), '{}', '{}', CASE WHEN i <= 2000 THEN 'u7' ELSE 'v' || i END,
            CASE WHEN i <= 2000 THEN 't' || i ELSE 's' || i END, 1
        FROM generate_series(1, 20000) i
        """,
        "ANALYZE",
    ]
}
