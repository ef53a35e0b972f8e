import Core
import Glibc
import HTTP
import Options
import Wire

/// `hermes user`: one account, by way of the server that runs, so that the application's hooks have their say.
struct UserCommand {
    var arguments = OwnArguments(flags: ["url", "server"], switches: ["yes"])

    /// Does it; answers what is to be printed.
    func run(_ options: ServerOptions) async throws -> String {
        let words = arguments.words
        guard words.count == 2, ["export", "delete"].contains(words[0]), !words[1].isEmpty else {
            throw OptionFault("`hermes user export NAME` and `hermes user delete NAME` are what there is")
        }
        let name = words[1]
        let server = try server(options)
        let user = try await find(name, server)
        guard words[0] == "delete" else {
            return try await server.send("GET", "/users/\(user)/export").description + "\n"
        }
        try confirm(name)
        _ = try await server.send("POST", "/users/\(user)/delete")
        return "The account \(name) is deleted.\n"
    }

    /// The server of the options: `--url URL`, or where these options make one listen.
    private func server(_ options: ServerOptions) throws -> RunningServer {
        let address = try ServerPlace.address(options, url: arguments.told["url"] ?? arguments.told["server"])
        return RunningServer(url: address.url, appId: address.appId, masterKey: address.masterKey ?? "")
    }

    /// The id of the user with this name, address or id.
    private func find(_ name: String, _ server: RunningServer) async throws -> String {
        let fields = ["username", "email", "objectId"]
        let isNamed = JSON.object(
            JSONObject([
                ("$or", .array(fields.map { field in .object(JSONObject([(field, .string(name))])) }))
            ]))
        let body: JSON = ["_method": "GET", "where": isNamed, "keys": "username", "limit": 4]
        let found =
            try await server.send("POST", "/users", body)
            .object?["results"]?.array ?? []
        // A name goes before an address.
        let named: JSON? =
            found.first { $0.object?["username"] == .string(name) } ?? (found.count == 1 ? found[0] : nil)
        guard let id = named?.object?["objectId"]?.string else {
            throw OptionFault(
                found.isEmpty ? "there is no user \(name)" : "\(name) is more than one user: tell the objectId")
        }
        return id
    }

    private func confirm(_ name: String) throws(OptionFault) {
        guard !arguments.isOn("yes") else { return }
        guard isatty(STDIN_FILENO) == 1 else { throw OptionFault("deleting asks for --yes where nobody can be asked") }
        print("The account \(name) will be gone for good. Type its name again to delete it: ", terminator: "")
        fflush(nil)
        guard readLine() == name else { throw OptionFault("nothing was deleted") }
    }
}

/// The API of a server that runs, with the master key.
private struct RunningServer {
    let url: String
    let appId: String
    let masterKey: String

    /// - Throws: `OptionFault` with the server's words, or why there are none.
    func send(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let headers = [
            ("X-Parse-Application-Id", appId), ("X-Parse-Master-Key", masterKey), ("Content-Type", "application/json"),
        ]
        let request = HTTPClientRequest(
            method: method, url: url + path, headers: headers, body: body?.bytes ?? [], timeout: 600_000_000_000,
            maxResponseSize: 1 << 30)
        let worker = Worker(name: "client")
        let result = await worker.run { _, loop in
            let client = HTTPClient(loop: loop)
            defer { client.close() }
            do { return Result<HTTPClientResponse, any Error>.success(try await client.send(request)) } catch {
                return .failure(error)
            }
        }
        await worker.stop()
        let response: HTTPClientResponse
        do { response = try result.get() } catch HTTPClientError.failed(let reason) {
            throw OptionFault("no server answers at \(url) (\(reason)): start hermes serve, or tell --server")
        } catch { throw OptionFault("no server answers at \(url): \(error)") }
        let json = (try? JSONParser.parse(response.body)) ?? .null
        guard response.status == 200 || response.status == 201 else {
            throw OptionFault("the server refused: \(json.object?["error"]?.string ?? "status \(response.status)")")
        }
        return json
    }
}
