import Cloud
import Foundation
import Synchronization
import Wire

@testable import JavaScript

/// A folder of cloud code for one test.
final class Script: Sendable {
    let folder: URL

    init(_ main: String, files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("hermes-js-\(UUID().uuidString)")
        for (name, text) in files.merging(["main.js": main], uniquingKeysWith: { $1 }) {
            let file = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var main: String { folder.appendingPathComponent("main.js").path }

    func load(
        _ options: JavaScriptOptions = JavaScriptOptions(),
        changed: @escaping @Sendable (JavaScriptCode) -> Void = { _ in }
    ) async throws -> JavaScriptCode {
        try await JavaScriptCode(mainFile: main, options: options, changed: changed)
    }
}

/// Answers requests of cloud code in the server's place, and keeps them.
final class FakeServer: CloudCaller {
    private let requests = Mutex<[CloudRequest]>([])
    private let answer: @Sendable (CloudRequest) async throws -> JSON

    init(_ answer: @escaping @Sendable (CloudRequest) async throws -> JSON = { _ in [:] }) { self.answer = answer }

    var received: [CloudRequest] { requests.withLock { $0 } }

    func send(_ request: CloudRequest) async throws -> CloudResponse {
        requests.withLock { $0.append(request) }
        let body = try await answer(request)
        return CloudResponse(status: request.method == "POST" ? 201 : 200, body: body)
    }
}

extension JavaScriptCode {
    /// Calls a function as a client would.
    func call(
        _ name: String, _ params: JSONObject = JSONObject(), server: FakeServer = FakeServer(), master: Bool = false,
        context: JSONObject = JSONObject(), headers: [(name: String, value: String)]? = nil
    ) async throws -> CloudAnswer {
        guard let handler = code.functions[name] else { throw ParseError(141, "Invalid function: \"\(name)\"") }
        var payload = JSONObject()
        payload["functionName"] = .string(name)
        payload["params"] = .object(params)
        payload["master"] = .bool(master)
        payload["context"] = .object(context)
        var call = CloudCall(payload: payload, sessionToken: nil, caller: server)
        call.headers = headers.map { HeaderText($0) }
        var answer = try await handler.run(call)
        answer.body = try answer.text.map { try JSONParser.parse($0) }
        return answer
    }

    func trigger(
        _ kind: TriggerKind, on className: String, _ fields: JSONObject, changes: JSONObject? = nil,
        server: FakeServer = FakeServer()
    ) async throws -> CloudAnswer {
        guard let handler = code.triggers[Trigger(kind, on: className)]?.first else {
            throw ParseError(141, "no such trigger")
        }
        var payload = fields
        payload["triggerName"] = .string(kind.rawValue)
        payload["className"] = .string(className)
        if payload["context"] == nil { payload["context"] = [:] }
        return try await handler.run(
            CloudCall(payload: payload, changes: changes, sessionToken: nil, caller: server))
    }
}

/// The error that a call ends with.
func fault(_ body: () async throws -> CloudAnswer) async -> ParseError? {
    do {
        _ = try await body()
        return nil
    } catch { return error as? ParseError }
}
