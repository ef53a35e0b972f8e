import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Store

/// A refusal tells the same whether an object is there or not, and protected fields stay out of every answer.
@Suite struct RefusalTests {
    private static let secret = World.Row(className: "Temas", id: "secretosec", fields: [("s", "x")], acl: JSONObject())

    private static func world(_ permissions: JSON?) -> World {
        World(
            classes: [
                World.userClass,
                World.Class(
                    name: "Temas", fields: [("s", .string), ("w", .pointer("_User"))], permissions: permissions?.object),
            ], rows: [secret])
    }

    /// The codes of get, update and delete, of the object that is there and of one that is not.
    private static func codes(_ permissions: JSON?, as viewer: Viewer) async throws -> [[Int?]] {
        let world = world(permissions)
        return try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            let store = stage.store
            let update = JSONObject([("s", "y")])
            let adding = JSONObject([("nuevo", 1)])
            var all: [[Int?]] = []
            for id in [secret.id, "noestaaaaa"] {
                let operation = store.operation(as: viewer)
                var errors: [(any Error)?] = []
                errors.append(
                    await failure(of: {
                        try await store.get(
                            try Query.parseGet(className: "Temas", objectId: id, parameters: []), objectId: id,
                            as: viewer)
                    }))
                errors.append(
                    await failure(of: { try await store.update("Temas", objectId: id, update, in: operation) }))
                errors.append(
                    await failure(of: { try await store.update("Temas", objectId: id, adding, in: operation) }))
                errors.append(await failure(of: { try await store.delete("Temas", objectId: id, in: operation) }))
                all.append(errors.map { ($0 as? ParseError)?.code })
            }
            return all
        }
    }

    @Test func anObjectThatTheACLHidesIsAsOneThatIsNotThere() async throws {
        let codes = try await RefusalTests.codes(nil, as: Viewer(userId: World.users[0], roles: ["mods"]))
        #expect(codes == [[101, 101, 101, 101], [101, 101, 101, 101]])
    }

    @Test func aClosedClassRefusesBeforeItLooks() async throws {
        let codes = try await RefusalTests.codes([:], as: Viewer(userId: World.users[0]))
        #expect(codes == [[119, 119, 119, 119], [119, 119, 119, 119]])
    }

    @Test func aClassForUsersRefusesBeforeItLooks() async throws {
        let grant: JSON = ["requiresAuthentication": true]
        let codes = try await RefusalTests.codes(
            ["get": grant, "find": grant, "update": grant, "delete": grant, "addField": grant], as: .anonymous)
        #expect(codes == [[101, 101, 101, 101], [101, 101, 101, 101]])
    }

    @Test func anObjectOfAnotherUserIsAsOneThatIsNotThere() async throws {
        let grant: JSON = ["pointerFields": ["w"]]
        let codes = try await RefusalTests.codes(
            ["get": grant, "find": grant, "update": grant, "delete": grant, "addField": grant],
            as: Viewer(userId: World.users[0]))
        #expect(codes == [[101, 101, 101, 101], [101, 101, 101, 101]])
    }

    @Test func whatIsRefusedMakesNoField() async throws {
        let world = RefusalTests.world(nil)
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            let adding = JSONObject([("nuevo", 1)])
            _ = await failure(of: {
                try await stage.store.update(
                    "Temas", objectId: RefusalTests.secret.id, adding, in: stage.store.operation(as: .anonymous))
            })
            let field = try await stage.store.catalogue.reload()["Temas"]?.fields["nuevo"]
            #expect(field == nil)
        }
    }

    @Test func anObjectThatLacksARequiredFieldMakesNoField() async throws {
        var world = RefusalTests.world(nil)
        world.classes[1].options["s"] = JSONObject([("required", true)])
        let given = world
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(given)
            let error = await failure(of: {
                try await stage.store.create(
                    "Temas", JSONObject([("nuevo", 1)]), in: stage.store.operation(as: .anonymous))
            })
            #expect((error as? ParseError)?.code == 142)
            let field = try await stage.store.catalogue.reload()["Temas"]?.fields["nuevo"]
            #expect(field == nil)
        }
    }

    @Test func aDefaultACLNamesTheCallerOnce() async throws {
        let acl = JSONObject([
            (World.users[0], ["read": true]), ("currentUser", ["write": true]), ("role:mods", [:]),
        ])
        var permissions = JSONObject([("ACL", .object(acl))])
        permissions["create"] = ["*": true]
        let given = RefusalTests.world(.object(permissions))
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(given)
            let written = try await stage.store.create(
                "Temas", JSONObject([("s", "a")]),
                in: stage.store.operation(as: Viewer(userId: World.users[0])))
            #expect(written.answered["ACL"] == .object(JSONObject([(World.users[0], ["write": true])])))
        }
    }
}
