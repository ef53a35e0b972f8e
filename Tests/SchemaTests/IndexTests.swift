import Core
import Postgres
import TestSupport
import Testing
import Wire

@testable import Schema

/// Indexes as the schema API gives and refuses them.
@Suite struct IndexTests {
    @Test func aNewClassHasItsIndexesAtOnce() async throws {
        try await withCatalogue { catalogue, database in
            let schema = try await catalogue.create(
                "Temas",
                SchemaRequest(
                    fields: [
                        "titulo": ["type": "String"], "votos": ["type": "Number"], "lugar": ["type": "GeoPoint"],
                        "autor": ["type": "Pointer", "targetClass": "_User"], "etiquetas": ["type": "Array"],
                    ],
                    indexes: [
                        "por_votos": ["votos": -1, "titulo": 1], "palabras": ["titulo": "text:es"],
                        "etiquetas": ["etiquetas": 1], "quien": ["ACL": "gin"], "donde": ["lugar": "2dsphere"],
                    ]))
            #expect(schema.indexesShown.count == 6)
            let waiting = try await catalogue.indexProgress()
            #expect(waiting.isEmpty)
            let definitions = try await definitions(database)
            #expect(definitions["Temas.por_votos"] == "btree (votos DESC, titulo)")
            #expect(definitions["Temas.palabras"] == "gin (to_tsvector('spanish'::regconfig, titulo))")
            #expect(definitions["Temas.etiquetas"] == "gin (etiquetas jsonb_path_ops)")
            #expect(definitions["Temas.quien"] == "gin (_rperm)")
            #expect(definitions["Temas.donde"] == "gist (lugar)")
            // What the server makes by itself.
            #expect(definitions["Temas:autor"] == "btree (autor, \"createdAt\", \"objectId\")")
            #expect(definitions["Temas:lugar"] == "gist (lugar)")
        }
    }

    @Test(arguments: [
        ("unique", ["José", "jose", "JOSÉ"], ["José"]),
        ("uniqueNoCase", ["José", "jose", "Josefa"], ["JOSÉ", "josé"]),
        ("uniqueNoCaseNoAccents", ["José", "Íñigo", "İzmir"], ["jose", "INIGO", "Jose\u{301}", "izmir", "ÏÑÎGO"]),
    ])
    func aUniqueFieldRefusesWhatItsKindTakesForEqual(kind: String, apart: [String], equal: [String]) async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.create(
                "Foros",
                SchemaRequest(
                    fields: ["nombre": ["type": "String"], "idioma": ["type": "String"]],
                    indexes: ["nombre": ["idioma": 1, "nombre": .string(kind)]]))
            let insert: Statement = """
                INSERT INTO "Foros" ("objectId", "createdAt", "updatedAt", "idioma", "nombre")
                VALUES (gen_random_uuid(), now(), now(), $1, $2)
                """
            for name in apart { _ = try await database.write(insert, [.text("es"), .text(name)]) }
            for (number, name) in equal.enumerated() {
                let error = await failure(of: { try await database.write(insert, [.text("es"), .text(name)]) })
                let refusal = error as? PostgresError
                #expect(refusal?.isUniqueViolation == true)
                let fields = catalogue.cache.fields(
                    ofIndex: refusal?.constraint ?? "", table: refusal?.table ?? "")
                #expect(fields == ["idioma", "nombre"])
                _ = try await database.write(insert, [.text("ca\(number)"), .text(name)])
            }
            // Without a value nothing collides.
            for _ in 0..<2 { _ = try await database.write(insert, [.null, .text(apart[0])]) }
        }
    }

    @Test func aUniqueIndexOverDoublesFailsAndSaysWhichField() async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.ensure("Foros", fields: ["nombre": .string])
            for id in ["a", "b"] {
                _ = try await database.write(
                    """
                    INSERT INTO "Foros" ("objectId", "createdAt", "updatedAt", "nombre")
                    VALUES ($1, now(), now(), 'secreto')
                    """, [.text(id)])
            }
            _ = try await catalogue.update("Foros", SchemaRequest(indexes: ["uno": ["nombre": "unique"]]))
            let progress = try await catalogue.indexProgress(of: "Foros")["Foros"]?.first
            #expect(progress?.state == "failed")
            #expect(progress?.reason?.contains("nombre") == true)
            #expect(progress?.reason?.contains("secreto") == false)
            // It can be deleted, and asked for again once the doubles are gone.
            _ = try await database.write("DELETE FROM \"Foros\" WHERE \"objectId\" = 'b'")
            _ = try await catalogue.update("Foros", SchemaRequest(indexes: ["uno": ["__op": "Delete"]]))
            _ = try await catalogue.update("Foros", SchemaRequest(indexes: ["uno": ["nombre": "unique"]]))
            let left = try await catalogue.indexProgress()
            #expect(left.isEmpty)
        }
    }

    @Test(
        arguments: [
            ["uno": ["nada": 1]], ["uno": [:]], ["uno": 1], ["": ["titulo": 1]], ["uno": ["lectores": 1]],
            ["uno": ["titulo": "hashed"]], ["uno": ["titulo": "2dsphere"]], ["uno": ["votos": "uniqueNoCase"]],
            ["uno": ["votos": "text"]], ["uno": ["titulo": "text:xx"]], ["uno": ["ACL": 1]],
            ["uno": ["etiquetas": 1, "titulo": 1]], ["uno": ["titulo": 2]], ["uno": ["etiquetas": "unique"]],
            ["uno": ["__op": "Delete"]], ["ya": ["votos": 1]],
        ] as [JSONObject])
    func whatCannotBeAnIndexIsRefused(_ indexes: JSONObject) async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.create(
                "Temas",
                SchemaRequest(
                    fields: [
                        "titulo": ["type": "String"], "votos": ["type": "Number"], "etiquetas": ["type": "Array"],
                        "lectores": ["type": "Relation", "targetClass": "_User"],
                    ], indexes: ["ya": ["titulo": 1]]))
            let before = try await definitions(database)
            let error = await failure(of: { try await catalogue.update("Temas", SchemaRequest(indexes: indexes)) })
            #expect((error as? ParseError)?.code == 102)
            let after = try await definitions(database)
            #expect(after == before)
        }
    }

    @Test func passwordsAreNotIndexed() async throws {
        try await withCatalogue { catalogue, _ in
            let error = await failure(of: {
                try await catalogue.update("_User", SchemaRequest(indexes: ["uno": ["password": 1]]))
            })
            #expect((error as? ParseError)?.code == 102)
        }
    }

    @Test func indexesGoWithTheirFieldsAndClasses() async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.create(
                "Temas",
                SchemaRequest(
                    fields: [
                        "titulo": ["type": "String"], "votos": ["type": "Number"],
                        "autor": ["type": "Pointer", "targetClass": "_User"],
                    ], indexes: ["ambos": ["votos": 1, "titulo": 1], "titulo": ["titulo": 1]]))
            let schema = try await catalogue.update(
                "Temas", SchemaRequest(fields: ["votos": ["__op": "Delete"], "autor": ["__op": "Delete"]]))
            #expect(schema.indexes.map(\.name) == ["titulo"])
            let rows = try await database.read("SELECT count(*) FROM \"_Index\" WHERE \"className\" = 'Temas'")
            #expect(rows.int(0, 0) == 1)
            // Both can be made anew under their old names, of another type.
            let again = try await catalogue.update(
                "Temas",
                SchemaRequest(
                    fields: ["votos": ["type": "String"], "autor": ["type": "Pointer", "targetClass": "Temas"]],
                    indexes: ["ambos": ["votos": "unique"]]))
            #expect(again.indexes.count == 2)
            try await catalogue.delete("Temas")
            let left = try await database.read("SELECT count(*) FROM \"_Index\" WHERE \"className\" = 'Temas'")
            #expect(left.int(0, 0) == 0)
        }
    }

    @Test func longNamesStayApart() async throws {
        let name = String(repeating: "a", count: 60)
        let request = SchemaRequest(
            fields: ["uno": ["type": "String"]],
            indexes: JSONObject([(name + "é", ["uno": 1]), (name + "è", ["uno": -1])]))
        try await withCatalogue { catalogue, database in
            let schema = try await catalogue.create(name, request)
            #expect(schema.indexes.count == 2)
            let made = try await database.read(
                "SELECT count(*) FROM pg_class WHERE relname = ANY ($1)",
                [.textArray(schema.indexes.map(\.relation))]
            ).int(0, 0)
            #expect(made == 2)
        }
    }
}

/// The indexes of all classes that are valid: what stands behind the table's name.
func definitions(_ database: Database) async throws -> [String: String] {
    let rows = try await database.read(
        """
        SELECT c.relname, regexp_replace(pg_get_indexdef(c.oid), '^.* USING ', '')
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
        WHERE i.indisvalid AND t.relnamespace = 'public'::regnamespace
        """)
    return Dictionary(uniqueKeysWithValues: (0..<rows.count).map { (rows.string($0, 0), rows.string($0, 1)) })
}

extension Catalogue {
    func indexProgress(of className: String? = nil) async throws -> [String: [IndexProgress]] {
        try await indexProgress(of: className) { try await database.read($0, $1) }
    }
}

func withCatalogue(_ body: @Sendable (Catalogue, Database) async throws -> Void) async throws {
    try await TestDatabase.make(template: .catalogue).withDatabase { _, database in
        try await body(Catalogue(database: database, cache: SchemaCache()), database)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSON)...) { self.init(members.map { ($0.0, $0.1) }) }
}
