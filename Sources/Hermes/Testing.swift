internal import Core
internal import FoundationEssentials
internal import Glibc
internal import HTTP
internal import Synchronization
internal import Wire

extension Hermes {
    /// Starts the server on a free port, runs `body` with a client of it, and ends the server.
    ///
    /// It has an empty database of its own, which is gone afterwards: a private PostgreSQL cluster in a temporary folder
    /// (about two seconds), unless the options give a `databaseURI`. Classes that clients name are made for them, as the
    /// tests' classes would otherwise have to be defined first.
    ///
    ///     try await app.test { client in
    ///         let answer = try await client.post("functions/hola", ["nombre": "Ana"])
    ///         #expect(answer["result"] == "Hola, Ana")
    ///     }
    ///
    /// Options are as a configuration file has them.
    public func test(
        _ options: [String: Value] = [:], _ body: @Sendable (TestClient) async throws -> Void
    ) async throws {
        var template = Array("/tmp/hermes-app-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw ParseError(nil, "There is no room for a folder in /tmp.") }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // PostgreSQL runs as another user where this program is root.
        chmod(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var settled: [String: Value] = [
            "port": 0, "appId": "test", "masterKey": "master", "dataFolder": .string(folder), "logLevel": "error",
            "allowClientClassCreation": true,
        ]
        settled.merge(options) { _, given in given }
        let server = try await start(settled)
        let client: TestClient
        do { client = try await TestClient(server) } catch {
            await server.stop()
            throw error
        }
        var failure: (any Error)?
        do { try await body(client) } catch { failure = error }
        await client.close()
        await server.stop()
        if let failure { throw failure }
    }
}

/// A client of a server under test: what an application's tests send and get.
public final class TestClient: Sendable {
    private let worker: Worker
    private let http: Resident<HTTPClient>
    private let server: RunningServer
    private let headers: [(String, String)]

    init(_ server: RunningServer) async throws {
        worker = Worker(name: "client")
        http = try await Resident(on: worker) { HTTPClient(loop: $0) }
        self.server = server
        headers = [("X-Parse-Application-Id", server.appId), ("Content-Type", "application/json")]
    }

    private init(_ other: TestClient, _ header: (String, String)) {
        (worker, http, server) = (other.worker, other.http, other.server)
        headers = other.headers + [header]
    }

    /// The same client with the master key.
    public var asMaster: TestClient { TestClient(self, ("X-Parse-Master-Key", server.masterKey)) }

    /// The same client with somebody's session.
    public func asSession(_ token: String) -> TestClient { TestClient(self, ("X-Parse-Session-Token", token)) }

    /// The same client with a header more.
    public func with(header name: String, _ value: String) -> TestClient { TestClient(self, (name, value)) }

    /// Signs somebody up, and is his client.
    ///
    /// - Throws: a ``ParseError`` where the server refuses.
    public func signUp(_ username: String, password: String = "contraseña") async throws -> TestClient {
        let answer = try await post("users", ["username": .string(username), "password": .string(password)])
        guard let token = answer["sessionToken"]?.string else {
            throw ParseError(answer.code, answer["error"]?.string ?? "nobody was signed up")
        }
        return asSession(token)
    }

    /// Sends a GET; see ``send(_:_:_:)``.
    public func get(_ path: String) async throws -> TestAnswer { try await send("GET", path) }
    /// Sends a POST; see ``send(_:_:_:)``.
    public func post(_ path: String, _ body: Value = [:]) async throws -> TestAnswer {
        try await send("POST", path, body)
    }
    /// Sends a PUT; see ``send(_:_:_:)``.
    public func put(_ path: String, _ body: Value) async throws -> TestAnswer { try await send("PUT", path, body) }
    /// Sends a DELETE; see ``send(_:_:_:)``.
    public func delete(_ path: String) async throws -> TestAnswer { try await send("DELETE", path) }

    /// Sends a request. The path is below the mount path, with the query: `classes/Temas?order=-createdAt`.
    public func send(_ method: String, _ path: String, _ body: Value? = nil) async throws -> TestAnswer {
        let request = HTTPClientRequest(
            method: method, url: server.url + "/" + path, headers: headers, body: body?.json.bytes ?? [])
        guard let response = try await http.run({ try await $0.send(request) }) else { throw CancellationError() }
        let body = (try? JSONParser.parse(response.body)).map { Value($0) } ?? .null
        return TestAnswer(status: response.status, body: body, headers: response.headers)
    }

    /// A browser of the application's pages, without cookies at first.
    ///
    /// - Parameter language: what it sends as `Accept-Language`.
    public func browser(language: String? = nil) -> TestBrowser {
        let site = "http://127.0.0.1:\(server.port)"
        let headers = language.map { [("Accept-Language", $0)] } ?? []
        return TestBrowser { [http] method, path, more, body in
            let request = HTTPClientRequest(method: method, url: site + path, headers: headers + more, body: body)
            guard let response = try await http.run({ try await $0.send(request) }) else { throw CancellationError() }
            return TestPage(
                status: response.status, text: String(decoding: response.body, as: UTF8.self), headers: response.headers
            )
        }
    }

    func close() async {
        await http.run { $0.close() }
        await http.end()
        await worker.stop()
    }
}

/// A browser as far as tests of pages need one: it keeps cookies and sends forms; it follows no redirect by itself.
public final class TestBrowser: Sendable {
    private let send: @Sendable (String, String, [(String, String)], [UInt8]) async throws -> TestPage
    private let kept = Mutex<[String: String]>([:])

    init(_ send: @escaping @Sendable (String, String, [(String, String)], [UInt8]) async throws -> TestPage) {
        self.send = send
    }

    /// By their names.
    public var cookies: [String: String] {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }

    /// Opens a page: `/tema/x?pagina=2`.
    public func get(_ path: String, headers: [(String, String)] = []) async throws -> TestPage {
        try await ask("GET", path, headers)
    }

    /// Sends a form.
    public func post(
        _ path: String, _ form: [String: String], headers: [(String, String)] = []
    ) async throws -> TestPage {
        let body = form.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
        return try await ask(
            "POST", path, headers + [("Content-Type", "application/x-www-form-urlencoded")], Array(body.utf8))
    }

    private func ask(
        _ method: String, _ path: String, _ headers: [(String, String)], _ body: [UInt8] = []
    ) async throws -> TestPage {
        let cookies = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
        let page = try await send(method, path, headers + (cookies.isEmpty ? [] : [("Cookie", cookies)]), body)
        for (name, value) in page.headers where name.lowercased() == "set-cookie" {
            let parts = value.split(separator: ";").map { $0.drop { $0 == " " } }
            let sides = parts.first?.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) ?? []
            guard sides.count == 2 else { continue }
            let isGone = parts.contains { $0.lowercased() == "max-age=0" }
            kept.withLock { $0[String(sides[0])] = isGone ? nil : String(sides[1]) }
        }
        return page
    }
}

/// A page as it came.
public struct TestPage: Sendable {
    /// HTTP's.
    public let status: Int
    public let text: String
    /// As they came.
    public let headers: [(name: String, value: String)]

    /// The first header of this name, whatever case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// What a server answered.
public struct TestAnswer: Sendable {
    /// HTTP's.
    public let status: Int
    /// null where it was no JSON.
    public let body: Value
    /// As they came.
    public let headers: [(name: String, value: String)]
    /// Parse's code of an error.
    public var code: Int? { self["code"]?.int }
    /// A member of the answer.
    public subscript(name: String) -> Value? { body[name] }
}
