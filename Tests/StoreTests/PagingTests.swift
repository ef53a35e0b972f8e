import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Store

/// Pages of one find hold every object once, whatever is written in between.
@Suite struct PagingTests {
    /// Reads pages of two until they end; after the first, every object is written to, newest first.
    private static func pages(_ order: String?, in world: World) async throws -> [String] {
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            var ids: [String] = []
            while true {
                var parameters = JSONObject([("limit", 2), ("skip", .number(Double(ids.count)))])
                if let order { parameters["order"] = .string(order) }
                let query = try Query.parse(className: "Temas", parameters: parameters.members)
                var out = JSONWriter()
                try await stage.store.find(query, as: .anonymous).write(to: &out)
                let page = try JSONParser.parse(out.bytes).object?["results"]?.array ?? []
                if page.isEmpty { return ids }
                ids += page.compactMap { $0.object?["objectId"]?.string }
                for row in world.rows.reversed() {
                    let update = JSONObject([("s", "y")])
                    _ = try await stage.store.update(
                        "Temas", objectId: row.id, update, in: stage.store.operation(as: .master))
                }
            }
        }
    }

    private static let world = World(
        classes: [World.userClass, World.Class(name: "Temas", fields: [("s", .string), ("n", .number)])],
        rows: (0..<7).map {
            World.Row(className: "Temas", id: "\(9 - $0)temate", fields: [("n", .number(Double($0 / 3)))])
        })

    @Test(arguments: [nil, "n", "-n", "-createdAt", "inventada"]) func pagesHoldEveryObjectOnce(_ order: String?)
        async throws
    {
        let ids = try await PagingTests.pages(order, in: PagingTests.world)
        #expect(ids.count == 7)
        #expect(Set(ids) == Set(PagingTests.world.rows.map(\.id)))
    }

    @Test(arguments: [
        ("{}", #"ORDER BY t0."createdAt", t0."objectId" LIMIT 100"#),
        (#"{"order": "-votos"}"#, #"ORDER BY t0."votos" DESC, t0."objectId" DESC LIMIT 100"#),
        (#"{"order": "-votos,titulo"}"#, #"ORDER BY t0."votos" DESC, t0."titulo", t0."objectId" LIMIT 100"#),
        (#"{"order": "-objectId,titulo"}"#, #"ORDER BY t0."objectId" DESC LIMIT 100"#),
        (#"{"order": "lugar", "skip": 3}"#, #"ORDER BY t0."createdAt", t0."objectId" LIMIT 100 OFFSET $1::bigint"#),
    ]) func everyFindHasOneTotalOrder(_ parameters: String, _ end: String) throws {
        let text = try Built.find(parameters).text
        #expect(text.hasSuffix(end), "\(text)")
    }

    @Test func limitsThatPagesUsuallyHaveStandInTheText() throws {
        #expect((0...2000).filter(Page.isUsual).count < 50)
        #expect(try Built.find(#"{"limit": 25}"#).text.hasSuffix("LIMIT 25"))
        #expect(try Built.find(#"{"limit": 26}"#).text.hasSuffix("LIMIT $1::bigint"))
    }
}
