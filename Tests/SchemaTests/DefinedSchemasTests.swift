import Core
import Postgres
import TestSupport
import Testing
import Wire

@testable import Schema

/// Classes that a configuration defines.
@Suite struct DefinedSchemasTests {
    private static let first: JSON = [
        [
            "className": "Hilos",
            "fields": ["titulo": ["type": "String", "required": true], "votos": ["type": "Number"]],
            "indexes": ["por_votos": ["votos": 1], "por_titulo": ["titulo": 1]],
            "classLevelPermissions": ["find": ["*": true]],
        ]
    ]
    private static let second: JSON = [
        [
            "className": "Hilos",
            "fields": [
                "titulo": ["type": "String"], "votos": ["type": "String"],
                "autor": ["type": "Pointer", "targetClass": "_User"],
            ],
            "indexes": ["por_votos": ["votos": -1]],
        ],
        ["className": "_User", "fields": ["username": ["type": "String"], "alias": ["type": "String"]]],
    ]

    @Test func aSecondDefinitionChangesWhatItMay() async throws {
        try await withCatalogue { catalogue, database in
            try await catalogue.apply(try DefinedSchemas(DefinedSchemasTests.first))
            let made = try #require(try await catalogue.reload()["Hilos"])
            #expect(made.fields["titulo"]?.required == true)
            #expect(made.indexes.count == 2)
            #expect(made.permissions.grant(.find).everybody)
            #expect(!made.permissions.grant(.addField).everybody)
            // The same once more is no change.
            try await catalogue.apply(try DefinedSchemas(DefinedSchemasTests.first))
            let again = try await catalogue.reload()["Hilos"]?.version
            #expect(again == made.version)

            var careful = try DefinedSchemas(DefinedSchemasTests.second)
            careful.isStrict = true
            careful.keepsUnknownIndexes = true
            try await catalogue.apply(careful)
            let kept = try #require(try await catalogue.reload()["Hilos"])
            #expect(kept.fields["titulo"]?.required == false)
            #expect(kept.fields["votos"]?.type == .number)
            #expect(kept.fields["autor"]?.type == .pointer("_User"))
            #expect(Set(kept.indexes.map(\.name)) == ["por_votos", "por_titulo"])
            #expect(!kept.permissions.grant(.find).everybody)
            let alias = try await catalogue.snapshot()["_User"]?.fields["alias"]
            #expect(alias?.type == .string)

            var thorough = try DefinedSchemas(DefinedSchemasTests.second)
            thorough.recreatesModifiedFields = true
            thorough.deletesExtraFields = true
            _ = try await catalogue.ensure("Hilos", fields: ["de_mas": .string])
            try await catalogue.apply(thorough)
            let changed = try #require(try await catalogue.reload()["Hilos"])
            #expect(changed.fields["votos"]?.type == .string)
            #expect(changed.fields["de_mas"] == nil)
            #expect(changed.indexes.map(\.name) == ["por_votos"])
        }
    }

    @Test func nodesThatStartTogetherDefineOnce() async throws {
        try await TestDatabase.make(template: .catalogue).withDatabase { _, database in
            let results = await database.loop.concurrently(4) { _ in
                let catalogue = Catalogue(database: database, cache: SchemaCache())
                try await catalogue.apply(try DefinedSchemas(DefinedSchemasTests.first))
            }
            for result in results { if case .failure(let error) = result { Issue.record(error) } }
        }
    }

    @Test(
        arguments: [
            [:], [1], [["fields": [:]]], [["className": "9"]], [["className": "A", "fields": 1]],
            [["className": "A"], ["className": "A"]],
        ] as [JSON])
    func whatIsNoDefinitionIsRefused(_ json: JSON) {
        #expect(throws: ParseError.self) { try DefinedSchemas(json) }
    }
}
