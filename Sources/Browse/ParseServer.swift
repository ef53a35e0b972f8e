import Core
import HTTP
import Wire

/// Where a server is, and the keys that open it.
public struct ServerAddress: Sendable, Equatable {
    /// With the mount path, without a slash at the end: `http://127.0.0.1:1337/parse`.
    public var url: String
    public var appId: String
    public var masterKey: String?
    public var readOnlyMasterKey: String?

    public init(url: String, appId: String, masterKey: String?, readOnlyMasterKey: String?) {
        self.url = url
        self.appId = appId
        self.masterKey = masterKey
        self.readOnlyMasterKey = readOnlyMasterKey
    }

    /// `127.0.0.1:1337`
    public var host: String {
        let rest = url.split(separator: "/", omittingEmptySubsequences: true)
        return rest.count > 1 ? String(rest[1]) : url
    }
}

/// Why a request did not do what it was for.
public enum ServerFault: Error, Equatable, Sendable {
    /// No connection, or it broke; whether the server did it is not known then.
    case unreachable(String)
    /// The server does not take the key, or not from here.
    case notMaster
    /// Parse's code where there is one, and the sentence.
    case refused(code: Int?, message: String, status: Int)
    case cancelled

    /// There is no such object or class.
    public var isNotFound: Bool {
        guard case .refused(let code, _, let status) = self else { return false }
        return code == 101 || code == 103 || code == nil && status == 404
    }
}

extension ServerFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let reason): "no answer from the server: \(reason)"
        case .notMaster: "not the master key, or this address is not in masterKeyIps; try ssh -L"
        case .refused(108, let message, _): "this server does not do that (108): \(message)"
        case .refused(let code, let message, let status):
            "\(message) (\(code.map { "code \($0)" } ?? "status \(status)"))"
        case .cancelled: "cancelled"
        }
    }
}

/// What goes to the server, as a value.
public struct ServerRequest: Sendable, Equatable {
    public enum Key: Sendable, Equatable { case readOnly, master }
    public var method: String
    /// Behind the mount path, with the slash: `/classes/Temas`.
    public var path: String
    public var body: JSONObject
    public var key: Key

    public init(_ method: String, _ path: String, _ body: JSONObject = JSONObject(), key: Key = .readOnly) {
        self.method = method
        self.path = path
        self.body = body
        self.key = key
    }

    /// The objects of a class. The condition travels in the body: URLs have an end.
    public static func find(_ className: String, _ parameters: JSONObject, key: Key = .readOnly) -> ServerRequest {
        ServerRequest("GET", "/classes/\(className.urlEncoded)", parameters, key: key)
    }
}

/// A server's API, asked from one worker. Cancelling the task that waits closes the connection, and the server ends
/// the statement that ran for it.
public final class ParseServer {
    public let address: ServerAddress
    private let http: HTTPClient
    /// The whole of an answer: bytes.
    private let largestAnswer = 256 << 20

    public init(loop: Loop, address: ServerAddress) {
        self.address = address
        http = HTTPClient(loop: loop, connectionsPerHost: 8)
    }

    public func close() { http.close() }

    /// - Parameter timeout: nanoseconds.
    /// - Returns: the answer's JSON and its headers.
    /// - Throws: `ServerFault`.
    public func send(
        _ request: ServerRequest, timeout: UInt64 = 600_000_000_000
    ) async throws -> (json: JSON, headers: [(name: String, value: String)], size: Int) {
        var body = request.body
        var method = request.method
        if method == "GET", !body.isEmpty {
            body["_method"] = "GET"
            method = "POST"
        }
        let keys = (address.masterKey, address.readOnlyMasterKey)
        let key = request.key == .master ? keys.0 ?? keys.1 : keys.1 ?? keys.0
        let carriesBody = method != "GET" && method != "DELETE"
        let sent = HTTPClientRequest(
            method: method, url: address.url + request.path,
            headers: [
                ("X-Parse-Application-Id", address.appId), ("X-Parse-Master-Key", key ?? ""),
                ("Content-Type", "application/json"),
            ], body: carriesBody ? JSON.object(body).bytes : [], timeout: timeout, maxResponseSize: largestAnswer)
        let response: HTTPClientResponse
        do { response = try await http.send(sent) } catch let error as HTTPClientError {
            throw ServerFault.unreachable(ParseServer.reason(error))
        } catch { throw ServerFault.cancelled }
        let json = (try? JSONParser.parse(response.body)) ?? .null
        guard (200..<300).contains(response.status) else {
            let message = json.object?["error"]?.string
            // To an ordinary client, as a wrong key makes one, routes for the master key say no more than this.
            if response.status == 403, json.object?["code"] == nil { throw ServerFault.notMaster }
            throw ServerFault.refused(
                code: json.object?["code"]?.number.flatMap { Int(exactly: $0) },
                message: message ?? "the answer is none of Parse's", status: response.status)
        }
        return (json, response.headers, response.body.count)
    }

    private static func reason(_ error: HTTPClientError) -> String {
        switch error {
        case .timedOut: "it took too long"
        case .responseTooLarge: "the answer is larger than 256 MB"
        case .addressRefused: "the address is refused"
        case .badURL: "the URL is none; as http://127.0.0.1:1337/parse"
        case .badHeader: "the key cannot be sent"
        case .failed(let words): words
        }
    }
}
