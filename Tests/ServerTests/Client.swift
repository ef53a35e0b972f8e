import Core
import HTTP
import Wire

/// What a server answered.
struct Reply: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// The members of the answer; empty where it is no object.
    let json: JSONObject
    let array: [JSON]

    init(_ response: HTTPClientResponse) {
        status = response.status
        headers = response.headers
        body = response.body
        let parsed = try? JSONParser.parse(response.body)
        json = parsed?.object ?? JSONObject()
        array = parsed?.array ?? []
    }

    var isSuccess: Bool { status == 200 || status == 201 }
    var code: Int? { json["code"]?.number.map { Int($0) } }
    /// Status and code, `400/107`.
    var summary: String { code.map { "\(status)/\($0)" } ?? "\(status)" }
    var objectId: String? { json["objectId"]?.string }
    var sessionToken: String? { json["sessionToken"]?.string }
    var text: String { String(decoding: body, as: UTF8.self) }
    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Many clients of one server on the worker of a test: each request in flight has a connection of its own, up to 64.
final class Client {
    private let http: HTTPClient
    let port: Int

    init(_ loop: Loop, port: Int) {
        http = HTTPClient(loop: loop, connectionsPerHost: 64)
        self.port = port
    }

    func close() { http.close() }

    /// - Parameter path: Below the mount path, with the query.
    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, session: String? = nil, master: Bool = false,
        headers: [(String, String)] = []
    ) async throws -> Reply {
        try await send(method, path, bytes: body?.bytes ?? [], session: session, master: master, headers: headers)
    }

    func send(
        _ method: String, _ path: String, bytes: [UInt8], type: String = "application/json", session: String? = nil,
        master: Bool = false, headers: [(String, String)] = []
    ) async throws -> Reply {
        var all = [("X-Parse-Application-Id", TestServer.appId), ("Content-Type", type)]
        if master { all.append(("X-Parse-Master-Key", TestServer.masterKey)) }
        if let session { all.append(("X-Parse-Session-Token", session)) }
        let request = HTTPClientRequest(
            method: method, url: "http://127.0.0.1:\(port)/parse\(path)", headers: all + headers, body: bytes)
        return Reply(try await http.send(request))
    }

    /// Makes an object with the master key; its id.
    func create(_ className: String, _ body: JSON) async throws -> String {
        let reply = try await send("POST", "/classes/\(className)", body, master: true)
        guard reply.status == 201, let id = reply.objectId else { throw Unexpected(reply) }
        return id
    }

    /// Signs a user up; its id and session token.
    func signUp(_ name: String) async throws -> (id: String, token: String) {
        let reply = try await signUp(["username": .string(name), "password": "secret"])
        guard let id = reply.objectId, let token = reply.sessionToken else { throw Unexpected(reply) }
        return (id, token)
    }

    /// What the server answers in the end to a user's sign-up.
    func signUp(_ user: JSON) async throws -> Reply { try await sendPassword("POST", "/users", user) }

    /// What the server answers in the end to a request that sets a password.
    func sendPassword(_ method: String, _ path: String, _ body: JSON, master: Bool = false) async throws -> Reply {
        var reply = try await send(method, path, body, master: master)
        for _ in 0..<20 where reply.status == 503 {
            // The server has more passwords to check than a busy machine can, and says when to come again.
            try await Task.sleep(for: .seconds(reply.header("Retry-After").flatMap { Int($0) } ?? 1))
            reply = try await send(method, path, body, master: master)
        }
        return reply
    }

    /// A request whose answer is needed to be a success.
    @discardableResult
    func must(
        _ method: String, _ path: String, _ body: JSON? = nil, session: String? = nil, master: Bool = false
    ) async throws -> Reply {
        let reply = try await send(method, path, body, session: session, master: master)
        guard reply.isSuccess else { throw Unexpected(reply) }
        return reply
    }

    struct Unexpected: Error, CustomStringConvertible {
        let description: String
        init(_ reply: Reply) { description = "\(reply.status) \(reply.text)" }
    }
}

/// How often each status and code was answered, for one look at many answers.
func tally(_ results: [Result<Reply, any Error>]) -> [String: Int] {
    var counts: [String: Int] = [:]
    for result in results {
        switch result {
        case .success(let reply): counts[reply.summary, default: 0] += 1
        case .failure(let error): counts["\(error)", default: 0] += 1
        }
    }
    return counts
}
