import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

/// What the schema API does and refuses.
@Suite struct CatalogueTests {
    @Test func namesThatPostgresWouldCutAreRefused() async throws {
        let fits = String(repeating: "a", count: 63)
        try await TestDatabase.make(template: .catalogue).withDatabase { _, database in
            let catalogue = Catalogue(database: database, cache: SchemaCache())
            _ = try await catalogue.create(fits, SchemaRequest(fields: JSONObject([(fits, ["type": "String"])])))
            let refusedClass = await failure(of: { try await catalogue.create(fits + "a", SchemaRequest()) })
            #expect((refusedClass as? ParseError)?.code == 103)
            let refusedField = await failure(of: {
                try await catalogue.update(
                    fits, SchemaRequest(fields: JSONObject([(fits + "b", ["type": "String"])])))
            })
            #expect((refusedField as? ParseError)?.code == 105)
            // A relation's table is named after both.
            let refusedRelation = await failure(of: {
                try await catalogue.ensure(fits, fields: ["lectores": .relation("_User")])
            })
            #expect((refusedRelation as? ParseError)?.code == 105)
            let fields = try await catalogue.reload()[fits]?.fields.keys.filter { DefaultFields.everywhere[$0] == nil }
            #expect(fields == [fits])
        }
    }

    @Test func aClassWithObjectsIsNotDeleted() async throws {
        try await TestDatabase.make(template: .catalogue).withDatabase { _, database in
            let catalogue = Catalogue(database: database, cache: SchemaCache())
            _ = try await catalogue.ensure("Temas", fields: ["titulo": .string, "lectores": .relation("_User")])
            _ = try await database.write(
                "INSERT INTO \"Temas\" (\"objectId\", \"createdAt\", \"updatedAt\") VALUES ('a', now(), now())")
            let refusal = await failure(of: { try await catalogue.delete("Temas") })
            #expect((refusal as? ParseError)?.code == 255)
            let there = try await catalogue.snapshot()["Temas"]
            #expect(there != nil)
            _ = try await database.write("DELETE FROM \"Temas\"")
            try await catalogue.delete("Temas")
            let tables = try await database.read("SELECT count(*) FROM pg_class WHERE relname LIKE '%Temas%'").int(0, 0)
            #expect(tables == 0)
            // Once more is no error.
            try await catalogue.delete("Temas")
        }
    }

    @Test func aRefusedChangeLeavesNothing() async throws {
        try await TestDatabase.make(template: .catalogue).withDatabase { _, database in
            let catalogue = Catalogue(database: database, cache: SchemaCache())
            _ = try await catalogue.ensure("Temas", fields: ["titulo": .string])
            let refusal = await failure(of: {
                try await catalogue.ensure("Temas", fields: ["nuevo": .number, "titulo": .number])
            })
            #expect((refusal as? ParseError)?.code == 111)
            let fields = try await catalogue.reload()["Temas"]?.fields
            #expect(fields?["nuevo"] == nil)
            #expect(fields?["titulo"]?.type == .string)
        }
    }
}
