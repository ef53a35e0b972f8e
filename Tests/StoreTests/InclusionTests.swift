import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Store

@Suite struct InclusionTests {
    /// A statement's rows have at most 1,664 columns in PostgreSQL, which two classes may have together.
    @Test func classesOfManyFieldsAreIncluded() async throws {
        let many = (0..<900).map { (name: "n\($0)", type: FieldType.number) }
        let world = World(
            classes: [
                World.userClass,
                World.Class(name: "Temas", fields: many + [("foro", .pointer("Foros"))], permissions: nil),
                World.Class(name: "Foros", fields: many, permissions: nil),
            ],
            rows: [
                World.Row(className: "Foros", id: "foro000001", fields: [("n899", 7)], acl: nil),
                World.Row(
                    className: "Temas", id: "tema000001",
                    fields: [("foro", ["__type": "Pointer", "className": "Foros", "objectId": "foro000001"])], acl: nil),
            ])
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            let query = try Query.parse(className: "Temas", parameters: [("include", "foro"), ("limit", 10)])
            let found = try await stage.store.find(query, in: stage.store.operation(as: .anonymous)).json()
            #expect(found.first?.object?["foro"]?.object?["n899"] == 7)
            let get = try Query.parseGet(className: "Temas", objectId: "tema000001", parameters: [("include", "foro")])
            let one = try await stage.store.get(
                get, objectId: "tema000001", in: stage.store.operation(as: .anonymous)
            ).json()
            #expect(one.object?["foro"]?.object?["n899"] == 7)
        }
    }
}
