import Core
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import Accounts
@testable import Server

/// Nothing that lets somebody in lies in the database in clear, or in a log.
@Suite struct AccountSecretsTests {
    private static let totp = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    /// What was used in a run, by what it is.
    private struct Secrets {
        var all: [(name: String, text: String)] = []
        mutating func add(_ name: String, _ text: String?) throws {
            let text = try #require(text, "\(name)")
            try #require(text.utf8.count >= 6, "\(name): \(text)")
            all.append((name, text))
        }
        func found(in text: String) -> [String] { all.filter { text.contains($0.text) }.map(\.name) }
    }

    @Test func neitherADumpNorALogTellsASecretOfARun() async throws {
        let folder = HermesProcess.makeFolder("account-secrets")
        defer { removeFolder(folder) }
        let key = SigningKey(.rsa, id: "uno", algorithm: "RS256")
        let database = try await TestDatabase.make(template: .migrated)
        try await IssuerHost.open { issuer in
            issuer.publish([key])
            let (issuerURL, idToken) = (issuer.url, key.sign(.object(issuer.claims("ana-7"))))
            try await onWorker { loop in
                let postbox = try await Postbox.open(loop)
                let process = try HermesProcess(
                    folder: folder, conninfo: database.conninfo,
                    options: [
                        ("hashSessionTokens", true), ("logLevel", "debug"), ("verifyUserEmails", true),
                        ("email", ["smtp": .string(postbox.url), "from": "foro@example.com"]),
                        ("accountLockout", ["threshold": 5, "duration": 5]),
                        ("passwordPolicy", ["maxPasswordHistory": 3]),
                        (
                            "auth",
                            [
                                "mfa": [:], "link": ["url": "https://foro.example.com/entrar"],
                                "casa": ["issuer": .string(issuerURL), "clientId": "foro"],
                            ]
                        ),
                    ])
                try await process.waitUntilReady(loop)
                let client = Client(loop, port: process.port)
                defer { client.close() }
                var secrets = Secrets()
                try secrets.add("the master key", TestServer.masterKey)
                try await run(client, loop, postbox, idToken, &secrets)
                #expect(secrets.all.count > 20)

                let program = try PostgresBinaries.find(majorVersion: nil).folder + "/pg_dump"
                let (exit, dump) = try await blocking {
                    try ChildProcess.run(
                        [program, "--inserts", database.conninfo], environment: ProcessInfo.processInfo.environment)
                }
                try #require(exit == 0)
                // The search finds what is there.
                #expect(dump.contains("ana@example.com") && dump.contains("ana-7"))
                #expect(secrets.found(in: dump) == [])
                process.child.signal(15)
                _ = try await process.exit(within: 60)
                let log = try String(contentsOfFile: process.log, encoding: .utf8)
                #expect(log.contains("path=/parse/login"))
                #expect(secrets.found(in: log) == [])
                try await postbox.stop()
                postbox.remove()
            }
        }
    }

    private func token(_ steps: Int64) -> String {
        OneTimePassword(secret: AccountSecretsTests.totp, digits: 6)?
            .password(at: Int64(time(nil)) / 30 + steps) ?? ""
    }

    /// Each flow once, and what goes wrong in them.
    private func run(
        _ client: Client, _ loop: Loop, _ postbox: Postbox, _ idToken: String, _ secrets: inout Secrets
    ) async throws {
        func mailed(_ count: Int) async throws -> String {
            let isThere = try await eventually(loop) { postbox.letters.count >= count }
            #expect(isThere)
            let text = postbox.letters.last?.text ?? ""
            let start = try #require(text.range(of: "token="))
            return String(text[start.upperBound...].prefix(40))
        }
        let passwords = ["primera-Clave-1", "segunda-Clave-2", "tercera-Clave-3", "equivocada-Clave-4"]
        for password in passwords { try secrets.add("a password", password) }
        let made = try await client.must(
            "POST", "/users",
            ["username": "ana", "password": .string(passwords[0]), "email": "ana@example.com"])
        try secrets.add("a session", made.sessionToken)
        let id = made.objectId ?? ""
        let verification = try await mailed(1)
        try secrets.add("a token to verify", verification)
        _ = try await client.send("GET", "/apps/test/verify_email?token=\(verification)")

        _ = try await client.send("POST", "/login", ["username": "ana", "password": .string(passwords[3])])
        _ = try await client.send("GET", "/login?username=ana&password=\(passwords[3])")
        let byURL = try await client.must("GET", "/login?username=ana&password=\(passwords[0])")
        try secrets.add("a session", byURL.sessionToken)
        let changed = try await client.must(
            "PUT", "/users/\(id)", ["password": .string(passwords[1])], session: byURL.sessionToken)
        try secrets.add("a session", changed.sessionToken)
        _ = try await client.send("GET", "/users/me", session: made.sessionToken)

        try await client.must("POST", "/requestPasswordReset", ["email": "ana@example.com"])
        let reset = try await mailed(2)
        try secrets.add("a token for a new password", reset)
        _ = try await client.send("GET", "/apps/test/request_password_reset?token=\(reset)")
        let isSet = try await client.send(
            "POST", "/apps/test/request_password_reset",
            ["token": .string(reset), "new_password": .string(passwords[2])])
        #expect(isSet.status == 200)

        let session = try await client.must("POST", "/login", ["username": "ana", "password": .string(passwords[2])])
        try secrets.add("a session", session.sessionToken)
        try secrets.add("the second factor's secret", AccountSecretsTests.totp)
        let setUp = try await client.must(
            "PUT", "/users/\(id)",
            ["authData": ["mfa": ["secret": .string(AccountSecretsTests.totp), "token": .string(token(-1))]]],
            session: session.sessionToken)
        let codes = setUp.json["authDataResponse"]?.object?["mfa"]?.object?["recovery"]?.string ?? ""
        for code in codes.split(separator: ",") {
            try secrets.add("a recovery code", code.trimmingCharacters(in: .whitespaces))
        }
        _ = try await client.send(
            "POST", "/login",
            ["username": "ana", "password": .string(passwords[2]), "authData": ["mfa": ["token": "000000"]]])
        try await client.must("POST", "/requestLogInLink", ["email": "ana@example.com"])
        let link = try await mailed(3)
        try secrets.add("a link to log in by", link)
        let linked = try await client.must(
            "POST", "/logInByLink",
            [
                "token": .string(link),
                "authData": ["mfa": ["token": .string(secrets.all.last { $0.name == "a recovery code" }?.text ?? "")]],
            ])
        try secrets.add("a session", linked.sessionToken)

        try secrets.add("an ID token", idToken)
        let provided = try await client.must("POST", "/users", ["authData": ["casa": ["id_token": .string(idToken)]]])
        try secrets.add("a session", provided.sessionToken)
        _ = try await client.send("POST", "/users", ["authData": ["casa": ["id_token": .string(idToken + "x")]]])
        // A link that waits in the queue, and one that nobody has used.
        try await client.must("POST", "/requestPasswordReset", ["email": "ana@example.com"])
        try secrets.add("an unused token", try await mailed(4))
        try await client.must("GET", "/users/me/export", session: linked.sessionToken)
        try await client.must("POST", "/logout", session: linked.sessionToken)
        for name in ["luis", "eva", "sol", "mar"] {
            let password = "clave-de-\(name)-\(UInt32.random(in: 0 ... .max))"
            try secrets.add("a password", password)
            let user = try await client.must(
                "POST", "/users", ["username": .string(name), "password": .string(password)])
            try secrets.add("a session", user.sessionToken)
        }
    }
}
