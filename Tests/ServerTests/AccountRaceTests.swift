import Core
import Options
import Postgres
import TestSupport
import Testing
import Wire

@testable import Accounts
@testable import Server

/// What is asked for an account while it is being changed.
@Suite struct AccountRaceTests {
    /// Sends a request while a change of users has been written but does not stand yet: it reads what was before. Once
    /// it waits for the change, or is answered, the change is committed.
    ///
    /// - Parameter before: what happens just before that.
    private func during(
        _ change: [String], _ server: TestServer, _ send: @escaping () async throws -> Reply,
        before: () async throws -> Void = {}
    ) async throws -> Reply {
        var reply: Result<Reply, any Error>?
        var request: Task<Void, Never>?
        try await server.sql.transaction { transaction in
            for statement in change { _ = try await transaction.execute(Statement(statement), []) }
            request = server.loop.spawn {
                do { reply = .success(try await send()) } catch { reply = .failure(error) }
            }
            try await until(server.loop) {
                let waiting = Statement(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """)
                let count = try await server.sql.read(waiting, []).int(0, 0)
                return reply != nil || count > 0
            }
            try await before()
        }
        await request?.value
        return try #require(reply).get()
    }

    /// What the path of writes does for a new password.
    private static let newPassword = [
        "UPDATE \"_User\" SET \"_hashed_password\" = '$2b$10$another'", "DELETE FROM \"_Session\"",
    ]

    @Test func noSessionOpensBesideANewPassword() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let logIn = try await during(AccountRaceTests.newPassword, server) {
                try await server.client.send("POST", "/login", ["username": "ana", "password": "secret"])
            }
            #expect(logIn.summary == "404/101", "\(logIn.text)")
            for path in ["/sessions", "/upgradeToRevocableSession"] {
                let eva = try await server.client.signUp("eva\(path.utf8.count)")
                let another = try await during(AccountRaceTests.newPassword, server) {
                    try await server.client.send("POST", path, [:], session: eva.token)
                }
                #expect(another.code == 209, "\(another.text)")
            }
            let left = try await server.all("_Session")
            #expect(left.isEmpty)
            // A change that leaves the password as it is stands in nobody's way.
            try await server.client.must("PUT", "/users/\(ana.id)", ["password": "otra"], master: true)
            let other = try await during(["UPDATE \"_User\" SET \"updatedAt\" = now()"], server) {
                try await server.client.send("POST", "/login", ["username": "ana", "password": "otra"])
            }
            #expect(other.status == 200)
            try await server.client.must("GET", "/users/me", session: other.sessionToken)
        }
    }

    @Test func noSessionOutlivesItsUser() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let deletion = ["DELETE FROM \"_User\"", "DELETE FROM \"_Session\""]
            let asAna = try await during(deletion, server) {
                try await server.client.send("POST", "/loginAs", ["userId": .string(ana.id)], master: true)
            }
            #expect(asAna.code == 101, "\(asAna.text)")
            let left = try await server.all("_Session")
            #expect(left.isEmpty)
        }
    }

    /// A request that reads its session before that ends, and hears of it afterwards, keeps nothing of it.
    @Test func noSessionComesBackToLifeByItsUse() async throws {
        try await withServer {
            $0.extendSessionOnUse = true
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let session = try #require(try await server.all("_Session").first?["objectId"]?.string)
            for statement in [
                // Its life is more than half over.
                "UPDATE \"_Session\" SET \"expiresAt\" = now() + interval '1 day'",
                // Whoever reads it waits, once it has been read, for who holds the lock.
                "ALTER TABLE \"_Join:users:_Role\" RENAME TO members",
                """
                CREATE FUNCTION held() RETURNS text LANGUAGE plpgsql VOLATILE AS $$ BEGIN
                    PERFORM pg_advisory_xact_lock_shared(7);
                    RETURN '';
                END $$
                """,
                """
                CREATE VIEW "_Join:users:_Role" AS SELECT "owningId", "relatedId" FROM members
                    UNION ALL SELECT '' COLLATE "C", held() COLLATE "C"
                """,
            ] { _ = try await server.sql.write(Statement(statement), []) }
            let first = try await during(["SELECT pg_advisory_xact_lock(7)"], server) {
                try await server.client.send("GET", "/users/me", session: ana.token)
            } before: {
                try await server.client.must("DELETE", "/sessions/\(session)", master: true)
            }
            #expect(first.status == 200, "\(first.text)")
            let second = try await server.client.send("GET", "/users/me", session: ana.token)
            #expect(second.code == 209, "\(second.text)")
        }
    }

    @Test func oneOfSeveralSecondFactorsIsSetUp() async throws {
        try await withServer {
            $0.auth = ["mfa": [:]]
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
            let step = Timestamp.now.milliseconds / 1000 / OneTimePassword.period
            let token = try #require(OneTimePassword(secret: secret, digits: 6)).password(at: step)
            let body: JSON = ["authData": ["mfa": ["secret": .string(secret), "token": .string(token)]]]
            let other = "UPDATE \"_User\" SET \"_second_factor\" = '{\"secret\": \"c2VjcmV0\"}'"
            let late = try await during([other], server) {
                try await server.client.send("PUT", "/users/\(ana.id)", body, session: ana.token)
            }
            #expect(late.json["error"] == "MFA is already set up on this account", "\(late.text)")
            let rows = try await server.sql.read(
                Statement("SELECT \"_second_factor\" ->> 'secret' FROM \"_User\""), [])
            #expect(rows.string(0, 0) == "c2VjcmV0")
        }
    }

    @Test(arguments: ["/requestPasswordReset", "/requestLogInLink", "/verificationEmailRequest"])
    func noLinkGoesToAnAddressThatIsLeft(path: String) async throws {
        try await withMails { options in
            options.publicServerURL = "http://127.0.0.1/parse"
            options.verifyUserEmails = true
            options.sendUserEmailVerification = false
            options.auth = ["link": ["url": "http://127.0.0.1/entrar"]]
        } _: { server, _ in
            let ana = try await server.client.signUp("ana")
            let address: JSON = ["email": "vieja@example.com"]
            try await server.client.must("PUT", "/users/\(ana.id)", address, session: ana.token)
            let change = "UPDATE \"_User\" SET \"email\" = 'nueva@example.com'"
            let asked = try await during([change], server) { try await server.client.send("POST", path, address) }
            #expect(asked.status == 200, "\(asked.text)")
            let tokens = try await server.sql.read(
                Statement(
                    "SELECT coalesce(\"_perishable_token\", \"_login_token\", \"_email_verify_token\") IS NULL FROM \"_User\""
                ), [])
            #expect(tokens.bool(0, 0))
            let mails = Statement("SELECT count(*) FROM \"_Job\" WHERE \"kind\" = 'mail'")
            #expect(try await server.sql.read(mails, []).int(0, 0) == 0)
        }
    }
}
