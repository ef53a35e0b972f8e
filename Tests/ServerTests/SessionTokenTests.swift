import Foundation
import Postgres
import Schema
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Server

/// How tokens of sessions lie in the database.
@Suite struct SessionTokenTests {
    private func rows(_ server: TestServer) async throws -> String {
        try await server.sql.read("SELECT string_agg(s::text, ' ' ORDER BY s.\"createdAt\") FROM \"_Session\" s")
            .string(0, 0)
    }

    private func token(_ server: TestServer) async throws -> String {
        try await server.client.must("POST", "/login", ["username": "ana", "password": "secret"]).sessionToken ?? ""
    }

    private func status(_ server: TestServer, _ token: String) async throws -> String {
        try await server.client.send("GET", "/users/me", session: token).summary
    }

    @Test func aSessionMayBeToldItsOwnUserAgain() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let other = try await server.client.signUp("otra")
            let id = try await server.client.must("GET", "/sessions/me", session: ana.token).objectId ?? ""
            for (user, answer) in [(ana.id, "200"), (other.id, "400/105")] {
                let pointer: JSON = ["__type": "Pointer", "className": "_User", "objectId": .string(user)]
                let reply = try await server.client.send(
                    "PUT", "/sessions/\(id)", ["user": pointer], session: ana.token)
                #expect(reply.summary == answer)
            }
        }
    }

    @Test func inNewDatabasesTheyAreNowhereInClearAndWorkAsEver() async throws {
        try await withServer { server in
            let ana = try await server.client.signUp("ana")
            let second = try await token(server)
            let stored = try await rows(server)
            #expect(!stored.contains(ana.token.dropFirst(2)) && !stored.contains(second.dropFirst(2)))
            let own = try await server.client.must("GET", "/sessions/me", session: ana.token)
            #expect(own.sessionToken == ana.token)
            // Lists show them, to their user and to the master key.
            for list in [
                try await server.client.must("GET", "/sessions", session: ana.token),
                try await server.client.must("GET", "/classes/_Session", master: true),
            ] {
                let shown = list.json["results"]?.array?.compactMap { $0.object?["sessionToken"]?.string } ?? []
                #expect(Set(shown) == [ana.token, second])
            }
            // A session is found by its token; what lies in the database is none.
            for (condition, count) in [
                ("\"\(second)\"", 1), ("{\"$in\":[\"\(second)\",\"\(ana.token)\"]}", 2), ("{\"$ne\":\"\(second)\"}", 1),
                ("\"r:nobody\"", 0), ("{\"$regex\":\"^r:\"}", 2),
            ] {
                let query =
                    "{\"sessionToken\":\(condition)}".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                let found = try await server.client.must("GET", "/sessions?where=\(query)", master: true)
                #expect(found.json["results"]?.array?.count == count, "\(condition)")
            }
            let columns = try await server.sql.read("SELECT \"_token_digest\", \"sessionToken\" FROM \"_Session\"")
            for row in 0..<columns.count {
                for column in 0..<2 {
                    let answer = try await status(server, columns.string(row, column))
                    #expect(answer == "400/209")
                    let query =
                        "{\"sessionToken\":\"\(columns.string(row, column))\"}"
                        .addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                    let found = try await server.client.must("GET", "/sessions?where=\(query)", master: true)
                    #expect(found.json["results"]?.array?.isEmpty == true)
                }
            }
            try await server.client.must("POST", "/logout", [:], session: ana.token)
            let after = try await status(server, ana.token)
            #expect(after == "400/209")
        }
    }

    @Test func withAnotherMasterKeyTheyWorkAndAreShownNoMore() async throws {
        let test = try await TestDatabase.make(template: .migrated)
        // From one server to the next.
        let made = Mutex("")
        try await withServer(conninfo: test.conninfo) { server in
            _ = try await server.client.signUp("ana")
            let opened = try await token(server)
            made.withLock { $0 = opened }
        }
        try await withServer(conninfo: test.conninfo) { options in
            options.masterKey = "another one"
        } _: { server in
            let opened = made.withLock { $0 }
            let answer = try await status(server, opened)
            #expect(answer == "200")
            let list = try await server.client.must("GET", "/sessions", session: opened)
            #expect(list.json["results"]?.array?.count == 2 && !list.text.contains("sessionToken"))
        }
        withExtendedLifetime(test) {}
    }

    /// A database of an older Hermes says nothing of itself: tokens go on lying there in clear.
    @Test func oldDatabasesGoOnAsTheyWereUntilTheyAreTold() async throws {
        let test = try await TestDatabase.make(template: .migrated)
        try await test.execute(
            "DROP TABLE \"_hermes_settings\"; DELETE FROM _hermes_migrations WHERE number = 14")
        let made = Mutex("")
        let migrated = try await test.withDatabase { _, database in try await Migrator().run(database) }
        #expect(migrated == [14])
        try await withServer(conninfo: test.conninfo) { server in
            _ = try await server.client.signUp("ana")
            let opened = try await token(server)
            made.withLock { $0 = opened }
            let stored = try await rows(server)
            #expect(stored.contains(opened))
        }
        try await withServer(conninfo: test.conninfo) { options in
            options.hashSessionTokens = true
        } _: { server in
            let (old, new) = (made.withLock { $0 }, try await token(server))
            let stored = try await rows(server)
            #expect(stored.contains(old) && !stored.contains(new))
            for one in [old, new] {
                let answer = try await status(server, one)
                #expect(answer == "200")
            }
            let list = try await server.client.must("GET", "/sessions", session: new)
            #expect(list.text.contains(old) && list.text.contains(new))
        }
        withExtendedLifetime(test) {}
    }

    @Test func whatTheOptionSaysGoesBeforeWhatTheDatabaseSays() async throws {
        try await withServer { options in
            options.hashSessionTokens = false
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let stored = try await rows(server)
            #expect(stored.contains(ana.token))
        }
    }
}
