import Forum
import Hermes
import TestSupport
import Testing

/// A browser in front of the forum, and what it knows to do with pages and their forms.
struct Visitor: Sendable {
    let browser: TestBrowser

    @discardableResult
    func get(_ path: String, _ status: Int = 200, _ line: SourceLocation = #_sourceLocation) async throws -> TestPage {
        let page = try await browser.get(path)
        #expect(page.status == status, "\(path): \(page.text)", sourceLocation: line)
        return page
    }

    /// Opens the page of a form, and sends the form that has this action.
    @discardableResult
    func send(
        _ form: [String: String], to action: String, from path: String? = nil, _ status: Int = 303,
        _ line: SourceLocation = #_sourceLocation
    ) async throws -> TestPage {
        let page = try await browser.get(path ?? action)
        let token = try #require(page.formToken, "no form on \(path ?? action): \(page.text)", sourceLocation: line)
        var whole = form
        whole["prueba"] = token
        let answer = try await browser.post(action, whole)
        #expect(answer.status == status, "\(action): \(answer.text)", sourceLocation: line)
        return answer
    }

    func signUp(_ name: String, number: String = "600100200") async throws {
        try await send(
            [
                "usuario": name, "correo": "\(name.filter { $0.isLetter })@example.com", "clave": "Clave-7",
                "nombre": name, "movil": number, "ciudad": "Soria",
            ], to: "/registro")
    }

    /// Opens a topic; answers its path.
    func open(_ name: String, _ words: String? = nil) async throws -> String {
        let done = try await send(["tema": name, "comentario": words ?? "Sobre \(name)"], to: "/nuevo")
        return try #require(done.header("Location"))
    }

    /// Finds somebody by the address, which makes both friends, and begins to talk; answers the conversation's path.
    func talk(to name: String) async throws -> String {
        try await send(["accion": "buscar", "dato": "\(name)@example.com"], to: "/amigos")
        let begun = try await send(["accion": "conversar", "usuario": name], to: "/charlas", from: "/amigos")
        return try #require(begun.header("Location"))
    }
}

extension TestPage {
    var formToken: String? {
        text.split(separator: "name=\"prueba\" value=\"").dropFirst().first.map { String($0.prefix { $0 != "\"" }) }
    }

    /// How often a piece of text stands in it.
    func count(_ piece: String) -> Int { text.split(separator: piece, omittingEmptySubsequences: false).count - 1 }
}

/// The forum, and browsers in front of it.
struct Site: Sendable {
    let client: TestClient

    func visitor(_ language: String? = "es") -> Visitor { Visitor(browser: client.browser(language: language)) }

    /// Somebody who has just signed up.
    func member(_ name: String, _ language: String = "es") async throws -> Visitor {
        let visitor = visitor(language)
        try await visitor.signUp(name)
        return visitor
    }

    func give(_ name: String, _ role: String) async throws { try await change(name, role, "AddRelation") }

    /// Has somebody write no more.
    func ban(_ name: String) async throws { try await change(name, "nuevos", "RemoveRelation") }

    private func change(_ name: String, _ role: String, _ operation: String) async throws {
        let users = try await client.asMaster.get("users?limit=1000")
        let user = try #require(users["results"]?.array?.first { $0["username"]?.string == name })
        let roles = try await client.asMaster.get("roles")
        let found = try #require(roles["results"]?.array?.first { $0["name"]?.string == role })
        let pointer = Value.pointer(AnyPointer("_User", user["objectId"]?.string ?? ""))
        let answer = try await client.asMaster.put(
            "roles/\(found["objectId"]?.string ?? "")", ["users": ["__op": .string(operation), "objects": [pointer]]])
        #expect(answer.status == 200, "\(answer.body)")
    }
}

private let template = TestDatabase.Template("web") { conninfo in
    let server = try await Forum.application().start(
        ["port": 0, "appId": "test", "masterKey": "master", "databaseURI": .string(conninfo), "logLevel": "error"])
    await server.stop()
}

/// Serves the forum on a database of its own. Mails go nowhere: nobody listens at the address.
func withSite(
    _ given: [String: Value] = [:], _ body: @Sendable (Site) async throws -> Void
) async throws {
    let database = try await TestDatabase.make(template: template)
    var options: [String: Value] = [
        "databaseURI": .string(database.conninfo), "workers": 1, "allowClientClassCreation": false,
        "email": ["smtp": "smtp://127.0.0.1:9", "from": "foro@example.com"],
    ]
    options.merge(given) { $1 }
    try await Forum.application().test(options) { client in try await body(Site(client: client)) }
    withExtendedLifetime(database) {}
}
