import Hermes
import Testing

@Suite struct FunctionTests {
    private static let abrir: KeyValuePairs<String, Parameter> = [
        "tema": .string.required.notBlank.length(6...20), "plazas": .integer.range(1...5),
        "idioma": .string.oneOf(["es", "pt"]).byDefault("es"), "autor": .pointer(Usuario.self),
        "cuando": .date, "lista": .array.length(...2), "abierto": .bool, "extra": .object,
    ]

    @Test func parametersAreCheckedBeforeTheBodyRuns() async throws {
        let seen = Seen()
        let app = Hermes()
        app.function("abrir", fields: FunctionTests.abrir) { request in
            let tema: String = try request.value("tema")
            let idioma: String? = try request.optional("idioma")
            seen.add(tema)
            return ["tema": .string(tema), "idioma": idioma.map { .string($0) } ?? nil]
        }
        try await withApp(app) { client in
            func error(_ body: Value) async throws -> String {
                let answer = try await client.post("functions/abrir", body)
                #expect(answer.code == 142)
                return answer["error"]?.string ?? ""
            }
            let wrong: [(Value, String)] = [
                ([:], "Validation failed. Please specify data for tema."),
                (["tema": nil], "Validation failed. Please specify data for tema."),
                (["tema": 7], "Validation failed. Invalid type for tema. Expected: string"),
                (["tema": "corto"], "Validation failed. Invalid value for tema."),
                (["tema": "\u{2003}      "], "Validation failed. Invalid value for tema."),
                (["tema": "Roma en un día", "plazas": 6], "Validation failed. Invalid value for plazas."),
                (
                    ["tema": "Roma en un día", "plazas": 1.5],
                    "Validation failed. Invalid type for plazas. Expected: whole number"
                ),
                (
                    ["tema": "Roma en un día", "idioma": "fr"],
                    "Validation failed. Invalid option for idioma. Expected: es, pt"
                ),
                (
                    ["tema": "Roma en un día", "autor": .pointer(AnyPointer("Temas", "t"))],
                    "Validation failed. Invalid type for autor. Expected: pointer to _User"
                ),
                (["tema": "Roma en un día", "lista": [1, 2, 3]], "Validation failed. Invalid value for lista."),
                (
                    ["tema": "Roma en un día", "abierto": 1],
                    "Validation failed. Invalid type for abierto. Expected: boolean"
                ),
                (
                    ["tema": "Roma en un día", "extra": []],
                    "Validation failed. Invalid type for extra. Expected: object"
                ),
                (
                    ["tema": "Roma en un día", "cuando": "ayer"],
                    "Validation failed. Invalid type for cuando. Expected: date"
                ),
            ]
            for (body, expected) in wrong {
                let message = try await error(body)
                #expect(message == expected)
            }
            #expect(seen.list.isEmpty)
            let right = try await client.post(
                "functions/abrir",
                [
                    "tema": "Roma en un día", "plazas": 5, "autor": .pointer(AnyPointer("_User", "u")),
                    "cuando": .date(Date(timeIntervalSince1970: 0)), "lista": [], "extra": [:], "otra": 1,
                ])
            #expect(right["result"] == ["tema": "Roma en un día", "idioma": "es"])
            // The master key is not bound.
            let master = try await client.asMaster.post("functions/abrir", ["tema": "x"])
            #expect(master["result"]?["tema"] == "x")
        }
    }

    @Test func whoMayCallIsChecked() async throws {
        let app = Hermes()
        app.function("usuario", needs: .user) { request in try request.requireUser().objectId }
        app.function("casa", needs: .master) { _ in true }
        app.function("moderar", needs: .roles(["moderadores", "administradores"])) { _ in true }
        app.function("todo", needs: .allRoles(["moderadores", "administradores"])) { _ in true }
        try await withApp(app) { client in
            let ana = try await client.signUp("ana")
            let me = try await ana.get("users/me")
            let id = me["objectId"]?.string ?? ""
            func code(_ client: TestClient, _ name: String) async throws -> Int? {
                try await client.post("functions/\(name)").code
            }
            for name in ["usuario", "casa", "moderar", "todo"] {
                let stranger = try await code(client, name)
                #expect(stranger == 142)
            }
            let own = try await ana.post("functions/usuario")
            #expect(own["result"]?.string == id)
            var codes = [try await code(ana, "casa"), try await code(ana, "moderar")]
            #expect(codes == [142, 142])
            let role = try await client.asMaster.post(
                "roles",
                [
                    "name": "moderadores", "ACL": [:],
                    "users": ["__op": "AddRelation", "objects": [.pointer(AnyPointer("_User", id))]],
                ])
            #expect(role.status == 201)
            codes = [try await code(ana, "moderar"), try await code(ana, "todo")]
            #expect(codes == [nil, 142])
            for name in ["casa", "moderar", "todo"] {
                let master = try await code(client.asMaster, name)
                #expect(master == nil)
            }
            // Whoever has no session has no id either, whatever the function needs.
            let nobody = try await code(client.asMaster, "usuario")
            #expect(nobody == 142)
        }
    }

    @Test func aRateLimitBindsEachUser() async throws {
        let app = Hermes()
        app.function("poco", rateLimit: .perDay(2)) { _ in true }
        try await withApp(app) { client in
            let ana = try await client.signUp("ana")
            let berta = try await client.signUp("berta")
            var codes: [Int?] = []
            for caller in [ana, ana, ana, berta, client.asMaster, client.asMaster, client.asMaster] {
                codes.append(try await caller.post("functions/poco").code)
            }
            #expect(codes == [nil, nil, 100, nil, nil, nil, nil])
        }
    }

    @Test func functionsAreListedForTheMaster() async throws {
        let app = Hermes()
        app.function("abrir", needs: .user, fields: ["tema": .string.required.length(6...20)], rateLimit: .perMinute(3))
        {
            _ in
        }
        app.function("b") { _ in 1 }
        try await withApp(app) { client in
            let list = try await client.asMaster.get("functions")
            #expect(
                list["results"] == [
                    [
                        "functionName": "abrir", "needs": "user", "rateLimit": ["count": 3, "seconds": 60],
                        "fields": [
                            "tema": ["type": "string", "required": true, "minimumLength": 6, "maximumLength": 20]
                        ],
                    ], ["functionName": "b", "needs": "nothing", "fields": [:]],
                ])
            let stranger = try await client.get("functions")
            #expect(stranger.status == 403)
        }
    }

    @Test func whatAFunctionAnswersIsTheResult() async throws {
        let app = Hermes()
        app.function("nada") { _ in }
        app.function("texto") { _ in "hola" }
        app.function("lista") { _ in [1, 2] }
        app.function("objeto") { request in try await request.asMaster.save(Tema(Tema: "Roma")) }
        app.function("suma") { request in
            let one = try await request.asCaller.call("texto")
            return ["texto": one ?? nil, "tema": Value(Record(Tema(Tema: "x")))]
        }
        app.function("estado") { request in
            request.status = 202
            request.setHeader("X-Viaje", "nuevo")
        }
        try await withApp(app) { client in
            let nothing = try await client.post("functions/nada")
            #expect(nothing.body == [:])
            let text = try await client.post("functions/texto")
            #expect(text["result"] == "hola")
            let list = try await client.post("functions/lista")
            #expect(list["result"] == [1, 2])
            let object = try await client.post("functions/objeto")
            #expect(object["result"]?.pointer?.object?["Tema"] == "Roma")
            #expect(object["result"]?.pointer?.className == "Temas")
            let sum = try await client.post("functions/suma")
            #expect(sum["result"] == ["texto": "hola", "tema": ["Tema": "x"]])
            let status = try await client.post("functions/estado")
            #expect(status.status == 202)
            #expect(status.headers.contains { $0.name.lowercased() == "x-viaje" && $0.value == "nuevo" })
        }
    }
}
