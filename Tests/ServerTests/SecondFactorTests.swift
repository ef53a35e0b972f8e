import Core
import Foundation
import Options
import TestSupport
import Testing
import Wire

@testable import Accounts
@testable import Server

/// One-time passwords beside the password, and links by mail.
@Suite struct SecondFactorTests {
    private static let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    /// The password of so many steps from now; each works once.
    private func token(_ steps: Int64 = 0) -> JSON {
        let now = Int64(time(nil)) / 30
        return .string(OneTimePassword(secret: SecondFactorTests.secret, digits: 6)?.password(at: now + steps) ?? "")
    }

    private func setUp(_ client: Client, _ user: (id: String, token: String)) async throws -> [String] {
        let body: JSON = ["authData": ["mfa": ["secret": .string(SecondFactorTests.secret), "token": token(-1)]]]
        let reply = try await client.must("PUT", "/users/\(user.id)", body, session: user.token)
        let codes = reply.json["authDataResponse"]?.object?["mfa"]?.object?["recovery"]?.string ?? ""
        return codes.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func logIn(_ client: Client, _ token: JSON?) async throws -> Reply {
        var body = JSONObject([("username", "ana"), ("password", "secret")])
        if let token { body["authData"] = ["mfa": ["token": token]] }
        return try await client.send("POST", "/login", .object(body))
    }

    private static func configure(_ options: inout ServerOptions) { options.auth = ["mfa": ["attempts": 4]] }

    @Test func aLogInAsksForTheTokenAndEachWorksOnce() async throws {
        try await withServer {
            SecondFactorTests.configure(&$0)
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let before = try await logIn(server.client, nil)
            #expect(before.status == 200)
            let codes = try await setUp(server.client, ana)
            #expect(codes.map(\.count) == [30, 30])
            let me = try await server.client.send("GET", "/users/me", session: ana.token)
            #expect(me.json["authData"] == ["mfa": ["status": "enabled"]])
            let without = try await logIn(server.client, nil)
            #expect(without.code == -1)
            let wrongPassword = try await server.client.send(
                "POST", "/login", ["username": "ana", "password": "mala", "authData": ["mfa": ["token": token()]]])
            #expect(wrongPassword.code == 101)
            let used = token()
            let right = try await logIn(server.client, used)
            #expect(right.status == 200 && right.sessionToken != nil)
            let again = try await logIn(server.client, used)
            #expect(again.code == 141)
            let byCode = try await logIn(server.client, .string(codes[0]))
            #expect(byCode.status == 200)
            let usedCode = try await logIn(server.client, .string(codes[0]))
            #expect(usedCode.code == 141)
            let other = try await logIn(server.client, .string(codes[1]))
            #expect(other.status == 200)
        }
    }

    @Test func guessesAreBounded() async throws {
        try await withServer {
            SecondFactorTests.configure(&$0)
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let codes = try await setUp(server.client, ana)
            for guess in ["000000", "111111", "222222", "333333"] {
                let reply = try await logIn(server.client, .string(guess))
                #expect(reply.json["error"] == "Invalid MFA token")
            }
            let right = try await logIn(server.client, .string(codes[0]))
            #expect(right.json["error"]?.string?.hasPrefix("Too many") == true)
        }
    }

    @Test func aStolenSessionCanNeitherReplaceNorEndIt() async throws {
        try await withServer {
            SecondFactorTests.configure(&$0)
        } _: { server in
            let client = server.client
            let ana = try await client.signUp("ana")
            let eva = try await client.signUp("eva")
            let codes = try await setUp(client, ana)
            let own = JSON.string(SecondFactorTests.secret)
            for (mfa, code) in [
                (nil, 141), (["secret": own, "token": token()], 141),
                (["old": "000000", "secret": own, "token": token()], 141), (["old": "000000", "secret": nil], 141),
                (["status": "disabled"], 141),
            ] as [(JSON, Int)] {
                let reply = try await client.send(
                    "PUT", "/users/\(ana.id)", ["authData": ["mfa": mfa]], session: ana.token)
                #expect(reply.code == code, "\(mfa)")
            }
            let stranger = try await client.send(
                "PUT", "/users/\(ana.id)", ["authData": ["mfa": ["old": .string(codes[1]), "secret": nil]]],
                session: eva.token)
            #expect(stranger.code == 206)
            let deletion = try await client.send("POST", "/users/me/delete", ["password": "secret"], session: ana.token)
            #expect(deletion.code == -1)
            let ended = try await client.send(
                "PUT", "/users/\(ana.id)", ["authData": ["mfa": ["old": .string(codes[0]), "secret": nil]]],
                session: ana.token)
            #expect(ended.status == 200)
            let free = try await logIn(client, nil)
            #expect(free.status == 200)
            // An operator helps who has lost everything.
            _ = try await setUp(client, eva)
            try await client.must("PUT", "/users/\(eva.id)", ["authData": ["mfa": nil]], master: true)
            let back = try await client.send("POST", "/login", ["username": "eva", "password": "secret"])
            #expect(back.status == 200)
        }
    }

    @Test func whatCannotBeASecretIsRefused() async throws {
        try await withServer {
            SecondFactorTests.configure(&$0)
        } _: { server in
            let ana = try await server.client.signUp("ana")
            for mfa in [
                ["secret": "GEZDGNBVGY", "token": token()],
                ["secret": "0000000000000000000000000", "token": token()],
                ["secret": .string(SecondFactorTests.secret), "token": "000000"],
                ["secret": .string(SecondFactorTests.secret)], ["secret": 7, "token": 8], [:], 7,
            ] as [JSON] {
                let reply = try await server.client.send(
                    "PUT", "/users/\(ana.id)", ["authData": ["mfa": mfa]], session: ana.token)
                #expect(reply.code == 141, "\(mfa)")
            }
        }
    }

    @Test func theSecretLiesSealedInTheDatabase() async throws {
        try await withServer {
            SecondFactorTests.configure(&$0)
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let codes = try await setUp(server.client, ana)
            let stored = try await server.sql.read("SELECT \"_second_factor\"::text FROM \"_User\"").string(0, 0)
            for secret in [SecondFactorTests.secret] + codes { #expect(!stored.contains(secret)) }
            let maintenance = try await server.client.send("GET", "/users/\(ana.id)", master: true)
            #expect(!maintenance.text.contains("_second_factor"))
        }
    }

    // MARK: links by mail

    private func withLinks(_ body: @escaping @Sendable (TestServer, Postbox) async throws -> Void) async throws {
        try await withMails(
            { options in
                options.auth = ["link": ["url": "https://foro.example.com/entrar?de=correo"], "mfa": [:]]
            }, body)
    }

    private func link(_ server: TestServer, _ postbox: Postbox, _ count: Int) async throws -> JSON {
        let text = try await postbox.text(count, server)
        #expect(text.contains("https://foro.example.com/entrar?de=correo&token="))
        return .string(try await postbox.token(count, server))
    }

    @Test func aLinkByMailLogsInOnce() async throws {
        try await withLinks { server, postbox in
            let ana = try await server.client.signUp("ana")
            try await server.client.must(
                "PUT", "/users/\(ana.id)", ["email": "ana@example.com"], session: ana.token)
            let unknown = try await server.client.send("POST", "/requestLogInLink", ["email": "nadie@example.com"])
            #expect(unknown.status == 200 && unknown.text == "{}")
            try await server.client.must("POST", "/requestLogInLink", ["email": "ana@example.com"])
            let token = try await link(server, postbox, 1)
            let loggedIn = try await server.client.send("POST", "/logInByLink", ["token": token])
            #expect(loggedIn.status == 200 && loggedIn.objectId == ana.id)
            let me = try await server.client.send("GET", "/users/me", session: loggedIn.sessionToken)
            #expect(me.status == 200)
            for wrong in [token, "", "0000000000000000000000000000000000000000", 7] as [JSON] {
                let reply = try await server.client.send("POST", "/logInByLink", ["token": wrong])
                #expect(reply.code == 101, "\(wrong)")
            }
            // Late, or after the address has changed, it is good for nothing.
            try await server.client.must("POST", "/requestLogInLink", ["email": "ana@example.com"])
            let late = try await link(server, postbox, 2)
            _ = try await server.sql.write("UPDATE \"_User\" SET \"_login_token_expires_at\" = now()")
            let expired = try await server.client.send("POST", "/logInByLink", ["token": late])
            #expect(expired.code == 101)
            try await server.client.must("POST", "/requestLogInLink", ["email": "ana@example.com"])
            let old = try await link(server, postbox, 3)
            try await server.client.must(
                "PUT", "/users/\(ana.id)", ["email": "otra@example.com"], session: ana.token)
            let moved = try await server.client.send("POST", "/logInByLink", ["token": old])
            #expect(moved.code == 101)
            // Nor after a new password.
            try await server.client.must("POST", "/requestLogInLink", ["email": "otra@example.com"])
            let before = try await link(server, postbox, 4)
            try await server.client.must("PUT", "/users/\(ana.id)", ["password": "otra-clave"], session: ana.token)
            let after = try await server.client.send("POST", "/logInByLink", ["token": before])
            #expect(after.code == 101)
            let stored = try await server.sql.read("SELECT count(*) FROM \"_Job\" WHERE payload::text LIKE '%token=%'")
            #expect(stored.int(0, 0) == 0)
        }
    }

    @Test func aLinkStaysGoodWithoutTheSecondFactor() async throws {
        try await withLinks { server, postbox in
            let ana = try await server.client.signUp("ana")
            try await server.client.must(
                "PUT", "/users/\(ana.id)", ["email": "ana@example.com"], session: ana.token)
            _ = try await setUp(server.client, ana)
            try await server.client.must("POST", "/requestLogInLink", ["email": "ana@example.com"])
            let link = try await link(server, postbox, 1)
            let without = try await server.client.send("POST", "/logInByLink", ["token": link])
            #expect(without.code == -1)
            let with = try await server.client.send(
                "POST", "/logInByLink", ["token": link, "authData": ["mfa": ["token": token()]]])
            #expect(with.status == 200)
        }
    }
}
