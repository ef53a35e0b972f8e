import Core
import Glibc
import HTTP
import Hermes
import TestSupport
import Testing
import Wire

/// Of a forum that is a process of its own, so that it can be killed.
let forumOptions: [(String, JSON)] = [
    ("app", "forum"), ("jobs", ["lease": 2, "poll": 0.1]), ("workers", 1), ("drainTimeout", 1), ("logLevel", "error"),
    ("email", ["smtp": "smtp://127.0.0.1:9", "from": "foro@example.com"]),
]

/// What a client of it gets for a POST.
func post(
    _ server: HermesProcess, _ path: String, _ body: JSON, _ loop: Loop, token: String? = nil
) async throws -> JSONObject {
    try await send("POST", server, "/parse/" + path, body.bytes, loop, token: token).json
}

func get(_ server: HermesProcess, _ path: String, _ loop: Loop, token: String? = nil) async throws -> JSONObject {
    try await send("GET", server, "/parse/" + path, [], loop, token: token).json
}

struct Sent {
    let status: Int
    let text: String
    var json: JSONObject { (try? JSONParser.parse(Array(text.utf8)).object) ?? JSONObject() }
}

func send(
    _ method: String, _ server: HermesProcess, _ path: String, _ body: [UInt8], _ loop: Loop, token: String? = nil,
    type: String = "application/json"
) async throws -> Sent {
    let client = HTTPClient(loop: loop)
    defer { client.close() }
    var headers = [("X-Parse-Application-Id", HermesProcess.appId), ("Content-Type", type)]
    if let token { headers.append(("X-Parse-Session-Token", token)) }
    let response = try await client.send(
        HTTPClientRequest(method: method, url: "http://127.0.0.1:\(server.port)\(path)", headers: headers, body: body))
    return Sent(status: response.status, text: String(decoding: response.body, as: UTF8.self))
}

/// Waits until no job waits or runs.
func settled(_ village: Village) async throws {
    for _ in 0..<3000 {
        let running = try await village.rows("_JobStatus", #"{"status":"running"}"#)
        if running.isEmpty { return }
        try await Task.sleep(for: .milliseconds(20))
    }
    throw ParseError(nil, "the jobs do not end")
}
