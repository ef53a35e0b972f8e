import Cloud
import Core
import Synchronization
import TestSupport
import Testing
import Wire

/// `/config`.
@Suite struct ConfigTests {
    private func params(_ client: Client, master: Bool = false) async throws -> JSONObject {
        try await client.must("GET", "/config", master: master).json["params"]?.object ?? JSONObject()
    }

    @Test func aMarkAloneClosesOrOpensAParameter() async throws {
        try await withServer { server in
            let client = server.client
            try await client.must("PUT", "/config", ["params": ["clave": "secreta", "otra": 1]], master: true)
            try await client.must("PUT", "/config", ["masterKeyOnly": ["clave": true, "nadie": true]], master: true)
            let seen = try await client.send("GET", "/config")
            #expect(seen.json == ["params": ["otra": 1], "masterKeyOnly": ["otra": false]])
            let all = try await client.send("GET", "/config", master: true)
            #expect(
                all.json
                    == ["params": ["clave": "secreta", "otra": 1], "masterKeyOnly": ["clave": true, "otra": false]])
        }
    }

    @Test(arguments: [
        (#"{"params":{"":1}}"#, 105), (#"{"params":{"a.b":1}}"#, 105), (#"{"params":{"$a":1}}"#, 105),
        (#"{"params":{"__a":1}}"#, 105), (#"{"params":{"a":{"__type":"Date","iso":"ayer"}}}"#, 111),
        (#"{"params":{"a":{"__op":"Increment","amount":1}}}"#, 108), (#"{"params":{"a":"\u0000"}}"#, 111),
        (#"{"params":{"a":{"b.c":1}}}"#, 121), (#"{"params":[1]}"#, 107), (#"{"masterKeyOnly":7}"#, 107),
        (#"{"params":{"a":{"constructor":1}}}"#, 105),
    ]) func whatCannotBeIsRefusedAndChangesNothing(body: String, code: Int) async throws {
        try await withServer { server in
            try await server.client.must("PUT", "/config", ["params": ["a": 1]], master: true)
            let reply = try await server.client.send("PUT", "/config", bytes: Array(body.utf8), master: true)
            #expect(reply.summary == "400/\(code)", "\(reply.text)")
            let left = try await params(server.client, master: true)
            #expect(left == ["a": 1])
        }
    }

    @Test func hooksMayChangeOrRefuse() async throws {
        let seen = Mutex<[JSONObject]>([])
        var code = CloudCode()
        code.triggers[Trigger(.beforeSave, on: "@Config")] = [
            CloudHandler("antes") { call in
                seen.withLock { $0.append(call.payload) }
                var object = call.payload["object"]?.object ?? JSONObject()
                var params = object["params"]?.object ?? JSONObject()
                guard params["malo"] == nil else { throw ParseError(4801, "Así no.") }
                guard params["n"] != nil else { return CloudAnswer() }
                params["n"] = 2
                object["params"] = .object(params)
                object["masterKeyOnly"] = ["n": true]
                return CloudAnswer(["object": .object(object)])
            }
        ]
        code.triggers[Trigger(.afterSave, on: "@Config")] = [
            CloudHandler("después") { call in
                seen.withLock { $0.append(call.payload) }
                throw ParseError(4801, "tarde")
            }
        ]
        try await withServer(cloud: code) { server in
            let client = server.client
            try await client.must("PUT", "/config", ["params": ["a": 1]], master: true)
            try await client.must("PUT", "/config", ["params": ["n": 1]], master: true)
            let refused = try await client.send("PUT", "/config", ["params": ["malo": 1, "a": 9]], master: true)
            #expect(refused.summary == "400/4801")
            let left = try await params(client, master: true)
            #expect(left == ["a": 1, "n": 2])
            let open = try await params(client)
            #expect(open == ["a": 1])
            let payloads = seen.withLock { $0 }
            #expect(payloads.count == 5)
            #expect(
                payloads.map { $0["triggerName"]?.string } == [
                    "beforeSave", "afterSave", "beforeSave", "afterSave", "beforeSave",
                ])
            #expect(payloads[0]["original"] == nil && payloads[1]["original"] == nil)
            #expect(payloads[2]["className"] == "@Config" && payloads[2]["master"] == true)
            #expect(payloads[2]["object"]?.object?["params"] == ["n": 1])
            #expect(payloads[2]["original"]?.object?["params"] == ["a": 1])
            #expect(payloads[3]["object"]?.object?["params"] == ["a": 1, "n": 2])
            #expect(payloads[3]["original"]?.object?["params"] == ["a": 1])
        }
    }

    @Test func aWebhookOfTheConfigIsCalled() async throws {
        try await withServer { server in
            let host = try HookHost(server.loop, .json(["success": ["params": ["n": 2]]]))
            defer { host.close() }
            try await server.hook("beforeSave", of: "@Config", host.url())
            try await server.client.must("PUT", "/config", ["params": ["n": 1]], master: true)
            let left = try await params(server.client)
            #expect(left == ["n": 2])
            #expect(host.sent.first?.body["object"]?.object?["params"] == ["n": 1])
            host.answer = .json(["error": "Así no."])
            let refused = try await server.client.send("PUT", "/config", ["params": ["n": 3]], master: true)
            #expect(refused.summary == "400/141" && refused.json["error"] == "Así no.")
        }
    }

    @Test func bothNodesKnowWhatWasSet() async throws {
        try await withServer(nodes: 2, workers: 2) { server in
            for round in 0..<20 {
                let (here, there) = (round % 2, 1 - round % 2)
                // Both remember what was.
                for client in server.clients { _ = try await params(client) }
                let value = JSON.number(Double(round))
                try await server.clients[here].must("PUT", "/config", ["params": ["n": value]], master: true)
                let now = try await params(server.clients[here])
                #expect(now["n"] == value)
                let isKnown = try await eventually(server.loop) {
                    try await params(server.clients[there])["n"] == value
                }
                #expect(isKnown)
            }
        }
    }

    @Test func manySetAtOnceAndNothingIsLost() async throws {
        try await withServer(nodes: 2) { server in
            let results = await server.loop.concurrently(40) { index in
                try await server.clients[index % 2].must(
                    "PUT", "/config",
                    ["params": ["p\(index)": .number(Double(index)), "todos": .number(Double(index))]],
                    master: true)
            }
            for result in results { _ = try result.get() }
            let isThere = try await eventually(server.loop) { try await params(server.client).count == 41 }
            #expect(isThere)
        }
    }
}
