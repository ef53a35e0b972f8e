import Core
import Postgres
import TestSupport
import Testing
import Wire

/// Sign-ups, log-ins, schemas and objects take one path, alone and as parts of a transaction.
@Suite struct WritePathTests {
    @Test func aPurgeWaitsForTheRowsThatOthersHold() async throws {
        try await withServer { server in
            for n in 0..<3 { _ = try await server.client.create("Notas", ["n": .number(Double(n))]) }
            let isHeld = Waiter()
            let release = Waiter()
            let holder = server.loop.spawn {
                _ = try? await server.sql.transaction { transaction in
                    _ = try await transaction.execute("SELECT FROM \"Notas\" WHERE \"n\" = 1 FOR UPDATE")
                    isHeld.resume()
                    try await release.wait()
                }
            }
            try await isHeld.wait()
            let purge = server.loop.spawn { _ = try? await server.client.send("DELETE", "/purge/Notas", master: true) }
            let isWaiting = try await eventually(server.loop) {
                try await server.sql.write(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                ).int(0, 0) > 0
            }
            #expect(isWaiting)
            release.resume()
            await holder.value
            await purge.value
            let left = try await server.all("Notas")
            #expect(left.isEmpty)
        }
    }

    private static func batch(_ requests: [(String, String, JSON)]) -> JSON {
        [
            "transaction": true,
            "requests": .array(
                requests.map { ["method": .string($0.0), "path": .string("/parse\($0.1)"), "body": $0.2] }),
        ]
    }

    // MARK: users in transactions

    /// As many transactions as a node has connections for writes, and more: each part runs on its own transaction's
    /// connection, so that none waits for another's.
    @Test func manyBatchesOfSignUpsDoNotWaitForEachOther() async throws {
        try await withServer { server in
            let results = await server.loop.concurrently(40) { index in
                try await server.client.send(
                    "POST", "/batch",
                    Self.batch([("POST", "/users", ["username": .string("u\(index)"), "password": "secret"])]))
            }
            #expect(tally(results) == ["200": 40])
            let users = try await server.all("_User").count
            #expect(users == 40)
            let sessions = try await server.all("_Session").count
            #expect(sessions == 40)
        }
    }

    @Test func aFailedBatchLeavesNoUserAndNoSession() async throws {
        try await withServer { server in
            let reply = try await server.client.send(
                "POST", "/batch",
                Self.batch([
                    ("POST", "/users", ["username": "ana", "password": "secret"]),
                    ("PUT", "/classes/Nada/zzzzzzzzzz", ["n": 1]),
                ]))
            #expect(!reply.isSuccess)
            let users = try await server.all("_User").count
            #expect(users == 0)
            let sessions = try await server.all("_Session").count
            #expect(sessions == 0)
            // The name is free.
            _ = try await server.client.signUp("ana")
        }
    }

    @Test func aLogInWithinATransactionIsUndoneWithIt() async throws {
        try await withServer { server in
            _ = try await server.client.signUp("ana")
            let logIn = ("POST", "/login", ["username": "ana", "password": "secret"] as JSON)
            let failed = try await server.client.send(
                "POST", "/batch", Self.batch([logIn, ("DELETE", "/classes/Nada/zzzzzzzzzz", [:])]))
            #expect(!failed.isSuccess)
            let sessions = try await server.all("_Session").count
            #expect(sessions == 1)
            let done = try await server.client.send("POST", "/batch", Self.batch([logIn]))
            #expect(done.array.first?.object?["success"]?.object?["sessionToken"]?.string?.hasPrefix("r:") == true)
            let sessionsThen = try await server.all("_Session").count
            #expect(sessionsThen == 2)
        }
    }

    @Test func aPasswordChangedInATransactionEndsTheSessionsWithItsCommit() async throws {
        try await withServer(nodes: 2) { server in
            let ana = try await server.client.signUp("ana")
            try await server.clients[1].must("GET", "/users/me", session: ana.token)
            let change = ("PUT", "/users/\(ana.id)", ["password": "other"] as JSON)
            let failed = try await server.client.send(
                "POST", "/batch", Self.batch([change, ("PUT", "/classes/Nada/zzzzzzzzzz", [:])]), session: ana.token)
            #expect(!failed.isSuccess)
            try await server.client.must("GET", "/users/me", session: ana.token)
            try await server.client.must("POST", "/batch", Self.batch([change]), session: ana.token)
            let answer = try await server.client.send("GET", "/users/me", session: ana.token).summary
            #expect(answer == "400/209")
        }
    }

    @Test func whatCannotBeUndoneIsRefusedInATransaction() async throws {
        try await withServer { server in
            let reply = try await server.client.send(
                "POST", "/batch", Self.batch([("DELETE", "/purge/Temas", [:])]), master: true)
            #expect(reply.summary == "400/107")
        }
    }

    // MARK: growth of the schema

    @Test func aNewFieldOfUsersWithinATransactionStopsNobody() async throws {
        try await withServer { server in
            let reply = try await server.client.send(
                "POST", "/batch",
                Self.batch([
                    ("POST", "/users", ["username": "ana", "password": "secret", "apodo": "anita"]),
                    ("POST", "/users", ["username": "eva", "password": "secret", "edad": 7]),
                ]), master: true)
            #expect(reply.summary == "200")
            let users = try await server.all("_User")
            #expect(users.compactMap { $0["apodo"]?.string } == ["anita"])
            #expect(users.compactMap { $0["edad"]?.number } == [7])
        }
    }

    @Test func aClassThatAnUndoneTransactionMadeIsNotThere() async throws {
        try await withServer { server in
            let reply = try await server.client.send(
                "POST", "/batch",
                Self.batch([
                    ("POST", "/classes/Nueva", ["titulo": "x"]), ("GET", "/classes/Nueva", [:]),
                    ("PUT", "/classes/Nueva/zzzzzzzzzz", ["titulo": "y"]),
                ]), master: true)
            #expect(reply.summary == "404/101")
            let answer = try await server.client.send("GET", "/schemas/Nueva", master: true).summary
            #expect(answer == "400/103")
        }
    }

    /// Clients that may not add a field, or not write the object, make no class grow.
    @Test func whoMayNotWriteMakesNoFieldInATransactionEither() async throws {
        try await withServer { server in
            let id = try await server.client.create("Temas", ["w": "x", "ACL": [:]])
            for path in ["/classes/Temas/none", "/classes/Temas/\(id)"] {
                let reply = try await server.client.send(
                    "POST", "/batch", Self.batch([("PUT", path, ["junk": 1])]))
                #expect(reply.summary == "404/101")
            }
            try await server.client.must(
                "PUT", "/schemas/Temas",
                [
                    "classLevelPermissions": [
                        "update": ["*": true], "addField": ["pointerFields": []], "get": ["*": true],
                    ]
                ],
                master: true)
            let reply = try await server.client.send(
                "POST", "/batch", Self.batch([("PUT", "/classes/Temas/none", ["junk": 1])]))
            #expect(!reply.isSuccess)
            let fields = try await server.client.must("GET", "/schemas/Temas", master: true).json["fields"]?.object
            #expect(fields?["junk"] == nil)
        }
    }

    /// As in the reference: that a new field is refused comes before what is wrong with the others.
    @Test func aFieldThatMayNotBeAddedIsToldBeforeAWrongType() async throws {
        try await withServer { server in
            let id = try await server.client.create("Temas", ["n": 1])
            try await server.client.must(
                "PUT", "/schemas/Temas",
                ["classLevelPermissions": ["create": ["*": true], "update": ["*": true], "addField": [:]]],
                master: true)
            for (method, path) in [("POST", "/classes/Temas"), ("PUT", "/classes/Temas/\(id)")] {
                #expect(try await server.client.send(method, path, ["n": "x", "junk": 1]).code == 119)
                #expect(try await server.client.send(method, path, ["n": "x"]).code == 111)
            }
        }
    }

    // MARK: what a writer learns

    @Test func whoMayOnlyWriteLearnsNothingFromAnOperator() async throws {
        try await withServer { server in
            let id = try await server.client.create(
                "Buzon", ["cartas": ["secreta"], "n": 41, "ACL": ["*": ["write": true]]])
            let reply = try await server.client.must(
                "PUT", "/classes/Buzon/\(id)",
                ["cartas": ["__op": "AddUnique", "objects": []], "n": ["__op": "Increment", "amount": 0]])
            #expect(reply.json["cartas"] == nil)
            #expect(reply.json["n"] == nil)
            // Who may read it, is told.
            let told = try await server.client.must(
                "PUT", "/classes/Buzon/\(id)", ["n": ["__op": "Increment", "amount": 1]], master: true)
            #expect(told.json["n"] == 42)
        }
    }

    @Test func aClassThatCannotBeGotTellsNoResults() async throws {
        try await withServer { server in
            let id = try await server.client.create("Urna", ["votos": 10])
            try await server.client.must(
                "PUT", "/schemas/Urna", ["classLevelPermissions": ["update": ["*": true]]], master: true)
            let reply = try await server.client.must(
                "PUT", "/classes/Urna/\(id)", ["votos": ["__op": "Increment", "amount": 1]])
            #expect(reply.json["votos"] == nil)
        }
    }

    @Test func aPathThroughAListIsRefusedWhateverItIsToDo() async throws {
        try await withServer { server in
            let id = try await server.client.create("Temas", ["o": ["v": [1, 2], "k": ["z": 1]]])
            for operation: JSON in [["__op": "Delete"], 5, ["__op": "Increment", "amount": 1]] {
                let refused = try await server.client.send(
                    "PUT", "/classes/Temas/\(id)", ["o.v.k": operation], master: true)
                #expect(refused.summary == "400/111")
            }
            try await server.client.must(
                "PUT", "/classes/Temas/\(id)", ["o.k.z": ["__op": "Delete"], "o.none.z": ["__op": "Delete"]],
                master: true)
            let object = try await server.client.must("GET", "/classes/Temas/\(id)", master: true).json["o"]
            #expect(object == ["v": [1, 2], "k": [:]])
        }
    }

    // MARK: relations

    @Test func aWriteAndItsRelationsAreOne() async throws {
        try await withServer { server in
            let one = try await server.client.create("Gente", ["n": 1])
            let other = try await server.client.create("Gente", ["n": 2])
            func pointer(_ id: String) -> JSON {
                ["__type": "Pointer", "className": "Gente", "objectId": .string(id)]
            }
            let tema = try await server.client.create(
                "Temas", ["lectores": ["__op": "AddRelation", "objects": [pointer(one), pointer(other)]]])
            // Added and removed again in one write: removed.
            try await server.client.must(
                "PUT", "/classes/Temas/\(tema)",
                [
                    "lectores": [
                        "__op": "Batch",
                        "ops": [
                            ["__op": "AddRelation", "objects": [pointer(one)]],
                            ["__op": "RemoveRelation", "objects": [pointer(one)]],
                        ],
                    ]
                ], master: true)
            // An object that is not there gets no relation.
            let missing = try await server.client.send(
                "PUT", "/classes/Temas/zzzzzzzzzz",
                ["lectores": ["__op": "AddRelation", "objects": [pointer(one)]]], master: true)
            #expect(missing.summary == "404/101")
            let rows = try await server.sql.read("SELECT \"owningId\", \"relatedId\" FROM \"_Join:lectores:Temas\"")
            #expect((0..<rows.count).map { [rows.string($0, 0), rows.string($0, 1)] } == [[tema, other]])
            try await server.client.must("DELETE", "/classes/Temas/\(tema)", master: true)
            let count = try await server.sql.read("SELECT FROM \"_Join:lectores:Temas\"").count
            #expect(count == 0)
        }
    }

    // MARK: passwords, tokens

    @Test func longPasswordsAreWholeAndWork() async throws {
        try await withServer { server in
            let long = String(repeating: "á", count: 300)
            try await server.client.must("POST", "/users", ["username": "ana", "password": .string(long)])
            try await server.client.must("POST", "/login", ["username": "ana", "password": .string(long)])
            // bcrypt alone would look at the first 72 bytes.
            let cut = try await server.client.send(
                "POST", "/login", ["username": "ana", "password": .string(String(long.prefix(36)))])
            #expect(cut.summary == "404/101")
        }
    }

    @Test func aSessionOfSomebodyElseIsAsOneThatIsNotThere() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let eva = try await server.client.signUp("eva")
            let id = try await server.client.must("GET", "/sessions/me", session: ana.token).objectId ?? ""
            let change: JSON = ["sessionToken": "r:mine"]
            let own = try await server.client.send("PUT", "/sessions/\(id)", change, session: ana.token)
            #expect(own.summary == "400/105")
            for other in [id, "zzzzzzzzzz"] {
                let refused = try await server.client.send("PUT", "/sessions/\(other)", change, session: eva.token)
                #expect(refused.summary == "404/101")
            }
        }
    }

    @Test func fieldsStayProtectedWhenTheFieldThatNamesTheirReadersIsGone() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let author: JSON = ["__type": "Pointer", "className": "_User", "objectId": .string(ana.id)]
            let id = try await server.client.create("Temas", ["autor": author, "votos": 3])
            try await server.client.must(
                "PUT", "/schemas/Temas",
                [
                    "classLevelPermissions": [
                        "find": ["*": true], "get": ["*": true],
                        "protectedFields": ["*": ["votos"], "userField:autor": []],
                    ]
                ], master: true)
            let before = try await server.client.must("GET", "/classes/Temas/\(id)", session: ana.token)
            #expect(before.json["votos"] == 3)
            try await server.client.must(
                "PUT", "/schemas/Temas", ["fields": ["autor": ["__op": "Delete"]]], master: true)
            let after = try await server.client.must("GET", "/classes/Temas/\(id)", session: ana.token)
            #expect(after.json["objectId"] == .string(id))
            #expect(after.json["votos"] == nil)
        }
    }

    @Test func aNewRoleWithoutMembersTellsNobody() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            try await server.client.must("GET", "/users/me", session: ana.token)
            let told = Told()
            server.sql.listen(channel: "hermes_access") { told.payloads.append($0) }
            try await until(server.loop) { server.sql.isListening }
            try await server.client.must("POST", "/roles", ["name": "vacio", "ACL": ["*": ["read": true]]])
            let member: JSON = ["__type": "Pointer", "className": "_User", "objectId": .string(ana.id)]
            try await server.client.must(
                "POST", "/roles",
                [
                    "name": "socios", "ACL": ["*": ["read": true]],
                    "users": ["__op": "AddRelation", "objects": [member]],
                ])
            try await until(server.loop) { !told.payloads.isEmpty }
            #expect(told.payloads == ["user:\(ana.id)"])
        }
    }

    private final class Told {
        var payloads: [String] = []
    }
}
