import Cloud
import Core
import HTTP
import Jobs
import Options
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Server

/// What guards passwords and log-ins beside the hash itself.
@Suite struct PasswordPolicyTests {
    @Test func ofManyGuessesAtOnceNoMoreThanTheThresholdAreLookedAt() async throws {
        try await withServer(nodes: 2) { options in
            options.accountLockout.threshold = 3
            options.accountLockout.duration = 5
        } _: { server in
            _ = try await server.client.signUp("ana")
            let replies = await server.loop.concurrently(24) { index in
                try await server.clients[index % 2].send(
                    "POST", "/login", ["username": "ana", "password": .string("mala\(index)")])
            }
            let texts = try replies.map { try $0.get().json["error"]?.string ?? "" }
            #expect(texts.filter { $0 == "Invalid username/password." }.count == 3)
            #expect(texts.filter { $0.hasPrefix("Your account is locked") }.count == 21)
            let right = try await server.client.send("POST", "/login", ["username": "ana", "password": "secret"])
            #expect(right.code == 101)
        }
    }

    @Test func aNameThatIsNobodysLocksInTheSameWordsAtTheSameCost() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 2
        } _: { server in
            _ = try await server.client.signUp("ana")
            func answers(_ name: String) async throws -> [String] {
                var answers: [String] = []
                for _ in 0..<4 {
                    let reply = try await server.client.send(
                        "POST", "/login", ["username": .string(name), "password": "mala"])
                    answers.append("\(reply.summary) \(reply.text)")
                }
                return answers
            }
            let (known, unknown) = (try await answers("ana"), try await answers("nadie"))
            #expect(known == unknown)
            #expect(known[1] != known[2] && known[2] == known[3])
            // Both open again when their time is up.
            for statement in [
                "UPDATE \"_User\" SET \"_account_lockout_expires_at\" = now()",
                "UPDATE \"_hermes_rate_limits\" SET resets_at = now()",
            ] as [Statement] { _ = try await server.sql.write(statement, []) }
            for name in ["ana", "nadie"] {
                let reply = try await server.client.send(
                    "POST", "/login", ["username": .string(name), "password": "mala"])
                #expect(reply.json["error"] == "Invalid username/password.", "\(name)")
            }
            let strangers = try await server.sql.read("SELECT count FROM \"_hermes_rate_limits\"")
            #expect(strangers.count == 1 && strangers.int(0, 0) == 1)
        }
    }

    @Test func noTryIsHiddenInATransaction() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 2
        } _: { server in
            _ = try await server.client.signUp("ana")
            let logIn: JSON = [
                "method": "POST", "path": "/parse/login", "body": ["username": "ana", "password": "mala"],
            ]
            let hidden = try await server.client.send(
                "POST", "/batch", ["transaction": true, "requests": [logIn]])
            #expect(hidden.code == 107)
            // Beside one another they count like single ones.
            let batch = try await server.client.send("POST", "/batch", ["requests": [logIn, logIn, logIn]])
            #expect(
                batch.array.last?.object?["error"]?.object?["error"]?.string?.hasPrefix("Your account is locked")
                    == true)
        }
    }

    @Test func earlierPasswordsAreRememberedAsHashesOnly() async throws {
        try await withServer { options in
            options.passwordPolicy.maxPasswordHistory = 2
        } _: { server in
            let ana = try await server.client.signUp("ana")
            var token = ana.token
            for (password, code) in [
                ("secret", 142), ("segunda", nil), ("secret", 142), ("tercera", nil), ("secret", nil),
            ] {
                let reply = try await server.client.send(
                    "PUT", "/users/\(ana.id)", ["password": .string(password)], session: token)
                #expect(reply.code == code, "\(password)")
                if let new = reply.sessionToken { token = new }
            }
            let rows = try await server.sql.read("SELECT \"_password_history\"::text FROM \"_User\"")
            let history = rows.string(0, 0)
            #expect(!history.contains("tercera"))
            #expect(history.contains("$2b$"))
        }
    }

    /// So many requests in ten minutes, from this machine too.
    private func limit(_ count: Int, _ method: String, _ path: String) -> ServerOptions.RateLimit {
        var limit = ServerOptions.RateLimit()
        limit.requestPath = path
        limit.requestMethods = [method]
        limit.requestTimeWindow = 600_000
        limit.requestCount = count
        limit.includeInternalRequests = true
        return limit
    }

    /// A class that has a name of its own in paths is asked for by both.
    @Test(arguments: ["/users/:id?", "/classes/_User/:id?"])
    func anotherPathToTheSameObjectsIsNoWayRoundALimit(path: String) async throws {
        let limits = [limit(2, "GET", path)]
        try await withServer {
            $0.rateLimit = limits
        } _: { server in
            let ana = try await server.client.signUp("ana")
            var answers: [String] = []
            for path in ["/users", "/classes/_User/\(ana.id)", "/classes/_User", "/users/\(ana.id)", "/sessions"] {
                answers.append(try await server.client.send("GET", path, session: ana.token).summary)
            }
            #expect(answers == ["200", "200", "429/100", "429/100", "200"])
        }
    }

    @Test func aLimitHoldsOnAllNodesAndForBatches() async throws {
        let limits = [limit(4, "POST", "/classes/:class")]
        try await withServer(nodes: 2) { options in
            options.rateLimit = limits
            options.allowClientClassCreation = true
        } _: { server in
            let replies = await server.loop.concurrently(12) { index in
                try await server.clients[index % 2].send("POST", "/classes/Temas", ["n": 1])
            }
            let statuses = try replies.map { try $0.get().status }
            #expect(statuses.filter { $0 == 201 }.count == 4)
            #expect(statuses.filter { $0 == 429 }.count == 8)
            let part: JSON = ["method": "POST", "path": "/parse/classes/Temas", "body": ["n": 2]]
            let batch = try await server.client.send("POST", "/batch", ["requests": [part]])
            #expect(batch.summary == "400/100")
            #expect(batch.header("Retry-After") != nil)
            // The master key is not counted, and reads are not.
            let master = try await server.client.send("POST", "/classes/Temas", ["n": 3], master: true)
            #expect(master.status == 201)
            let read = try await server.client.send("GET", "/classes/Temas")
            #expect(read.status == 200)
            let stored = try await server.all("Temas")
            #expect(stored.count == 5)
        }
    }

    /// Who has one address of IPv6 has 2^64 of them.
    @Test func aNetworkOfIPv6CountsAsOneAddress() async throws {
        let limits = [limit(2, "GET", "/classes/:class")]
        try await withServer {
            $0.rateLimit = limits
            $0.trustProxy = .all
        } _: { server in
            _ = try await server.client.create("Temas", ["n": 1])
            var statuses: [Int] = []
            for address in ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:3", "2001:db8:0:1::1", "9.9.9.1", "9.9.9.2"] {
                let reply = try await server.client.send(
                    "GET", "/classes/Temas", headers: [("X-Forwarded-For", address)])
                statuses.append(reply.status)
            }
            #expect(statuses == [200, 200, 429, 200, 200, 200])
        }
    }

    @Test func whatCloudCodeLimitsIsCountedForAllNodes() async throws {
        let limit = limit(3, "GET", "/classes/Temas/:id?")
        var code = CloudCode()
        // A limit that stands there twice counts once.
        code.rateLimits = [limit, limit]
        try await withServer(nodes: 2, cloud: code) { options in
            options.allowClientClassCreation = true
        } _: { server in
            let made = try await server.client.must("POST", "/classes/Temas", ["n": 1])
            let id = try #require(made.json["objectId"]?.string)
            var answers: [String] = []
            for (node, path) in [
                (0, "/classes/Temas"), (1, "/classes/Temas/\(id)"), (0, "/classes/Temas/\(id)"),
                (1, "/classes/Temas"), (0, "/classes/Temas/\(id)"), (1, "/classes/Otros"),
            ] {
                answers.append(try await server.clients[node].send("GET", path).summary)
            }
            #expect(answers == ["200", "200", "200", "429/100", "429/100", "200"])
        }
    }

    @Test func sessionsThatHaveEndedAreDeletedByAJob() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let eva = try await server.client.signUp("eva")
            _ = try await server.sql.write(
                "UPDATE \"_Session\" SET \"expiresAt\" = now() - interval '1 second' WHERE \"user\" = $1",
                [.text(eva.id)])
            try await JobQueue.enqueue(NewJob(SessionTidying.name), in: server.sql)
            let isGone = try await eventually(server.loop) {
                try await server.sql.write("SELECT count(*) FROM \"_Session\"").int(0, 0) == 1
            }
            #expect(isGone)
            let standing = try await server.client.send("GET", "/users/me", session: ana.token)
            #expect(standing.status == 200)
        }
    }

    @Test func useInTheSecondHalfOfItsLifeExtendsASession() async throws {
        try await withServer { options in
            options.sessionLength = 1000
            options.extendSessionOnUse = true
        } _: { server in
            let ana = try await server.client.signUp("ana")
            func remaining() async throws -> Int64 {
                try await server.sql.write(
                    "SELECT extract(epoch FROM \"expiresAt\" - now())::int8 FROM \"_Session\""
                ).int(0, 0)
            }
            _ = try await server.client.send("GET", "/users/me", session: ana.token)
            _ = try await server.sql.write("UPDATE \"_Session\" SET \"expiresAt\" = now() + interval '400 seconds'")
            // As another node tells of what it has changed.
            _ = try await server.sql.write("SELECT pg_notify($1, '*')", [.text(AccessChange.channel)])
            let isExtended = try await eventually(server.loop) {
                let used = try await server.client.send("GET", "/users/me", session: ana.token)
                #expect(used.status == 200)
                return try await remaining() > 900
            }
            #expect(isExtended)
        }
    }
}
