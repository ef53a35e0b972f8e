import Postgres
import TestSupport
import Testing
import Wire

@testable import Accounts
@testable import Server

/// Accounts that an operator locks.
@Suite struct AccountLockTests {
    @Test func aLockedAccountIsShutAtOnceOnAllNodes() async throws {
        try await withServer(nodes: 2) { server in
            let ana = try await server.client.signUp("ana")
            for client in server.clients {
                try await client.must("GET", "/users/me", session: ana.token)
            }
            let before = try await server.client.must("GET", "/users/\(ana.id)", master: true)
            let free = try await server.client.must("GET", "/users/\(ana.id)/lock", master: true)
            #expect(free.json["locked"] == false)

            let locked = try await server.client.must("POST", "/users/\(ana.id)/lock", master: true)
            #expect(locked.json["sessionsEnded"] == 1)
            #expect(try await server.client.send("GET", "/users/me", session: ana.token).code == 209)
            let ends = try await eventually(server.loop) {
                try await server.clients[1].send("GET", "/users/me", session: ana.token).code == 209
            }
            #expect(ends)
            let right = try await server.client.send("POST", "/login", ["username": "ana", "password": "secret"])
            #expect(right.summary == "404/101" && right.json["error"] == "Your account is locked.")
            let verified = try await server.client.send(
                "POST", "/verifyPassword", ["username": "ana", "password": "secret"])
            #expect(verified.json["error"] == "Your account is locked.")
            let asAna = try await server.client.send("POST", "/loginAs", ["userId": .string(ana.id)], master: true)
            #expect(asAna.json["error"] == "Your account is locked.")
            // A new password changes nothing of it, and others see the account as before.
            try await server.client.must("PUT", "/users/\(ana.id)", ["password": "otra"], master: true)
            let shut = try await server.client.send("POST", "/login", ["username": "ana", "password": "otra"])
            #expect(shut.json["error"] == "Your account is locked.")
            let after = try await server.client.must("GET", "/users/\(ana.id)", master: true)
            #expect(after.json["ACL"] == before.json["ACL"] && after.json["username"] == "ana")
            #expect(try await server.client.send("GET", "/users/\(ana.id)/lock", master: true).json["until"] == nil)

            try await server.client.must("DELETE", "/users/\(ana.id)/lock", master: true)
            #expect(try await server.client.send("GET", "/users/me", session: ana.token).code == 209)
            let again = try await server.client.must("POST", "/login", ["username": "ana", "password": "otra"])
            try await server.clients[1].must("GET", "/users/me", session: again.sessionToken)
        }
    }

    @Test func otherWaysInAreShutToo() async throws {
        try await withServer { server in
            let authData: JSON = ["authData": ["anonymous": ["id": "33333333-aaaa"]]]
            let made = try await server.client.must("POST", "/users", authData)
            let id = try #require(made.objectId)
            try await server.client.must("POST", "/users/\(id)/lock", master: true)
            let refused = try await server.client.send("POST", "/users", authData)
            #expect(refused.json["error"] == "Your account is locked.")
            #expect(try await server.client.send("GET", "/users/me", session: made.sessionToken).code == 209)
        }
    }

    @Test func onlyTheMasterKeyLocks() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let eva = try await server.client.signUp("eva")
            for method in ["GET", "POST", "DELETE"] {
                let refused = try await server.client.send(method, "/users/\(ana.id)/lock", session: eva.token)
                #expect(refused.status == 403, "\(method)")
                let unknown = try await server.client.send(method, "/users/nadie/lock", master: true)
                #expect(unknown.summary == "404/101", "\(method)")
            }
            try await server.client.must("GET", "/users/me", session: ana.token)
        }
    }

    @Test func guessesLearnNothingOfALockAndDoNotOpenIt() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 2
        } _: { server in
            let ana = try await server.client.signUp("ana")
            try await server.client.must("POST", "/users/\(ana.id)/lock", master: true)
            func answers(_ name: String) async throws -> [String] {
                var answers: [String] = []
                for _ in 0..<3 {
                    let reply = try await server.client.send(
                        "POST", "/login", ["username": .string(name), "password": "mala"])
                    answers.append("\(reply.summary) \(reply.text)")
                }
                return answers
            }
            let (locked, unknown) = (try await answers("ana"), try await answers("nadie"))
            #expect(locked == unknown && locked[1] != locked[2])
        }
    }

    @Test func aPasswordResetByMailDoesNotOpenIt() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 2
            options.accountLockout.unlockOnPasswordReset = true
        } _: { server in
            let ana = try await server.client.signUp("ana")
            try await server.client.must("POST", "/users/\(ana.id)/lock", master: true)
            let token = MailedToken(for: .passwordReset, of: ana.id, secret: [1])
            _ = try await server.sql.write(
                "UPDATE \"_User\" SET \"_perishable_token\" = $1::text", [.text(token.stored)])
            let reset = try await server.client.send(
                "POST", "/apps/\(TestServer.appId)/request_password_reset",
                ["token": .string(token.text), "new_password": "otra"],
                headers: [("X-Requested-With", "XMLHttpRequest")])
            #expect(reset.isSuccess, "\(reset.text)")
            let shut = try await server.client.send("POST", "/login", ["username": "ana", "password": "otra"])
            #expect(shut.json["error"] == "Your account is locked.")
        }
    }

    @Test func unlockingEndsALockoutToo() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 1
        } _: { server in
            let ana = try await server.client.signUp("ana")
            _ = try await server.client.send("POST", "/login", ["username": "ana", "password": "mala"])
            let out = try await server.client.must("GET", "/users/\(ana.id)/lock", master: true)
            #expect(out.json["locked"] == true && out.json["until"] != nil)
            try await server.client.must("DELETE", "/users/\(ana.id)/lock", master: true)
            try await server.client.must("POST", "/login", ["username": "ana", "password": "secret"])
            // Who was logged in stays so: a lockout ends no session.
            try await server.client.must("GET", "/users/me", session: ana.token)
        }
    }

    @Test func whoLogsInMeanwhileIsShutOutAsWell() async throws {
        try await withServer(nodes: 2) { options in
            options.accountLockout.threshold = 50
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let replies = try await server.loop.concurrently(13) { index in
                if index == 6 { return try await server.client.must("POST", "/users/\(ana.id)/lock", master: true) }
                return try await server.clients[index % 2].send(
                    "POST", "/login", ["username": "ana", "password": "secret"])
            }.map { try $0.get() }
            let tokens = replies.compactMap(\.sessionToken) + [ana.token]
            func standing() async throws -> Int {
                var count = 0
                for token in tokens {
                    for client in server.clients
                    where try await client.send("GET", "/users/me", session: token).isSuccess {
                        count += 1
                    }
                }
                return count
            }
            #expect(try await eventually(server.loop) { try await standing() == 0 })
            // A right password that was being looked at does not undo the lock.
            let shut = try await server.client.send("POST", "/login", ["username": "ana", "password": "secret"])
            #expect(shut.json["error"] == "Your account is locked.")
            try await server.client.must("DELETE", "/users/\(ana.id)/lock", master: true)
            #expect(try await standing() == 0)
        }
    }
}
