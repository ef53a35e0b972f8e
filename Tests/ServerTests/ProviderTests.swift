import Accounts
import Core
import Options
import TestSupport
import Testing
import Wire

@testable import Server

/// Ways in by somebody else who knows the user.
@Suite struct ProviderTests {
    private static let key = SigningKey(.rsa, id: "uno", algorithm: "RS256")
    private static let curve = SigningKey(.ellipticCurve, id: "dos", algorithm: "ES256")

    private func data(_ token: String, id: String? = nil) -> JSON {
        var data = JSONObject([("id_token", .string(token))])
        if let id { data["id"] = .string(id) }
        return ["authData": ["casa": .object(data)]]
    }

    private func withIssuer(
        _ body: @escaping @Sendable (IssuerHost, TestServer) async throws -> Void
    ) async throws {
        try await IssuerHost.open { issuer in
            issuer.publish([ProviderTests.key, ProviderTests.curve])
            try await withServer { options in
                options.auth = ["casa": ["issuer": .string(issuer.url), "clientId": "foro"]]
            } _: { server in
                try await body(issuer, server)
            }
        }
    }

    @Test func anIssuersTokenSignsUpAndThenLogsIn() async throws {
        try await withIssuer { issuer, server in
            let client = server.client
            let first = ProviderTests.key.sign(.object(issuer.claims("ana-7")))
            let made = try await client.send("POST", "/users", data(first, id: "ana-7"))
            #expect(made.status == 201)
            #expect(made.json["authDataResponse"] == [:])
            let token = try #require(made.sessionToken)
            // Nothing that lets one in elsewhere is kept.
            let me = try await client.send("GET", "/users/me", session: token)
            #expect(me.json["authData"] == ["casa": ["id": "ana-7"]])
            let again = ProviderTests.curve.sign(.object(issuer.claims("ana-7")))
            let back = try await client.send("POST", "/users", data(again))
            #expect(back.status == 200)
            #expect(back.objectId == made.objectId)
            #expect(back.sessionToken != nil && back.sessionToken != token)
            let other = try await client.send(
                "POST", "/users", data(ProviderTests.key.sign(.object(issuer.claims("eva-8")))))
            #expect(other.status == 201 && other.objectId != made.objectId)
            let sessions = try await server.all("_Session").compactMap {
                $0["createdWith"]?.object?["authProvider"]?.string
            }
            #expect(Set(sessions) == ["casa"])
            // The keys were asked for once.
            #expect(issuer.asked.filter { $0.hasSuffix("/keys") }.count == 1)
        }
    }

    @Test func tokensThatShowNothingAreRefused() async throws {
        try await withIssuer { issuer, server in
            let good = issuer.claims("ana-7")
            let now = good["exp"]?.number ?? 0
            func token(_ changes: [(String, JSON?)], header: [(String, String)] = [], by key: SigningKey? = nil)
                -> String
            {
                var claims = good
                for (name, value) in changes { claims[name] = value }
                return (key ?? ProviderTests.key).sign(.object(claims), header: header)
            }
            let stranger = SigningKey(.rsa, id: "uno", algorithm: "RS256")
            let unknown = SigningKey(.rsa, id: "tres", algorithm: "RS256")
            let modulus = ProviderTests.key.publicKey.object?["n"]?.string ?? ""
            let shared = SigningKey(.shared(Array(modulus.utf8)), id: "uno", algorithm: "HS256")
            let right = token([])
            let parts = right.split(separator: ".")
            let encode = { (json: JSON) in
                Base64.encode(json.bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            }
            let unsigned = encode(["alg": "none"]) + "." + parts[1] + "."
            var forged = good
            forged["sub"] = "eva-8"
            let refused: [(String, String)] = [
                ("audience", token([("aud", "otra")])), ("no audience", token([("aud", nil)])),
                ("issuer", token([("iss", "https://malo.example")])), ("no issuer", token([("iss", nil)])),
                ("expired", token([("exp", .number(now - 1200))])), ("no end", token([("exp", nil)])),
                ("not yet", token([("nbf", .number(now + 600))])), ("from later", token([("iat", .number(now + 600))])),
                ("nobody", token([("sub", "")])), ("a number", token([("sub", 7)])),
                ("another party", token([("aud", ["foro", "otra"]), ("azp", "otra")])),
                ("no party", token([("aud", ["foro", "otra"])])),
                ("key", token([], by: stranger)), ("unknown key", token([], by: unknown)),
                ("shared secret", token([], by: shared)), ("extension", token([], header: [("crit", "exp")])),
                ("none", unsigned), ("NONE", encode(["alg": "NONE"]) + "." + parts[1] + "."),
                ("none with a signature", encode(["alg": "none", "kid": "uno"]) + "." + parts[1] + "." + parts[2]),
                ("another algorithm", encode(["alg": "ES256", "kid": "uno"]) + "." + parts[1] + "." + parts[2]),
                ("forged", "\(parts[0]).\(encode(.object(forged))).\(parts[2])"),
                ("cut", String(right.dropLast(9))), ("empty", ""), ("words", "a.b.c"), ("long", right + "." + right),
            ]
            for (name, text) in refused {
                let reply = try await server.client.send("POST", "/users", data(text))
                #expect(reply.summary == "404/101", "\(name): \(reply.text)")
            }
            let mismatch = try await server.client.send("POST", "/users", data(right, id: "eva-8"))
            #expect(mismatch.summary == "404/101")
            let byHand = try await server.client.send("POST", "/users", ["authData": ["casa": ["id": "ana-7"]]])
            #expect(byHand.summary == "404/101")
            let unknownProvider = try await server.client.send("POST", "/users", ["authData": ["otro": ["id": "x"]]])
            #expect(unknownProvider.code == 252)
            let users = try await server.all("_User")
            #expect(users.isEmpty)
            let several = try await server.client.send(
                "POST", "/users", data(token([("aud", ["otra", "foro"]), ("azp", "foro")])))
            #expect(several.status == 201)
        }
    }

    @Test func aProviderIsLinkedAndUnlinkedAndBelongsToOne() async throws {
        try await withIssuer { issuer, server in
            let client = server.client
            let ana = try await client.signUp("ana")
            let eva = try await client.signUp("eva")
            let token = { ProviderTests.key.sign(.object(issuer.claims("ana-7"))) }
            // Not by hand, whoever tries.
            let byHand: JSON = ["authData": ["casa": ["id": "ana-7"]]]
            let own = try await client.send("PUT", "/users/\(ana.id)", byHand, session: ana.token)
            let master = try await client.send("PUT", "/users/\(ana.id)", byHand, master: true)
            #expect(own.code == 101 && master.code == 101)
            let linked = try await client.send("PUT", "/users/\(ana.id)", data(token()), session: ana.token)
            #expect(linked.status == 200)
            #expect(linked.json["authDataResponse"] == [:])
            let taken = try await client.send("PUT", "/users/\(eva.id)", data(token()), session: eva.token)
            #expect(taken.code == 208)
            let back = try await client.send("POST", "/users", data(token()))
            #expect(back.objectId == ana.id)
            let byPassword = try await client.send("POST", "/login", ["username": "ana", "password": "secret"])
            #expect(byPassword.status == 200)
            let unlinked = try await client.send(
                "PUT", "/users/\(ana.id)", ["authData": ["casa": nil]], session: ana.token)
            #expect(unlinked.status == 200)
            let me = try await client.send("GET", "/users/me", session: ana.token)
            #expect(me.json["authData"] == nil)
            // Now it is free; a log-in by password can bring it along.
            let other = try await client.send(
                "POST", "/login",
                ["username": "eva", "password": "secret", "authData": ["casa": ["id_token": .string(token())]]])
            #expect(other.status == 200)
            let hers = try await client.send("POST", "/users", data(token()))
            #expect(hers.objectId == eva.id)
            // Whom the master key has locked out does not come in by another door.
            try await client.must("PUT", "/users/\(eva.id)", ["ACL": [:]], master: true)
            let locked = try await client.send("POST", "/users", data(token()))
            #expect(locked.code == 101)
        }
    }

    @Test func linksAreNotTakenAwayAllAtOnce() async throws {
        try await withServer { server in
            let client = server.client
            let logins: JSON = ["anonymous": ["id": "una"]]
            let made = try await client.send("POST", "/users", ["authData": logins])
            let session = made.json["sessionToken"]?.string
            let path = "/users/\(made.objectId ?? "")"
            let refused = try await client.send("PUT", path, ["authData": .null], session: session)
            #expect(refused.summary == "400/252", "\(refused.text)")
            let user = try await client.send("GET", "/users/me", session: session)
            #expect(user.json["authData"] == logins)
        }
    }

    @Test func ofManySignUpsAtOnceByOneIdOneUserComes() async throws {
        try await withIssuer { issuer, server in
            let token = ProviderTests.key.sign(.object(issuer.claims("ana-7")))
            let body = data(token)
            let replies = try await server.loop.concurrently(12) { _ in
                try await server.client.send("POST", "/users", body)
            }.map { try $0.get() }
            #expect(replies.filter { !$0.isSuccess }.isEmpty)
            #expect(Set(replies.map { $0.objectId }).count == 1)
            let users = try await server.all("_User")
            #expect(users.count == 1)
        }
    }

    @Test func anIssuersNewKeysAreTakenAndItsSilenceIsBorne() async throws {
        try await IssuerHost.open { issuer in
            issuer.publish([ProviderTests.key])
            let provider = OpenIDConnect(issuers: [issuer.url], audiences: ["foro"], keysPause: 0)
            let tokens = [ProviderTests.key, ProviderTests.curve].map { key in
                JSONObject([("id_token", .string(key.sign(.object(issuer.claims("ana-7")))))])
            }
            try await onWorker { loop in
                let first = try await provider.prove(tokens[0], on: loop)
                #expect(first == "ana-7")
                let early = try await refusal(tokens[1], by: provider, loop)
                #expect(early == 101)
                issuer.publish([ProviderTests.curve])
                let second = try await provider.prove(tokens[1], on: loop)
                #expect(second == "ana-7")
                // A key that the issuer took back is good for nothing.
                let old = try await refusal(tokens[0], by: provider, loop)
                #expect(old == 101)
                await issuer.close()
                let silent = try await provider.prove(tokens[1], on: loop)
                #expect(silent == "ana-7")
                let new = OpenIDConnect(issuers: [issuer.url], audiences: ["foro"])
                let unknown = try await refusal(tokens[1], by: new, loop)
                #expect(unknown == 503)
            }
        }
    }

    /// The code, or else the status, that data are refused with; nil: they are not. (The closure of `#expect(throws:)`
    /// would leave the worker.)
    private func refusal(_ data: JSONObject, by provider: OpenIDConnect, _ loop: Loop) async throws -> Int? {
        do { _ = try await provider.prove(data, on: loop) } catch let error as ParseError {
            return error.status ?? error.code
        }
        return nil
    }

    @Test func gitHubSaysWhoseACodeOrATokenIs() async throws {
        try await IssuerHost.open { gitHub in
            gitHub["/login/oauth/access_token"] = ["access_token": "gho_1"]
            gitHub["/user"] = ["id": 4711, "login": "ana"]
            gitHub["/applications/foro/token"] = ["user": ["id": 4711]]
            let site = gitHub.url
            try await withServer { options in
                options.auth = [
                    "github": [
                        "clientId": "foro", "clientSecret": "s3creto", "siteURL": .string(site),
                        "apiURL": .string(site),
                    ]
                ]
            } _: { server in
                let made = try await server.client.send("POST", "/users", ["authData": ["github": ["code": "c1"]]])
                #expect(made.status == 201)
                // A code works once, so it was not shown twice.
                #expect(gitHub.asked == ["POST /login/oauth/access_token", "GET /user"])
                let back = try await server.client.send(
                    "POST", "/users", ["authData": ["github": ["id": "4711", "access_token": "gho_1"]]])
                #expect(back.objectId == made.objectId)
                gitHub["/login/oauth/access_token"] = ["error": "bad_verification_code"]
                let wrong = try await server.client.send("POST", "/users", ["authData": ["github": ["code": "c1"]]])
                #expect(wrong.code == 101)
                gitHub["/applications/foro/token"] = nil
                let foreign = try await server.client.send(
                    "POST", "/users", ["authData": ["github": ["access_token": "gho_2"]]])
                #expect(foreign.code == 101)
            }
        }
    }

    @Test(
        arguments: [
            #"{"casa": {"clientId": "foro"}}"#, #"{"casa": {"issuer": "https://x"}}"#, #"{"google": {}}"#,
            #"{"google": {"clientId": "x", "secret": "y"}}"#, #"{"github": {"clientId": "x"}}"#,
            #"{"casa": {"issuer": "x", "clientId": "y"}}"#, #"{"mfa": {"options": ["SMS"]}}"#,
            #"{"mfa": {"digits": 5}}"#, #"{"anonymous": {}}"#, #"{"link": {}}"#, #"{"casa": 1}"#,
        ])
    func whatCannotBeAProviderIsRefusedAtTheStart(_ text: String) throws {
        var options = ServerOptions()
        options.masterKey = TestServer.masterKey
        options.auth = try JSONParser.parse(Array(text.utf8))
        let settled = options
        #expect(throws: OptionFault.self) {
            var accounts = AccountOptions()
            try settled.setAuth(&accounts)
        }
    }
}
