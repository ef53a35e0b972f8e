import Forum
import Hermes
import TestSupport
import Testing

/// The forum under test, and who is there.
struct Village: Sendable {
    /// Without a session: a stranger.
    let stranger: TestClient
    /// Past all rules.
    var database: TestDatabase?
    var master: TestClient { stranger.asMaster }

    /// A member who has just signed up.
    func member(
        _ name: String, language: String? = "es", number: String = "+34600100200"
    ) async throws -> Member {
        var body: [String: Value] = [
            "usuario": .string(name), "contraseña": "Clave-7", "correo": .string("\(name)@example.com"),
            "nombre": .string(name.uppercased()), "movil": .string(number), "ciudad": "Soria",
        ]
        body["idioma"] = language.map { .string($0) }
        let answer = try await stranger.post("functions/registrar", .object(body))
        let result = try #require(answer["result"], "\(answer.body)")
        return Member(
            name: name, id: try #require(result["objectId"]?.string), persona: try #require(result["persona"]?.string),
            client: stranger.asSession(try #require(result["sessionToken"]?.string)))
    }

    /// A member who is new no longer.
    func oldMember(_ name: String) async throws -> Member {
        let member = try await member(name)
        try await give(member, "miembros")
        return member
    }

    func moderator(_ name: String = "mod") async throws -> Member {
        let member = try await oldMember(name)
        try await give(member, "moderadores")
        return member
    }

    /// Somebody from whom all roles were taken away.
    func banned(_ name: String = "malo") async throws -> Member {
        let member = try await member(name)
        try await change(member, "nuevos", "RemoveRelation")
        return member
    }

    /// Somebody whom the app has signed up by itself.
    func anonymous() async throws -> TestClient {
        let answer = try await stranger.post(
            "users", ["authData": ["anonymous": ["id": .string("device-\(Int.random(in: 0...Int.max))")]]])
        return stranger.asSession(try #require(answer["sessionToken"]?.string, "\(answer.body)"))
    }

    func give(_ member: Member, _ role: String) async throws { try await change(member, role, "AddRelation") }

    private func change(_ member: Member, _ role: String, _ operation: String) async throws {
        let roles = try await master.get("roles?where=\("{\"name\":\"\(role)\"}".inURL)")
        let id = try #require(roles["results"]?[0]?["objectId"]?.string)
        let answer = try await master.put(
            "roles/\(id)", ["users": ["__op": .string(operation), "objects": [member.pointer]]])
        #expect(answer.status == 200, "\(answer.body)")
    }

    /// Friends, by one who finds the other.
    func befriend(_ one: Member, _ other: Member) async throws {
        let answer = try await one.call("buscarAmigo", ["correo": .string(other.address)])
        #expect(answer["result"]?["nueva"] == true, "\(answer.body)")
    }

    /// What a class holds, as the master sees it.
    func rows(_ className: String, _ condition: String = "{}") async throws -> [Value] {
        let answer = try await master.get("classes/\(className)?limit=1000&where=\(condition.inURL)")
        return try #require(answer["results"]?.array, "\(answer.body)")
    }
}

struct Member: Sendable {
    let name: String
    let id: String
    let persona: String
    let client: TestClient

    var address: String { "\(name)@example.com" }
    var pointer: Value { .pointer(AnyPointer("_User", id)) }

    func call(_ function: String, _ parameters: Value = [:]) async throws -> TestAnswer {
        try await client.post("functions/\(function.inURL)", parameters)
    }

    /// Opens a topic; answers its id and its first comment's.
    func open(_ name: String, _ words: String? = nil) async throws -> (topic: String, comment: String) {
        let answer = try await call(
            "abrirTema",
            ["tema": .string(name), "comentario": .string(words ?? "Sobre \(name)"), "avisar": false])
        let result = try #require(answer["result"], "\(answer.body)")
        return (try #require(result["tema"]?.string), try #require(result["comentario"]?.string))
    }

    func comment(_ topic: String, _ words: String) async throws -> TestAnswer {
        try await client.post("classes/Comentarios", Member.comment(topic, words))
    }

    static func comment(_ topic: String, _ words: String) -> Value {
        ["Tema": .pointer(AnyPointer("Temas", topic)), "comentario": .string(words), "avisar": false]
    }

    func write(_ chat: String, _ text: String) async throws -> TestAnswer {
        try await client.post(
            "classes/Mensajes",
            ["conversacion": .pointer(AnyPointer("Conversaciones", chat)), "tipo": "texto", "cuerpo": .string(text)])
    }

    func chat(with other: Member) async throws -> String {
        let answer = try await call("conversar", ["usuario": .string(other.name)])
        return try #require(answer["result"]?["conversacion"]?.string, "\(answer.body)")
    }
}

extension TestAnswer {
    var id: String { self["objectId"]?.string ?? "" }
    var results: [Value] { self["results"]?.array ?? [] }
}

extension String {
    /// As a part of a URL.
    var inURL: String {
        utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}

/// A database as the forum leaves it at its first start.
private let template = TestDatabase.Template("forum") { conninfo in
    let server = try await Forum.application().start(
        ["port": 0, "appId": "test", "masterKey": "master", "databaseURI": .string(conninfo), "logLevel": "error"])
    await server.stop()
}

/// Serves the forum on a database of its own. Mails go nowhere: nobody listens at the address.
func withForum(_ options: [String: Value] = [:], _ body: @Sendable (Village) async throws -> Void) async throws {
    let database = try await TestDatabase.make(template: template)
    var settled: [String: Value] = [
        "databaseURI": .string(database.conninfo), "workers": 1, "allowClientClassCreation": false,
        "email": ["smtp": "smtp://127.0.0.1:9", "from": "foro@example.com"],
    ]
    settled.merge(options) { _, given in given }
    try await Forum.application().test(settled) { client in
        try await body(Village(stranger: client, database: database))
    }
    withExtendedLifetime(database) {}
}
