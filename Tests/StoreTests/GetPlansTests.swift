import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Store

/// A get's statement is kept from one request to the next: it must never be another viewer's, or another shape's.
@Suite struct GetPlansTests {
    private static let world = World(
        classes: [
            World.userClass,
            World.Class(name: "Temas", fields: [("s", .string), ("w", .pointer("_User"))], permissions: nil),
        ],
        rows: [
            World.Row(className: "Temas", id: "dealguno01", fields: [("s", "x")], acl: acl("anaanaanaa")),
            World.Row(className: "Temas", id: "detodos001", fields: [("s", "y")], acl: acl("*")),
        ])
    private static func acl(_ reader: String) -> JSONObject { JSONObject([(reader, ["read": true])]) }
    private static let ana = Viewer(userId: "anaanaanaa")
    private static let luis = Viewer(userId: "luisluislu")

    private func get(_ store: Store, _ id: String, as viewer: Viewer) async -> JSONObject? {
        await get(store, id, as: viewer, [])
    }

    private func get(
        _ store: Store, _ id: String, as viewer: Viewer, _ parameters: [(key: String, value: JSON)]
    ) async -> JSONObject? {
        do {
            let query = try Query.parseGet(className: "Temas", objectId: id, parameters: parameters)
            return try await store.getRow(query, objectId: id, in: store.operation(as: viewer)).json().object
        } catch {
            #expect((error as? ParseError)?.code == 101)
            return nil
        }
    }

    @Test func eachViewerSeesWhatIsItsOwn() async throws {
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(Self.world)
            // Twice, so that each has met what another has left.
            for _ in 0..<2 {
                #expect(await get(stage.store, "dealguno01", as: Self.ana)?["s"] == "x")
                #expect(await get(stage.store, "dealguno01", as: Self.luis) == nil)
                #expect(await get(stage.store, "dealguno01", as: .anonymous) == nil)
                #expect(await get(stage.store, "dealguno01", as: .master)?["s"] == "x")
                #expect(await get(stage.store, "detodos001", as: Self.luis)?["s"] == "y")
                let narrow = await get(stage.store, "detodos001", as: Self.luis, [("keys", "w")])
                #expect(narrow?["objectId"] == "detodos001" && narrow?["s"] == nil)
            }
        }
    }

    @Test func aClassThatWasChangedIsReadAsItIsNow() async throws {
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(Self.world)
            let store = stage.store
            #expect(await get(store, "detodos001", as: Self.luis)?["s"] == "y")

            let change = JSONObject([("nuevo", 7)])
            _ = try await store.update("Temas", objectId: "detodos001", change, in: store.operation(as: .master))
            #expect(await get(store, "detodos001", as: Self.luis)?["nuevo"] == 7)

            var permissions = JSONObject()
            for operation in ["get", "find", "create", "update", "delete"] { permissions[operation] = ["*": true] }
            permissions["protectedFields"] = ["*": ["s"]]
            _ = try await store.catalogue.update("Temas", SchemaRequest(permissions: permissions))
            let hidden = await get(store, "detodos001", as: Self.luis)
            #expect(hidden?["nuevo"] == 7 && hidden?["s"] == nil)

            permissions["protectedFields"] = nil
            permissions["get"] = ["pointerFields": ["w"]]
            _ = try await store.catalogue.update("Temas", SchemaRequest(permissions: permissions))
            #expect(await get(store, "detodos001", as: Self.luis) == nil)
            #expect(await get(store, "detodos001", as: .master)?["s"] == "y")
        }
    }
}
