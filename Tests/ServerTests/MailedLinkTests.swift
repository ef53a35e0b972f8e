import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// Whom the links in an account's mails are for: who reads the address that it has now.
@Suite struct MailedLinkTests {
    private func withLinks(_ body: @escaping @Sendable (TestServer, Postbox) async throws -> Void) async throws {
        try await withMails(
            { options in
                options.publicServerURL = "http://127.0.0.1/parse"
                options.verifyUserEmails = true
                options.sendUserEmailVerification = false
            }, body)
    }

    private func setPassword(_ server: TestServer, by token: String) async throws {
        _ = try await server.client.send(
            "POST", "/apps/test/request_password_reset", ["token": .string(token), "new_password": "nueva-clave"])
    }

    private func isPassword(_ server: TestServer, of name: String) async throws -> Bool {
        let body: JSON = ["username": .string(name), "password": "nueva-clave"]
        return try await server.client.send("POST", "/login", body).status == 200
    }

    @Test func aLinkToAnOldAddressSetsNoPassword() async throws {
        try await withLinks { server, postbox in
            let ana = try await server.client.signUp("ana")
            func move(to address: JSON) async throws {
                try await server.client.must("PUT", "/users/\(ana.id)", ["email": address], session: ana.token)
            }
            try await move(to: "vieja@example.com")
            try await server.client.must("POST", "/requestPasswordReset", ["email": "vieja@example.com"])
            let old = try await postbox.token(1, server)
            try await move(to: "nueva@example.com")
            try await setPassword(server, by: old)
            let isOld = try await isPassword(server, of: "ana")
            #expect(!isOld)
            try await server.client.must("POST", "/requestPasswordReset", ["email": "nueva@example.com"])
            try await setPassword(server, by: try await postbox.token(2, server))
            let isNew = try await isPassword(server, of: "ana")
            #expect(isNew)
        }
    }

    @Test func aLinkToAnOldAddressVerifiesNoOther() async throws {
        try await withLinks { server, postbox in
            let ana = try await server.client.signUp("ana")
            for (count, address) in ["vieja@example.com", "nueva@example.com"].enumerated() {
                try await server.client.must(
                    "PUT", "/users/\(ana.id)", ["email": .string(address)], session: ana.token)
                try await server.client.must("POST", "/verificationEmailRequest", ["email": .string(address)])
                let link = try await postbox.token(count + 1, server)
                if count == 0 {
                    let other: JSON = ["email": "ajena@example.com"]
                    try await server.client.must("PUT", "/users/\(ana.id)", other, session: ana.token)
                }
                _ = try await server.client.send("GET", "/apps/test/verify_email?token=\(link)")
                let user = try await server.client.send("GET", "/users/\(ana.id)", master: true)
                #expect(user.json["emailVerified"] == .bool(count == 1), "\(address)")
            }
        }
    }

    /// Who sets a limit means the links that have been mailed, too.
    @Test func aLinkFromBeforeLinksHadAnEndHoldsNoLonger() async throws {
        try await withMails { options in
            options.publicServerURL = "http://127.0.0.1/parse"
            options.verifyUserEmails = true
            options.emailVerifyTokenValidityDuration = 3600
            options.passwordPolicy.resetTokenValidityDuration = 3600
        } _: { server, postbox in
            let ana = try await server.client.signUp("ana")
            let address: JSON = ["email": "ana@example.com"]
            try await server.client.must("PUT", "/users/\(ana.id)", address, session: ana.token)
            let verification = try await postbox.token(1, server)
            try await server.client.must("POST", "/requestPasswordReset", address)
            let reset = try await postbox.token(2, server)
            // As they are stored where the options say nothing.
            let endless = Statement(
                """
                UPDATE "_User" SET "_email_verify_token_expires_at" = NULL, "_perishable_token_expires_at" = NULL
                """)
            _ = try await server.sql.write(endless, [])
            _ = try await server.client.send("GET", "/apps/test/verify_email?token=\(verification)")
            let user = try await server.client.send("GET", "/users/\(ana.id)", master: true)
            #expect(user.json["emailVerified"] == false)
            try await setPassword(server, by: reset)
            let isNew = try await isPassword(server, of: "ana")
            #expect(!isNew)
        }
    }

    /// Where addresses are not verified, and it may be said whether there is one.
    @Test func whoIsUnknownIsSaidAlsoWhereNothingIsVerified() async throws {
        try await withMails { options in
            options.publicServerURL = "http://127.0.0.1/parse"
            options.emailVerifySuccessOnInvalidEmail = false
        } _: { server, _ in
            let ana = try await server.client.signUp("ana")
            try await server.client.must(
                "PUT", "/users/\(ana.id)", ["email": "ana@example.com"], session: ana.token)
            func asked(_ address: JSON) async throws -> String {
                try await server.client.send("POST", "/verificationEmailRequest", ["email": address]).summary
            }
            let unknown = try await asked("nadie@example.com")
            #expect(unknown == "400/205")
            let known = try await asked("ana@example.com")
            #expect(known == "200")
            try await server.client.must("PUT", "/users/\(ana.id)", ["emailVerified": true], master: true)
            let verified = try await asked("ana@example.com")
            #expect(verified == "400/-1")
            let mails = try await server.sql.read(Statement("SELECT FROM \"_Job\" WHERE kind = 'mail'"), [])
            #expect(mails.count == 0)
        }
    }

    /// Whoever asks for many can't keep others from the one that they have.
    @Test(arguments: ["/requestPasswordReset", "/requestLogInLink", "/verificationEmailRequest"])
    func aMailThatIsDroppedTakesNoLinkAway(path: String) async throws {
        try await withMails { options in
            options.publicServerURL = "http://127.0.0.1/parse"
            options.verifyUserEmails = true
            options.sendUserEmailVerification = false
            options.auth = ["link": ["url": "http://127.0.0.1/entrar"]]
            options.email.hourlyPerAddress = 1
        } _: { server, postbox in
            let ana = try await server.client.signUp("ana")
            let address: JSON = ["email": "ana@example.com"]
            try await server.client.must("PUT", "/users/\(ana.id)", address, session: ana.token)
            func stored() async throws -> String? {
                let tokens = Statement(
                    "SELECT coalesce(\"_perishable_token\", \"_login_token\", \"_email_verify_token\") FROM \"_User\"")
                return try await server.sql.read(tokens, []).optionalString(0, 0)
            }
            try await server.client.must("POST", path, address)
            let token = try #require(try await stored())
            let asked = try await server.client.send("POST", path, address)
            #expect(asked.status == 200 && asked.text == "{}")
            #expect(try await stored() == token)
        }
    }

    @Test func whoTakesAnothersAddressForANameGetsNotHisLinks() async throws {
        try await withLinks { server, postbox in
            let ana = try await server.client.signUp("ana")
            _ = try await server.client.signUp("ana@example.com")
            // Written last, so that its row comes behind the other.
            try await server.client.must(
                "PUT", "/users/\(ana.id)", ["email": "ana@example.com"], session: ana.token)
            try await server.client.must("POST", "/requestPasswordReset", ["email": "ana@example.com"])
            try await setPassword(server, by: try await postbox.token(1, server))
            let isSet = try await isPassword(server, of: "ana")
            #expect(isSet)
        }
    }
}
