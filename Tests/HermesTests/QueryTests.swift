import Hermes
import Testing

/// Queries and writes of an application, asked within a function of a real server.
@Suite struct QueryTests {
    /// Runs `body` within a function, as an application's code would.
    private func within(
        _ body: @escaping @Sendable (FunctionRequest) async throws -> Void
    ) async throws {
        let app = Hermes()
        app.function("prueba") { request in try await body(request) }
        try await withApp(app) { client in
            let answer = try await client.post("functions/prueba")
            #expect(answer.status == 200, "\(answer.body)")
        }
    }

    private static let roma = GeoPoint(latitude: 41.9, longitude: 12.5)

    private static func fill(_ database: Database) async throws -> [Record<Tema>] {
        let ana = try await database.signUp(Usuario(username: "ana", password: "x", ciudad: "Bari")).user.pointer
        return try await database.saveAll([
            Record(
                Tema(
                    Tema: "Roma en tres días", comentarios: 3, cerrado: false, autor: ana, etiquetas: ["a", "b"],
                    lugar: roma, cierre: Date(timeIntervalSince1970: 1_000_000), estado: .abierto, nota: 4.5)),
            Record(Tema(Tema: "Roma (y más) barata", comentarios: 8, cerrado: true, etiquetas: ["b"])),
            Record(
                Tema(
                    Tema: "Bari", comentarios: 5, autor: ana, lugar: GeoPoint(latitude: 41.1, longitude: 16.9),
                    estado: .archivado)),
        ])
    }

    @Test func everyConditionFindsWhatItSays() async throws {
        try await within { request in
            let all = request.asMaster
            let temas = try await QueryTests.fill(all)
            let ana = try #require(temas[0].autor)
            func find(_ condition: Condition<Tema>) async throws -> [Int] {
                let query = Query(Tema.self).where(condition).order(.ascending(\.comentarios))
                return try await all.find(query).compactMap(\.comentarios)
            }
            func check(_ condition: Condition<Tema>, _ expected: [Int], _ line: Int = #line) async throws {
                let found = try await find(condition)
                #expect(found == expected, "line \(line)")
            }
            try await check(\.comentarios > 3, [5, 8])
            try await check(\.comentarios >= 3, [3, 5, 8])
            try await check(\.comentarios < 5, [3])
            try await check(\.comentarios <= 5, [3, 5])
            try await check(\.comentarios > 3 && \.comentarios < 8, [5])
            try await check(\.comentarios == 3 || \.Tema == "Bari", [3, 5])
            try await check(!(\.comentarios == 3), [5, 8])
            try await check(\.cerrado != true, [3, 5])
            try await check(\.cerrado == nil, [5])
            try await check(\.autor == ana, [3, 5])
            try await check(\.estado == .archivado, [5])
            try await check(\.cierre < Date(timeIntervalSince1970: 1_000_001), [3])
            try await check(\.createdAt > Date(timeIntervalSince1970: 0), [3, 5, 8])
            try await check(\.objectId == temas[1].objectId, [8])
            try await check(.isIn(\.comentarios, [3, 8]), [3, 8])
            try await check(.isNotIn(\.comentarios, [3, 8]), [5])
            try await check(.isIn("etiquetas", [.array(["a", "b"]), .string("c")]), [3])
            try await check(.contains(\.etiquetas, "b"), [3, 8])
            try await check(.containsAll(\.etiquetas, ["a", "b"]), [3])
            try await check(.exists(\.lugar), [3, 5])
            try await check(.exists(\.lugar, false), [8])
            try await check(.startsWith(\.Tema, "Roma (y"), [8])
            try await check(.matches(\.Tema, "TRES", options: "i"), [3])
            try await check(.near(\.lugar, QueryTests.roma, within: 100), [3])
            try await check(
                .within(
                    \.lugar,
                    Polygon([
                        GeoPoint(latitude: 41, longitude: 16), GeoPoint(latitude: 42, longitude: 16),
                        GeoPoint(latitude: 42, longitude: 18), GeoPoint(latitude: 41, longitude: 18),
                    ])), [5])
            try await check(.matches(\.autor, Query(Usuario.self).where(\.ciudad == "Bari")), [3, 5])
            try await check(.matchesNone(\.autor, Query(Usuario.self).where(\.ciudad == "Bari")), [8])
            try await check(.text(\.Tema, "barata"), [8])
            try await check(.any([]), [])
            try await check(.every([]), [3, 5, 8])
            try await check(Name("comentarios") > 3, [5, 8])
            try await check(Name("autor") == .pointer(AnyPointer("_User", ana.objectId)), [3, 5])
        }
    }

    @Test func pagesOrdersAndWhatComesAlong() async throws {
        try await within { request in
            let all = request.asMaster
            _ = try await QueryTests.fill(all)
            let query = Query(Tema.self).order(.descending(\.comentarios)).include(\.autor).limit(2)
            let page = try await all.find(query)
            #expect(page.map(\.comentarios) == [8, 5])
            #expect(page[1].autor?.object?.username == "ana")
            let next = try await all.find(query.skip(2))
            #expect(next.map(\.comentarios) == [3])
            let count = try await all.count(query)
            #expect(count == 3)
            let some = try await all.first(Query(Tema.self).select(\.Tema).where(\.comentarios == 3))
            #expect(some?.comentarios == nil)
            #expect(some?.Tema == "Roma en tres días")
            let none = try await all.first(Query("Temas").where(Name("comentarios") == 77))
            #expect(none == nil)
        }
    }

    @Test func allObjectsComeOncePageByPage() async throws {
        try await within { request in
            let all = request.asMaster
            for n in 0..<25 { try await all.save(Nota(n: n)) }
            var seen: [Int] = []
            for try await nota in all.all(Query(Nota.self).where(\.n < 23), page: 5) {
                seen.append(nota.n ?? -1)
                // What comes and goes meanwhile moves nothing.
                if seen.count == 7 { try await all.delete(nota) }
            }
            #expect(seen.sorted() == Array(0..<23))
        }
    }

    @Test func writesOfAnApplication() async throws {
        try await within { request in
            let all = request.asMaster
            var tema = try await all.save(Tema(Tema: "Roma", comentarios: 1))
            #expect(tema.objectId != nil)
            #expect(tema.createdAt != nil)
            #expect(tema.changedFields.isEmpty)
            tema.increment(\.comentarios)
            tema.etiquetas = ["x"]
            let saved = try await all.save(tema)
            #expect(saved.comentarios == 2)
            let read = try await all.fetch(try saved.pointer)
            #expect(read.comentarios == 2)
            #expect(read.etiquetas == ["x"])
            #expect(read.Tema == "Roma")
            let ana = try await all.signUp(Usuario(username: "ana", password: "x"))
            var change = Record(try saved.pointer)
            change.add(try ana.user.pointer, to: \.lectores)
            change.Tema = nil
            try await all.save(change)
            let readers = try await all.find(Query(Usuario.self).related(to: try saved.pointer, \.lectores))
            #expect(readers.map(\.username) == ["ana"])
            let bare = try await all.get("Temas", saved.objectId ?? "")
            #expect(bare["Tema"] == nil)
            try await all.delete(saved)
            do {
                _ = try await all.get(Tema.self, saved.objectId ?? "")
                Issue.record("it is still there")
            } catch let error as ParseError { #expect(error.code == 101) }
        }
    }

    @Test func rightsAreThoseThatAreAskedFor() async throws {
        try await within { request in
            let all = request.asMaster
            let ana = try await all.with(installationId: "i1").signUp(Usuario(username: "ana", password: "x"))
            let token = try #require(ana.sessionToken)
            let user = try ana.user.pointer
            var acl = ACL()
            acl.allow(.user(user), read: true)
            var secret = Record(Nota(texto: "secreta"))
            secret.acl = acl
            let saved = try await all.save(secret)
            let query = Query(Nota.self)
            let counts = (
                try await all.count(query), try await request.asCaller.count(query),
                try await all.asNobody.count(query), try await all.asSession(token).count(query)
            )
            #expect(counts == (1, 0, 0, 1))
            do {
                try await all.asSession(token).delete(saved)
                Issue.record("it was deleted")
            } catch let error as ParseError { #expect(error.code == 101) }
            let again = try await all.asNobody.logIn(username: "ana", password: "x", as: Usuario.self)
            #expect(again.user.username == "ana")
            #expect(again.sessionToken != nil)
            var role = Record(Role.self)
            role.name = "moderadores"
            role.acl = ACL()
            try await all.save(role)
            try await all.add(user, toRole: "moderadores")
            let members = try await all.find(
                Query(User.self).related(to: try await all.role("moderadores").pointer, \.users))
            #expect(members.map(\.username) == ["ana"])
        }
    }
}
