import Core
import Glibc
import HTTP
import Options
import TestSupport
import Testing
import Wire

@testable import Cloud

/// `/hooks`, and what the webhooks that it registers are sent.
@Suite struct HookRoutesTests {
    @Test func hooksAreListedReadChangedAndDeleted() async throws {
        try await withServer { server in
            let client = server.client
            let kinds: [(path: String, one: String, body: JSONObject)] = [
                ("/hooks/functions", "/hooks/functions/f", ["functionName": "f"]),
                ("/hooks/jobs", "/hooks/jobs/resumen", ["jobName": "resumen"]),
                (
                    "/hooks/triggers", "/hooks/triggers/Temas/afterSave",
                    ["className": "Temas", "triggerName": "afterSave"]
                ),
            ]
            for (path, one, names) in kinds {
                let empty = try await client.send("GET", path, master: true)
                #expect(empty.text == "[]")
                var hook = names
                hook["url"] = "http://example.com/a"
                let made = try await client.send("POST", path, .object(hook), master: true)
                #expect(made.status == 200 && made.json == hook)
                let twice = try await client.send("POST", path, .object(hook), master: true)
                #expect(twice.summary == "400/143")
                let changed = try await client.send("PUT", one, ["url": "http://example.com/b"], master: true)
                hook["url"] = "http://example.com/b"
                #expect(changed.json == hook)
                let read = try await client.send("GET", one, master: true)
                #expect(read.json == hook, "the new one")
                let list = try await client.send("GET", path, master: true)
                #expect(list.array == [.object(hook)])
                let deleted = try await client.send("PUT", one, ["__op": "Delete"], master: true)
                #expect(deleted.text == "{}")
                let gone: [(String, JSON?, String)] = [
                    ("GET", nil, "400/143"), ("PUT", ["url": "http://a"], "400/143"),
                    ("PUT", ["__op": "Delete"], "404/101"), ("DELETE", nil, "404/101"),
                ]
                for (method, body, expected) in gone {
                    let reply = try await client.send(method, one, body, master: true)
                    #expect(reply.summary == expected, "\(method) \(one)")
                }
            }
        }
    }

    @Test func onlyTheMasterKeyReachesThem() async throws {
        try await withServer {
            $0.readOnlyMasterKey = "leer"
        } _: { server in
            let client = server.client
            let readOnly = [("X-Parse-Master-Key", "leer")]
            for path in ["/hooks/functions", "/hooks/triggers", "/hooks/jobs", "/hooks/functions/f"] {
                let nobody = try await client.send("GET", path)
                #expect(nobody.summary == "403")
            }
            let list = try await client.send("GET", "/hooks/functions", headers: readOnly)
            #expect(list.isSuccess)
            for (method, path) in [
                ("POST", "/hooks/functions"), ("PUT", "/hooks/functions/f"), ("DELETE", "/hooks/functions/f"),
                ("POST", "/hooks/triggers"), ("PUT", "/hooks/triggers/Temas/afterSave"), ("POST", "/hooks/jobs"),
            ] {
                let body: JSON = ["functionName": "f", "url": "http://example.com"]
                let refused = try await client.send(method, path, body, headers: readOnly)
                #expect(refused.summary == "400/119", "\(method) \(path)")
            }
            let rows = try await server.sql.read("SELECT FROM \"_Hooks\"")
            #expect(rows.count == 0)
            let info = try await client.send("GET", "/serverInfo", master: true)
            let all: JSON = ["create": true, "read": true, "update": true, "delete": true]
            #expect(info.json["features"]?.object?["hooks"] == all)
            #expect(info.json["features"]?.object?["globalConfig"] == all)
        }
    }

    @Test(arguments: ["_Hooks", "_GlobalConfig", "_Idempotency"]) func theirTablesAreNoClasses(name: String)
        async throws
    {
        try await withServer { server in
            let made = try await server.client.send("POST", "/classes/\(name)", ["a": 1], master: true)
            #expect(made.summary == "400/119")
            let defined = try await server.client.send("POST", "/schemas/\(name)", [:], master: true)
            #expect(defined.summary == "400/119")
            let read = try await server.client.send("GET", "/classes/\(name)")
            #expect(read.summary == "400/119")
        }
    }

    @Test(arguments: [
        ("a.b", "a.b"), ("a\"b", "a%22b"), ("a/b", "a%2Fb"), ("a b", "a%20b"), ("año", "a%C3%B1o"),
        ("constructor", "constructor"),
    ]) func whateverRegistersCanBeCalled(name: String, path: String) async throws {
        try await withServer {
            $0.requestKeywordDenylist = []
        } _: { server in
            let host = try HookHost(server.loop, .json(["success": "ya"]))
            defer { host.close() }
            try await server.hook(function: name, host.url())
            let reply = try await server.client.send("POST", "/functions/\(path)")
            #expect(reply.json["result"] == "ya")
            #expect(host.sent.first?.body["functionName"] == .string(name))
            let read = try await server.client.send("GET", "/hooks/functions/\(path)", master: true)
            #expect(read.json["functionName"] == .string(name))
            try await server.client.must("DELETE", "/hooks/functions/\(path)", master: true)
            let gone = try await server.client.send("POST", "/functions/\(path)")
            #expect(gone.summary == "400/141")
        }
    }

    @Test func aJobMayBeAWebhook() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop, .json(["success": "3 temas"]))
            defer { host.close() }
            let hook: JSON = ["jobName": "resumen", "url": host.url()]
            try await server.client.must("POST", "/hooks/jobs", hook, master: true)
            let started = try await server.client.must("POST", "/jobs/resumen", ["foro": "f1"], master: true)
            let id = try #require(started.header("X-Parse-Job-Status-Id"))
            let hasEnded = try await eventually(server.loop) {
                let status = try await server.client.send("GET", "/classes/_JobStatus/\(id)", master: true)
                return status.json["status"] == "succeeded" && status.json["message"] == "3 temas"
            }
            #expect(hasEnded)
            #expect(host.sent.count == 1)
            #expect(host.sent.first?.body["jobName"] == "resumen")
            #expect(host.sent.first?.body["params"] == ["foro": "f1"])
        }
    }

    @Test func callsAreSigned() async throws {
        try await withServer {
            $0.webhookKey = "secreto"
        } _: { server in
            let host = try HookHost(server.loop, .json(["success": 1]))
            defer { host.close() }
            try await server.hook(function: "f", host.url("/nube?a=b"))
            try await server.client.must("POST", "/functions/f", ["n": 1])
            let sent = try #require(host.sent.first)
            #expect(sent.path == "/nube")
            #expect(sent.header("Content-Type") == "application/json")
            #expect(sent.header("X-Parse-Webhook-Key") == "secreto")
            let signature = try #require(sent.header("X-Hermes-Signature"))
            let time = try #require(Int(signature.dropFirst(2).prefix { $0 != "," }))
            #expect(signature == WebhookSignature(sent.bytes, key: "secreto", time: time).value)
        }
    }

    @Test func withoutAKeyThereIsNeitherKeyNorSignature() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop, .json(["success": 1]))
            defer { host.close() }
            try await server.hook(function: "f", host.url())
            try await server.client.must("POST", "/functions/f")
            let sent = try #require(host.sent.first)
            #expect(sent.header("X-Parse-Webhook-Key") == nil && sent.header("X-Hermes-Signature") == nil)
        }
    }

    @Test(arguments: [true, false]) func sessionTokensGoOnlyWhereTheyMay(sends: Bool) async throws {
        try await withServer {
            $0.webhooks.sendSessionTokens = sends
        } _: { server in
            let host = try HookHost(server.loop)
            defer { host.close() }
            let user = try await server.client.signUp("ana")
            try await server.hook(function: "f", host.url())
            try await server.hook("beforeSave", of: "_User", host.url())
            try await server.hook("afterLogin", of: "_User", host.url())
            try await server.hook("afterLogout", of: "_Session", host.url())
            try await server.client.must("POST", "/functions/f", session: user.token)
            try await server.client.must(
                "PUT", "/users/\(user.id)", ["password": "otro", "apodo": "a"], session: user.token)
            let again = try await server.client.must("POST", "/login", ["username": "ana", "password": "otro"])
            let token = try #require(again.sessionToken)
            try await server.client.must("POST", "/logout", session: token)
            _ = try await server.client.send("POST", "/functions/f", master: true)
            #expect(host.sent.count == 5)
            #expect(host.sent[0].body["user"]?.object?["objectId"] == .string(user.id))
            #expect((host.sent[0].body["user"]?.object?["sessionToken"] == .string(user.token)) == sends)
            for (index, sent) in host.sent.enumerated() {
                let text = String(decoding: sent.bytes, as: UTF8.self)
                #expect((text.contains(user.token) || text.contains(token)) == (sends && index < 4), "call \(index)")
                #expect(!text.contains(TestServer.masterKey) && !text.contains("otro"), "call \(index)")
            }
            // What the webhook was not told of is stored all the same.
            #expect(host.sent[1].body["object"]?.object?["apodo"] == "a")
        }
    }

    @Test func typesOfParametersAreKept() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop, .json(["success": 1]))
            defer { host.close() }
            try await server.hook(function: "f", host.url())
            let parameters: JSON = [
                "cuando": ["__type": "Date", "iso": "2026-03-14T15:09:26.535Z"],
                "tema": ["__type": "Pointer", "className": "Temas", "objectId": "abcdefghij"],
            ]
            try await server.client.must("POST", "/functions/f", parameters)
            #expect(host.sent.first?.body["params"] == parameters)
        }
    }

    @Test func formsAndURLsGiveFunctionsTexts() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop, .json(["success": 1]))
            defer { host.close() }
            try await server.hook(function: "f", host.url())
            let http = HTTPClient(loop: server.loop)
            defer { http.close() }
            let url = "http://127.0.0.1:\(server.client.port)/parse/functions/f?c=3"
            func call(_ body: String) async throws -> Reply {
                let headers = [
                    ("X-Parse-Application-Id", TestServer.appId),
                    ("Content-Type", "multipart/form-data; charset=utf-8; boundary=\"corte\""),
                ]
                let request = HTTPClientRequest(method: "POST", url: url, headers: headers, body: Array(body.utf8))
                return Reply(try await http.send(request))
            }
            func part(_ name: String, _ value: String) -> String {
                "--corte\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
            }
            let good = try await call(part("a", "1") + part("b", "dos\r\nlíneas") + part("a", "2") + "--corte--\r\n")
            #expect(good.isSuccess, "\(good.text)")
            #expect(host.sent.last?.body["params"] == ["a": "2", "b": "dos\r\nlíneas", "c": "3"])
            let empty = try await call("--corte--")
            #expect(empty.isSuccess)
            let file = "--corte\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\nx\r\n--corte--"
            for bad in ["", "hola", part("a", "1"), "--corte\r\n\r\nx\r\n--corte--", file, "--corte"] {
                let reply = try await call(bad)
                #expect(reply.status == 400, "\(bad): \(reply.text)")
            }
        }
    }

    // MARK: several nodes

    @Test func whatOneNodeRegistersTheOtherCalls() async throws {
        try await withServer(nodes: 2, workers: 2) { server in
            let host = try HookHost(server.loop, .json(["success": "ya"]))
            defer { host.close() }
            func answers(_ node: Int) async throws -> Bool {
                try await server.clients[node].send("POST", "/functions/f").json["result"] == "ya"
            }
            for round in 0..<5 {
                let (here, there) = (round % 2, 1 - round % 2)
                try await server.hook(function: "f", host.url(), node: here)
                // Whichever worker is asked.
                for _ in 0..<4 {
                    let isCalled = try await answers(here)
                    #expect(isCalled)
                }
                let isCalledThere = try await eventually(server.loop) { try await answers(there) }
                #expect(isCalledThere)
                try await server.clients[here].must("DELETE", "/hooks/functions/f", master: true)
                let isCalled = try await answers(here)
                #expect(!isCalled)
                let isGone = try await eventually(server.loop) { try await !answers(there) }
                #expect(isGone)
            }
        }
    }

    @Test func aNodeThatMissedTheNewsReadsAgain() async throws {
        try await withServer(nodes: 2) { server in
            let host = try HookHost(server.loop, .json(["success": "ya"]))
            defer { host.close() }
            for process in try await server.listeners(of: 1) {
                _ = try await server.sql.write("SELECT pg_terminate_backend($1::int)", [.int(Int64(process))])
            }
            try await server.hook(function: "f", host.url())
            let isCalled = try await eventually(server.loop) {
                try await server.clients[1].send("POST", "/functions/f").json["result"] == "ya"
            }
            #expect(isCalled)
        }
    }

    @Test func hooksOutliveTheServer() async throws {
        let database = try await TestDatabase.make(template: .migrated)
        try await withServer(conninfo: database.conninfo) { server in
            try await server.hook(function: "f", "http://127.0.0.1:1/")
        }
        try await withServer(conninfo: database.conninfo) { server in
            let reply = try await server.client.send("POST", "/functions/f")
            #expect(reply.json["error"] == "The webhook cannot be reached.")
        }
    }
}
