import Core
import HTTP
import Wire

/// GitHub, which has no ID tokens: a client sends the code that it was sent back with, or an access token of this very
/// application, and GitHub says whose it is.
public struct GitHub: Provider {
    private let clientId: String
    private let clientSecret: String
    private let site: String
    private let api: String

    /// - Parameters:
    ///   - site: where codes are turned into tokens.
    ///   - api: where users are asked for. Both differ for GitHub Enterprise.
    public init(
        clientId: String, clientSecret: String, site: String = "https://github.com",
        api: String = "https://api.github.com"
    ) {
        (self.clientId, self.clientSecret, self.site, self.api) = (clientId, clientSecret, site, api)
    }

    public func prove(_ data: JSONObject, on loop: Loop) async throws -> String {
        if let code = data["code"]?.string {
            return try await user(of: try await token(for: code, data, on: loop), on: loop)
        }
        guard let token = data["access_token"]?.string else {
            throw ParseError(101, "code or access_token is missing: what GitHub gave the client.")
        }
        return try await checkedUser(of: token, on: loop)
    }

    private func token(for code: String, _ data: JSONObject, on loop: Loop) async throws -> String {
        var body: [(key: String, value: JSON)] = [
            ("client_id", .string(clientId)), ("client_secret", .string(clientSecret)), ("code", .string(code)),
        ]
        for name in ["redirect_uri", "code_verifier"] { if let value = data[name] { body.append((name, value)) } }
        let answer = try await ask("POST", site + "/login/oauth/access_token", body: body, on: loop)
        // A code that is none is answered with 200 and an error.
        guard answer.status == 200, let token = answer.body["access_token"]?.string else { throw GitHub.invalid }
        return token
    }

    private func user(of token: String, on loop: Loop) async throws -> String {
        let answer = try await ask("GET", api + "/user", headers: [("Authorization", "Bearer \(token)")], on: loop)
        guard answer.status == 200 else { throw GitHub.invalid }
        return try GitHub.id(answer.body)
    }

    /// Whoever has a token of another application may not come in by it: GitHub says whether it is this one's.
    private func checkedUser(of token: String, on loop: Loop) async throws -> String {
        let credentials = Base64.encode(Array("\(clientId):\(clientSecret)".utf8))
        let path = "/applications/\(clientId)/token"
        let answer = try await ask(
            "POST", api + path, headers: [("Authorization", "Basic \(credentials)")],
            body: [("access_token", .string(token))], on: loop)
        guard answer.status == 200, let user = answer.body["user"]?.object else { throw GitHub.invalid }
        return try GitHub.id(user)
    }

    private static func id(_ user: JSONObject) throws(ParseError) -> String {
        guard let id = user["id"]?.number.flatMap({ Int64(exactly: $0) }) else { throw invalid }
        return "\(id)"
    }

    private static let invalid = ParseError(101, "GitHub does not know this code or token.")

    private func ask(
        _ method: String, _ url: String, headers: [(String, String)] = [], body: [(key: String, value: JSON)]? = nil,
        on loop: Loop
    ) async throws -> (status: Int, body: JSONObject) {
        let response = try await ProviderClient.send(
            HTTPClientRequest(
                method: method, url: url,
                headers: headers + [
                    ("Accept", "application/json"), ("Content-Type", "application/json"), ("User-Agent", "hermes"),
                ], body: body.map { JSON.object(JSONObject($0)).bytes } ?? []), on: loop)
        guard response.status < 500 else { throw ParseError.provider("\(url) was answered with \(response.status)") }
        return (response.status, (try? JSONParser.parse(response.body))?.object ?? JSONObject())
    }
}
