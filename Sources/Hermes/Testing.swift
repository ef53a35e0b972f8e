internal import Core
internal import FoundationEssentials
internal import Glibc
internal import HTTP
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

    func close() async {
        await http.run { $0.close() }
        await http.end()
        await worker.stop()
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
