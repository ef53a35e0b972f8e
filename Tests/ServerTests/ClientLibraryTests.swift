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

    /// Parse-Swift's `fetchAll` sends the ids as a list in the list.
    @Test func idsInAListWithinAListAreFound() async throws {
        try await withServer { server in
            let ids = [
                try await server.client.create("Post", ["n": 1]), try await server.client.create("Post", ["n": 2]),
                try await server.client.create("Post", ["n": 3]),
            ]
            for (name, expected) in [("$in", [1, 2]), ("$nin", [3])] {
                let condition: JSON = ["objectId": [name: [[.string(ids[0]), .string(ids[1])]]]]
                let query = "limit=2&skip=0&where=\(condition.description.urlEncoded)"
                let found = try await server.client.send("GET", "/classes/Post?\(query)")
                let numbers = found.json["results"]?.array?.compactMap { $0.object?["n"]?.number }
                #expect(numbers == expected.map(Double.init), "\(name): \(found.text)")
            }
        }
    }

    /// Parse-Swift says of each field of a new class that it is not required.
    @Test func aRelationMayBeSaidNotToBeRequired() async throws {
        try await withServer { server in
            func made(_ className: String, _ option: (key: String, value: JSON)) async throws -> String {
                let field = JSONObject([("type", "Relation"), ("targetClass", "_User"), option])
                let schema: JSON = ["className": .string(className), "fields": ["friends": .object(field)]]
                return try await server.client.send("POST", "/schemas/\(className)", schema, master: true).summary
            }
            let isOptional = try await made("Optional", ("required", false))
            #expect(isOptional == "200")
            let isRequired = try await made("Required", ("required", true))
            #expect(isRequired == "400/111")
        }
    }

    /// The JavaScript SDK's tests look for the index in what is left.
    @Test func deletingTheLastIndexTellsThatThePrimaryKeysIsLeft() async throws {
        try await withServer { server in
            _ = try await server.client.create("Post", ["n": 1])
            let made: JSON = ["indexes": ["by_n": ["n": 1]]]
            try await server.client.must("PUT", "/schemas/Post", made, master: true)
            let deleted: JSON = ["indexes": ["by_n": ["__op": "Delete"]]]
            let reply = try await server.client.must("PUT", "/schemas/Post", deleted, master: true)
            #expect(reply.json["indexes"] == ["_id_": ["_id": 1]])
        }
    }

    /// PHP writes an array without members as a list, its Parse SDK too.
    @Test(arguments: [
        ("PUT", "/schemas/Post", #"{"fields":[],"indexes":[],"classLevelPermissions":{"delete":[]}}"#, "200"),
        ("PUT", "/config", #"{"params":[],"masterKeyOnly":[]}"#, "200"), ("POST", "/classes/Post", "[]", "201"),
        ("PUT", "/schemas/Post", #"{"fields":[1]}"#, "400/107"), ("PUT", "/config", #"{"params":[1]}"#, "400/107"),
    ]) func anEmptyListIsAnObjectWithoutMembers(method: String, path: String, body: String, answer: String) async throws
    {
        try await withServer { server in
            _ = try await server.client.create("Post", ["n": 1])
            let reply = try await server.client.send(method, path, bytes: Array(body.utf8), master: true)
            #expect(reply.summary == answer, "\(reply.text)")
        }
    }

    @Test(arguments: [
        "[]", #"{"$or":[[],{"n":7}]}"#, #"{"friend":{"$notInQuery":{"className":"_User","where":[]}}}"#,
    ]) func anEmptyListIsAConditionThatAllFulfil(condition: String) async throws {
        try await withServer { server in
            _ = try await server.client.create("Post", ["n": 1])
            let found = try await server.client.send("GET", "/classes/Post?where=\(condition.urlEncoded)")
            #expect(found.json["results"]?.array?.count == 1, "\(found.text)")
        }
    }

    /// The PHP SDK's tests ask for this; the field may come with the next object.
    @Test func aRelativeTimeOfAFieldThatIsNotThereFindsNothing() async throws {
        try await withServer { server in
            _ = try await server.client.create("Post", ["n": 1])
            func found(_ field: String) async throws -> Reply {
                let condition: JSON = [field: ["$gt": ["$relativeTime": "4 days ago"]]]
                return try await server.client.send("GET", "/classes/Post?where=\(condition.description.urlEncoded)")
            }
            let missing = try await found("closes")
            #expect(missing.json == ["results": []], "\(missing.text)")
            let number = try await found("n")
            #expect(number.summary == "400/107")
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

    /// The SDKs for iOS, Android and .NET ask for a session in place of the one that they have, some without a body.
    @Test func aSessionIsUpgraded() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            func upgraded() async throws -> Reply {
                try await server.client.send(
                    "POST", "/upgradeToRevocableSession", session: ana.token,
                    headers: [("X-Parse-Installation-Id", "telefono")])
            }
            let reply = try await upgraded()
            #expect(reply.status == 200)
            #expect(reply.json["createdWith"] == ["action": "upgrade"])
            #expect(reply.json["installationId"] == "telefono")
            #expect(reply.json["user"] == ["__type": "Pointer", "className": "_User", "objectId": .string(ana.id)])
            #expect(reply.json["expiresAt"] != nil)
            let session = try await server.client.send("GET", "/sessions/me", session: reply.sessionToken)
            #expect(session.json["createdWith"] == ["action": "upgrade"])
            #expect(session.json["installationId"] == "telefono")
            // The next one on the same installation takes its place.
            let next = try await upgraded()
            #expect(next.status == 200)
            let old = try await server.client.send("GET", "/users/me", session: reply.sessionToken)
            #expect(old.code == 209)
        }
    }

    /// Unity and whoever else writes objects whole sends the id that is yet to come as an empty text or null.
    @Test func anIdThatIsEmptyIsNone() async throws {
        try await withServer { server in
            for none in [.null, .string("")] as [JSON] {
                let reply = try await server.client.send(
                    "POST", "/classes/Post", ["objectId": none, "n": 1], master: true)
                #expect(reply.status == 201)
                #expect(reply.objectId?.utf8.count == 10)
                let user = try await server.client.signUp(
                    ["objectId": none, "username": .string("ana\(none)"), "password": "secret"])
                #expect(user.status == 201)
            }
            let chosen = try await server.client.send("POST", "/classes/Post", ["objectId": "mine"], master: true)
            #expect(chosen.summary == "400/105")
            let number = try await server.client.send("POST", "/classes/Post", ["objectId": 0], master: true)
            #expect(number.summary == "400/105")
        }
    }

    @Test func whoHoldsTheMasterKeyIsToldHowAQueryIsAnswered() async throws {
        try await withServer { server in
            for n in 1...3 { _ = try await server.client.create("Post", ["n": .number(Double(n)), "t": "x"]) }
            let condition = #"{"n":{"$gt":1},"t":{"$in":["x","y"]}}"#.urlEncoded
            func explained(_ more: String) async throws -> JSONObject {
                let path = "/classes/Post?explain=true&where=\(condition)&order=-n\(more)"
                return try await server.client.send("GET", path, master: true).json
            }
            for more in ["", "&limit=1&include=*", "&cursor=", "&keys=n"] {
                let reply = try await explained(more)
                let plan = reply["results"]?.array?.first?.object?["QUERY PLAN"]?.array?.first?.object?["Plan"]
                #expect(plan?.object?["Node Type"]?.string != nil, "\(more): \(JSON.object(reply))")
                #expect(reply["results"]?.array?.count == 1)
            }
            let counted = try await explained("&count=1")
            #expect(counted["count"] == 2)
            let unknown = try await server.client.send("GET", "/classes/Nothing?explain=true", master: true)
            #expect(unknown.text == #"{"results":[]}"#)
            let client = try await server.client.send("GET", "/classes/Post?explain=true")
            #expect(client.summary == "400/102")
        }
    }
}
