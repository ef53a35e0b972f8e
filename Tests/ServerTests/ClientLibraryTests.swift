import Testing
import Wire

/// What client libraries were seen to need, beyond what the protocol's own descriptions say.
@Suite struct ClientLibraryTests {
    @Test func noCacheKeepsAnswers() async throws {
        try await withServer { server in
            _ = try await server.client.create("Post", ["n": 1])
            let found = try await server.client.send("GET", "/classes/Post")
            #expect(found.header("Cache-Control") == "private, no-cache")
            let missing = try await server.client.send("GET", "/classes/Post/nothing")
            #expect(missing.status == 404)
            #expect(missing.header("Cache-Control") == "private, no-cache")
        }
    }

    /// Parse-Swift reads a schema, changes it and sends all of it back.
    @Test func aSchemaComesBackWholeWithOneFieldMore() async throws {
        try await withServer { server in
            _ = try await server.client.create("Post", ["n": 1])
            var schema = try await server.client.send("GET", "/schemas/Post", master: true).json
            var fields = try #require(schema["fields"]?.object)
            fields["more"] = ["type": "String"]
            schema["fields"] = .object(fields)
            let reply = try await server.client.send("PUT", "/schemas/Post", .object(schema), master: true)
            #expect(reply.status == 200)
            #expect(reply.json["fields"] == .object(fields))
        }
    }

    /// ParsePy logs in by the URL alone, where a password may look like anything.
    @Test(arguments: ["12345", "true", "null", "[1]", "\"quoted\"", "a+b c&d=e"])
    func whatTheURLOfALogInSaysIsText(_ password: String) async throws {
        try await withServer { server in
            try await server.client.must("POST", "/users", ["username": "4711", "password": .string(password)])
            let query = "username=4711&password=\(password.urlEncoded)"
            for path in ["/login", "/verifyPassword"] {
                let reply = try await server.client.send("GET", "\(path)?\(query)")
                #expect(reply.json["username"] == "4711", "\(path): \(reply.text)")
                let wrong = try await server.client.send("GET", "\(path)?\(query)x")
                #expect(wrong.summary == "404/101")
            }
        }
    }
}
