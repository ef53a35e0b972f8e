import Cloud
import Foundation
import Options
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Server

/// What a user takes along, and the end of an account.
@Suite struct AccountDataTests {
    private func onlyFor(_ id: String) -> JSON { .object(JSONObject([(id, ["read": true, "write": true] as JSON)])) }

    /// Ana with a note of her own, a topic that all can read, a message from Eva to her, and Eva's own note.
    private func fill(_ client: Client) async throws -> (ana: (id: String, token: String), eva: String) {
        let ana = try await client.signUp("ana")
        let eva = try await client.signUp("eva")
        let pointer = { (id: String) -> JSON in
            ["__type": "Pointer", "className": "_User", "objectId": .string(id)]
        }
        let everybody: JSON = ["*": ["read": true]]
        for (className, body) in [
            ("Notas", ["texto": "diario de ana", "ACL": onlyFor(ana.id)]),
            ("Notas", ["texto": "diario de eva", "ACL": onlyFor(eva.id)]),
            ("Notas", ["texto": "lo que el moderador sabe de ana", "de": pointer(ana.id), "ACL": [:]]),
            ("Temas", ["titulo": "Roma", "autor": pointer(ana.id), "ACL": everybody]),
            ("Temas", ["titulo": "Lima", "autor": pointer(eva.id), "ACL": everybody]),
        ] as [(String, JSON)] { _ = try await client.create(className, body) }
        try await client.must(
            "PUT", "/users/\(ana.id)",
            [
                "email": "ana@example.com",
                "sigue": ["__op": "AddRelation", "objects": [pointer(eva.id)]],
                "ACL": onlyFor(ana.id),
            ], master: true)
        try await client.must(
            "POST", "/roles",
            [
                "name": "moderadores", "ACL": everybody,
                "users": ["__op": "AddRelation", "objects": [pointer(ana.id)]],
            ], master: true)
        return (ana, eva.id)
    }

    @Test func anExportHoldsWhatIsTheAccountsOwnAndNoSecret() async throws {
        try await withServer { server in
            let (ana, eva) = try await fill(server.client)
            let reply = try await server.client.send("GET", "/users/me/export", session: ana.token)
            #expect(reply.status == 200)
            let export = reply.json
            #expect(export["user"]?.object?["username"] == "ana")
            #expect(export["user"]?.object?["email"] == "ana@example.com")
            #expect(export["roles"] == ["moderadores"])
            let relation = export["relations"]?.object?["sigue"]?.array?.first?.object
            #expect(relation?["objectId"]?.string == eva)
            let sessions = export["sessions"]?.array ?? []
            #expect(sessions.count == 1)
            #expect(sessions.first?.object?["expiresAt"] != nil)
            let objects = export["objects"]?.object
            #expect(objects?["Notas"]?.array?.compactMap { $0.object?["texto"]?.string } == ["diario de ana"])
            #expect(objects?["Temas"]?.array?.compactMap { $0.object?["titulo"]?.string } == ["Roma"])
            #expect(export["application"] == [])
            for secret in ["$2b$", ana.token, "sessionToken", "_hashed", "_perm"] {
                #expect(!reply.text.contains(secret))
            }
        }
    }

    @Test func anExportShowsNoMoreThanTheHooksAroundFinds() async throws {
        var code = CloudCode(.beforeFind, on: "Notas") { call in
            guard call.payload["master"] != true else { return CloudAnswer() }
            var query = call.payload["query"]?.object ?? JSONObject()
            var condition = query["where"]?.object ?? JSONObject()
            condition["texto"] = ["$ne": "diario de ana"]
            query["where"] = .object(condition)
            return CloudAnswer(["query": .object(query)])
        }
        code.add(.afterFind, on: "Temas") { call in
            let objects = call.payload["objects"]?.array?.compactMap(\.object) ?? []
            return CloudAnswer([
                "objects": .array(
                    objects.map { object in
                        var object = object
                        object["titulo"] = nil
                        return .object(object)
                    })
            ])
        }
        code.add(.beforeFind, on: "Sanciones") { _ in throw ParseError(119, "No.") }
        try await withServer(cloud: code) { server in
            let (ana, _) = try await fill(server.client)
            let whom: JSON = ["__type": "Pointer", "className": "_User", "objectId": .string(ana.id)]
            _ = try await server.client.create("Sanciones", ["contra": whom, "motivo": "denuncia de eva"])
            let export = try await server.client.send("GET", "/users/me/export", session: ana.token)
            #expect(export.status == 200)
            let objects = export.json["objects"]?.object
            #expect(objects?["Notas"] == nil && objects?["Sanciones"] == nil, "\(export.text)")
            let topics = objects?["Temas"]?.array?.compactMap(\.object) ?? []
            #expect(topics.count == 1)
            #expect(topics.first?["titulo"] == nil && topics.first?["className"] == nil)
        }
    }

    @Test func whoHasNoSessionExportsNothingAndWhoHasOneOnlyHisOwn() async throws {
        try await withServer { server in
            let (ana, eva) = try await fill(server.client)
            let nobody = try await server.client.send("GET", "/users/me/export")
            #expect(nobody.code == 209)
            let other = try await server.client.send("GET", "/users/\(eva)/export", session: ana.token)
            #expect(other.status == 403)
            let deletion = try await server.client.send(
                "POST", "/users/\(eva)/delete", ["password": "secret"], session: ana.token)
            #expect(deletion.status == 403)
            let master = try await server.client.send("GET", "/users/\(eva)/export", master: true)
            #expect(master.json["user"]?.object?["username"] == "eva")
            let unknown = try await server.client.send("GET", "/users/nadie/export", master: true)
            #expect(unknown.summary == "404/101")
        }
    }

    @Test func exportsAreBounded() async throws {
        try await withServer { options in
            options.accountExport.hourly = 2
        } _: { server in
            let ana = try await server.client.signUp("ana")
            var statuses: [Int] = []
            for _ in 0..<3 {
                statuses.append(try await server.client.send("GET", "/users/me/export", session: ana.token).status)
            }
            #expect(statuses == [200, 200, 429])
            let master = try await server.client.send("GET", "/users/\(ana.id)/export", master: true)
            #expect(master.status == 200)
        }
        try await withServer { options in
            options.accountExport.maxSize = ByteCount(100_000)
        } _: { server in
            let ana = try await server.client.signUp("ana")
            for _ in 0..<3 {
                _ = try await server.client.create(
                    "Notas", ["texto": .string(String(repeating: "a", count: 50_000)), "ACL": onlyFor(ana.id)])
            }
            let reply = try await server.client.send("GET", "/users/me/export", session: ana.token)
            #expect(reply.summary == "400/102")
        }
    }

    @Test func anAccountIsDeletedWithItsPasswordAndWhatOthersReadStays() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 3
        } _: { server in
            let (ana, _) = try await fill(server.client)
            let without = try await server.client.send("POST", "/users/me/delete", [:], session: ana.token)
            #expect(without.summary == "400/201")
            for text in ["mala", "peor"] {
                let wrong = try await server.client.send(
                    "POST", "/users/me/delete", ["password": .string(text)], session: ana.token)
                #expect(wrong.summary == "404/101")
            }
            let right = try await server.client.send(
                "POST", "/users/me/delete", ["password": "secret"], session: ana.token)
            #expect(right.status == 200)
            let dead = try await server.client.send("GET", "/users/me", session: ana.token)
            #expect(dead.code == 209)
            let users = try await server.client.send("GET", "/users", master: true)
            #expect(users.json["results"]?.array?.count == 1)
            let notes = try await server.all("Notas").compactMap { $0["texto"]?.string }
            #expect(notes.sorted() == ["diario de eva", "lo que el moderador sabe de ana"])
            let topics = try await server.all("Temas")
            #expect(topics.count == 2)
            let members = try await server.sql.read("SELECT count(*) FROM \"_Join:users:_Role\"")
            #expect(members.int(0, 0) == 0)
        }
    }

    /// The deletion has looked for what is private, and waits for the user's row, when the account writes once more.
    @Test func whatAnAccountWritesWhileItIsDeletedGoesToo() async throws {
        try await withServer(workers: 2) { options in
            options.jobs.poll = 0.1
        } _: { server in
            let ana = try await server.client.signUp("ana")
            let eva = try await server.client.signUp("eva")
            _ = try await server.client.create("Notas", ["texto": "de eva", "ACL": onlyFor(eva.id)])
            _ = try await server.client.create("Notas", ["texto": "antes", "ACL": onlyFor(ana.id)])
            let answer = Answered()
            var deletion: Task<Void, Never>?
            try await server.sql.transaction { transaction in
                _ = try await transaction.execute(
                    "SELECT 1 FROM \"_User\" WHERE \"objectId\" = $1 FOR UPDATE", [.text(ana.id)])
                deletion = server.loop.spawn {
                    answer.reply = try? await server.client.send(
                        "POST", "/users/me/delete", ["password": "secret"], session: ana.token)
                }
                try await until(server.loop) {
                    try await server.sql.read(
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                    ).int(0, 0) > 0
                }
                let note: JSON = ["texto": "a última hora", "ACL": onlyFor(ana.id)]
                try await server.client.must("POST", "/classes/Notas", note, session: ana.token)
            }
            await deletion?.value
            #expect(answer.reply?.status == 200)
            try await until(server.loop) { try await server.all("Notas").count == 1 }
            let left = try await server.all("Notas")
            #expect(left.first?["texto"] == "de eva")
        }
    }

    private final class Answered {
        var reply: Reply?
    }

    @Test func ofManyWrongPasswordsTheAccountLocks() async throws {
        try await withServer { options in
            options.accountLockout.threshold = 2
        } _: { server in
            let ana = try await server.client.signUp("ana")
            for _ in 0..<2 {
                _ = try await server.client.send("POST", "/users/me/delete", ["password": "mala"], session: ana.token)
            }
            let locked = try await server.client.send(
                "POST", "/users/me/delete", ["password": "secret"], session: ana.token)
            #expect(locked.json["error"]?.string?.hasPrefix("Your account is locked") == true)
        }
    }

    @Test func anAnonymousAccountIsDeletedByWhatLogsItIn() async throws {
        try await withServer { server in
            let authData: JSON = ["authData": ["anonymous": ["id": "11111111-aaaa"]]]
            let made = try await server.client.send("POST", "/users", authData)
            let token = made.sessionToken
            let wrong = try await server.client.send(
                "POST", "/users/me/delete", ["authData": ["anonymous": ["id": "22222222-aaaa"]]], session: token)
            #expect(wrong.code == 101)
            let right = try await server.client.send("POST", "/users/me/delete", authData, session: token)
            #expect(right.status == 200)
        }
    }

    @Test func applicationsTakePartAndMayRefuse() async throws {
        var code = CloudCode()
        code.triggers[Trigger(.accountExport, on: "_User"), default: []].append(
            CloudHandler("exportar") { call in
                let user = call.payload["object"]?.object
                return CloudAnswer(["data": ["puntosDe": user?["username"] ?? .null]])
            })
        code.triggers[Trigger(.beforeDelete, on: "_User"), default: []].append(
            CloudHandler("borrar") { call in
                let user = call.payload["object"]?.object
                guard let id = user?["objectId"]?.string else { return CloudAnswer() }
                let whose: JSON = [
                    "where": ["autor": ["__type": "Pointer", "className": "_User", "objectId": .string(id)]]
                ]
                let topics = try await call.caller.send(
                    CloudRequest("GET", "classes/Temas", body: whose.object ?? JSONObject(), as: .master))
                for topic in topics.body.object?["results"]?.array ?? [] {
                    _ = try await call.caller.send(
                        CloudRequest(
                            "PUT", "classes/Temas/\(topic.object?["objectId"]?.string ?? "")",
                            body: JSONObject([("autor", ["__op": "Delete"])]), as: .master))
                }
                if user?["username"] == "eva" { throw ParseError(119, "Eva modera.") }
                return CloudAnswer()
            })
        let folder = HermesProcess.makeFolder("account-data")
        defer { removeFolder(folder) }
        try """
        Parse.Cloud.accountExport(async ({ object, master }) => ({ nombre: object.get('username'), master, cuando: new Date(0) }));
        """.write(toFile: "\(folder)/main.js", atomically: true, encoding: .utf8)
        try await withServer(cloud: code) { options in
            options.cloud = "\(folder)/main.js"
        } _: { server in
            let (ana, eva) = try await fill(server.client)
            let export = try await server.client.send("GET", "/users/me/export", session: ana.token)
            #expect(
                export.json["application"] == [
                    ["puntosDe": "ana"],
                    [
                        "nombre": "ana", "master": false,
                        "cuando": ["__type": "Date", "iso": "1970-01-01T00:00:00.000Z"],
                    ],
                ])
            // What the hook of a refused deletion wrote is undone with it.
            let refused = try await server.client.send("POST", "/users/\(eva)/delete", master: true)
            #expect(refused.summary == "400/119")
            let still = try await server.client.send("GET", "/users/\(eva)", master: true)
            #expect(still.status == 200)
            try await server.client.must("POST", "/users/\(ana.id)/delete", master: true)
            let authors = try await server.all("Temas").compactMap {
                $0["autor"]?.object?["objectId"]?.string
            }
            #expect(authors == [eva])
        }
    }

    @Test func anOperatorExportsAndDeletesByName() async throws {
        try await withServer { server in
            let (ana, _) = try await fill(server.client)
            let place = ["--port", "\(server.client.port)", "--app-id", TestServer.appId]
            let hermes = { (arguments: [String]) async throws -> (exitCode: Int32, output: String) in
                var environment = ProcessInfo.processInfo.environment
                environment["HERMES_MASTER_KEY"] = TestServer.masterKey
                let settled = environment
                return try await blocking {
                    try ChildProcess.run(
                        [HermesProcess.program, "user"] + arguments + place, environment: settled)
                }
            }
            let export = try await hermes(["export", "ana@example.com"])
            #expect(export.exitCode == 0)
            let json = try JSONParser.parse(Array(export.output.utf8)).object
            #expect(json?["user"]?.object?["objectId"]?.string == ana.id)
            let unasked = try await hermes(["delete", "ana"])
            #expect(unasked.exitCode == 2)
            let deleted = try await hermes(["delete", "ana", "--yes"])
            #expect(deleted.exitCode == 0 && deleted.output.contains("is deleted"))
            for wrong in [["export", "ana"], ["export"], ["borra", "ana"], ["delete", "ana", "--yes"]] {
                let refused = try await hermes(wrong)
                #expect(refused.exitCode == 2, "\(wrong)")
            }
        }
    }
}
