import Core
import Glibc
import Options
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// What a client does wrong is told it with a clear 4xx; nothing of it is the server's end, or a 500.
@Suite(.serialized) struct BadInputTests {
    struct Case {
        let what: String
        let method: String
        let path: String
        let body: String
        let answer: String
        init(_ what: String, _ method: String, _ path: String, _ body: String = "", _ answer: String) {
            self.what = what
            self.method = method
            self.path = path
            self.body = body
            self.answer = answer
        }
    }

    private static func find(_ what: String, _ filter: String, _ answer: String) -> Case {
        Case(what, "GET", "/classes/Thing?where=" + encoded(filter), "", answer)
    }

    static let cases: [Case] = [
        // JSON
        Case("half a document", "POST", "/classes/Thing", #"{"a":"#, "400"),
        Case("no JSON at all", "POST", "/classes/Thing", "hello", "400"),
        Case("two documents", "POST", "/classes/Thing", #"{"a":1}{"b":2}"#, "400"),
        Case("a text", "POST", "/classes/Thing", #""text""#, "400"),
        Case("a control character", "POST", "/classes/Thing", "\u{1}", "400"),
        Case("a lone surrogate", "POST", "/classes/Thing", #"{"name":"\ud800"}"#, "400"),
        Case("a NUL", "POST", "/classes/Thing", #"{"name":"a\u0000b"}"#, "400/111"),
        Case("a NUL in an object", "POST", "/classes/Thing", #"{"info":{"x":"a\u0000b"}}"#, "400/111"),
        Case("a NUL in a key", "POST", "/classes/Thing", #"{"info":{"a\u0000b":1}}"#, "400/111"),
        Case("a number past all", "POST", "/classes/Thing", #"{"count":1e999}"#, "400"),
        Case(
            "10,000 levels of arrays", "POST", "/classes/Thing",
            #"{"list":"# + String(repeating: "[", count: 10000) + String(repeating: "]", count: 10000) + "}", "400"),
        Case(
            "10,000 levels of objects", "POST", "/classes/Thing",
            String(repeating: #"{"a":"#, count: 10000) + "1" + String(repeating: "}", count: 10000), "400"),
        Case(
            "an open array of 10,000 levels", "POST", "/classes/Thing", String(repeating: "[", count: 10000), "400"),
        // Names
        Case("a class with a quote", "POST", "/classes/Th%22ing", "{}", "400/103"),
        Case("a class with a semicolon", "GET", "/classes/x;DROP%20TABLE%20%22_User%22", "", "400/103"),
        Case("a class of 200 letters", "POST", "/classes/" + String(repeating: "a", count: 200), "{}", "400/103"),
        Case("a field with a quote", "POST", "/classes/Thing", #"{"na\"me":1}"#, "400/105"),
        Case("a field with an apostrophe", "POST", "/classes/Thing", #"{"na'me":1}"#, "400/105"),
        Case(
            "a field of 200 letters", "POST", "/classes/Thing", "{\"" + String(repeating: "f", count: 200) + "\":1}",
            "400/105"),
        Case("a field with an underscore first", "POST", "/classes/Thing", #"{"_rperm":["*"]}"#, "400/105"),
        find("a filter on a field with a quote", #"{"na\"me":1}"#, "400/105"),
        Case("order by SQL", "GET", "/classes/Thing?order=" + encoded("name; DROP TABLE x"), "", "400/105"),
        Case("keys with SQL", "GET", "/classes/Thing?keys=" + encoded("name\",\"x"), "", "200"),
        // Types
        Case("a text for a number", "POST", "/classes/Thing", #"{"count":"many"}"#, "400/111"),
        Case("a number for a text", "PUT", "/classes/Thing/ID", #"{"name":7}"#, "400/111"),
        Case(
            "an increment of a text", "PUT", "/classes/Thing/ID", #"{"name":{"__op":"Increment","amount":1}}"#,
            "400/111"),
        Case(
            "an increment by a text", "PUT", "/classes/Thing/ID", #"{"count":{"__op":"Increment","amount":"x"}}"#,
            "400/107"),
        Case(
            "an unknown operation", "PUT", "/classes/Thing/ID", #"{"count":{"__op":"Multiply","amount":2}}"#, "400/108"),
        Case("an Add without objects", "PUT", "/classes/Thing/ID", #"{"list":{"__op":"Add"}}"#, "400/107"),
        Case(
            "a date that is none", "POST", "/classes/Thing", #"{"when":{"__type":"Date","iso":"yesterday"}}"#, "400/111"
        ),
        Case("a pointer to nowhere", "POST", "/classes/Thing", #"{"to":{"__type":"Pointer"}}"#, "400/111"),
        Case(
            "a point beyond the pole", "POST", "/classes/Thing",
            #"{"at":{"__type":"GeoPoint","latitude":91,"longitude":0}}"#, "400/111"),
        Case("an ACL that is a text", "POST", "/classes/Thing", #"{"ACL":"public"}"#, "400/123"),
        // Queries
        find("an unknown operator", #"{"count":{"$almost":1}}"#, "400/102"),
        find("an unknown logical operator", #"{"$xor":[{"count":1}]}"#, "400/105"),
        find("half a filter", #"{"count":"#, "400/107"),
        find("a filter that is an array", "[1]", "400/107"),
        find("$in without an array", #"{"count":{"$in":3}}"#, "400/107"),
        find("$or without an array", #"{"$or":{}}"#, "400/102"),
        find("$gt with an object", #"{"count":{"$gt":{"a":1}}}"#, "200"),
        find("a number against a text", #"{"name":{"$gt":3}}"#, "200"),
        find("$regex of a number", #"{"name":{"$regex":3}}"#, "400/102"),
        find("a regex that cannot be read", #"{"name":{"$regex":"("}}"#, "400/102"),
        find("a regex with a bad repetition", #"{"name":{"$regex":"a{99999}"}}"#, "400/102"),
        find("regex options that are none", #"{"name":{"$regex":"a","$options":"q"}}"#, "400/102"),
        find("$near of a text", #"{"at":{"$near":"here"}}"#, "400/102"),
        find("$inQuery without a class", #"{"to":{"$inQuery":{"where":{}}}}"#, "400/102"),
        find("$select without a key", #"{"name":{"$select":{"query":{"className":"Thing"}}}}"#, "400/102"),
        find("$text of a number", #"{"name":{"$text":{"$search":{"$term":3}}}}"#, "400/107"),
        find("a NUL in a filter", #"{"name":"a\u0000b"}"#, "400/111"),
        find("a NUL in $in", #"{"name":{"$in":["a\u0000b"]}}"#, "400/111"),
        Case("a limit that is no number", "GET", "/classes/Thing?limit=many", "", "400/102"),
        Case("a negative skip", "GET", "/classes/Thing?skip=-1", "", "400/102"),
        Case("a skip past all", "GET", "/classes/Thing?skip=1e300", "", "200"),
        Case("an unknown parameter", "GET", "/classes/Thing?wherever=1", "", "400/102"),
        Case("bad percent-encoding in a value", "GET", "/classes/Thing?where=%7B%ZZ", "", "400/107"),
        Case("bad percent-encoding in the path", "GET", "/classes/Thing/%FF%FE", "", "404"),
        Case("a NUL in the path", "GET", "/classes/Thing/a%00b", "", "400/111"),
        Case("a slash too many", "GET", "/classes/Thing/ID/more", "", "404"),
        Case("no path", "GET", "/nothing/here", "", "404"),
        Case("a method that is none", "PATCH", "/classes/Thing/ID", "{}", "404"),
        // Accounts
        Case("a name that is a number", "POST", "/users", #"{"username":1,"password":"x"}"#, "400/200"),
        Case("a password that is an object", "POST", "/users", #"{"username":"z","password":{}}"#, "400/201"),
        Case("a NUL in a name", "POST", "/users", #"{"username":"a\u0000b","password":"x"}"#, "400/111"),
        Case("a NUL in a password", "POST", "/users", #"{"username":"nul","password":"a\u0000b"}"#, "400/111"),
        Case("a log-in without anything", "POST", "/login", "{}", "400/200"),
        Case(
            "a log-in with an object", "POST", "/login", #"{"username":{"$ne":"x"},"password":{"$ne":"x"}}"#, "404/101"),
        Case("a NUL in a log-in", "GET", "/login?username=a%00b&password=x", "", "404/101"),
        // Batches and schemas
        Case("a batch without requests", "POST", "/batch", "{}", "400/107"),
        Case("a batch of texts", "POST", "/batch", #"{"requests":["x"]}"#, "400/107"),
        Case(
            "a batch within a batch", "POST", "/batch",
            #"{"requests":[{"method":"POST","path":"/parse/batch","body":{"requests":[]}}]}"#, "400/107"),
        Case(
            "a permission that is a number past all", "PUT", "/schemas/Thing",
            #"{"classLevelPermissions":{"find":{"*":1e300}}}"#, "400/107"),
        Case("a schema with a bad type", "POST", "/schemas/Other", #"{"fields":{"a":{"type":"Wish"}}}"#, "400/111"),
    ]

    @Test func eachBadRequestIsToldWhatIsWrong() async throws {
        try await withServer { server in
            let id = try await server.client.create(
                "Thing",
                ["name": "one", "count": 1, "list": [], "at": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]])
            for one in BadInputTests.cases {
                let path = one.path.replacingOccurrences("ID", id)
                let reply = try await server.client.send(
                    one.method, path, bytes: Array(one.body.utf8),
                    master: one.path.hasPrefix("/schemas") || one.method != "GET" && one.path.hasPrefix("/classes"))
                #expect(reply.summary == one.answer, "\(one.what): \(reply.text.prefix(300))")
                if reply.status >= 400 { #expect(reply.json["error"]?.string?.isEmpty == false, "\(one.what)") }
            }
            let text = Array(#"{"name":""#.utf8) + [0xc3, 0x28, 0xff] + Array(#""}"#.utf8)
            let reply = try await server.client.send("POST", "/classes/Thing", bytes: text, master: true)
            #expect(reply.summary == "400", "bad UTF-8: \(reply.text)")
            let after = try await server.client.must("GET", "/health")
            #expect(after.json["status"] == "ok")
        }
    }

    @Test func tenThousandValuesMayBeAskedForAtOnce() async throws {
        try await withServer { server in
            _ = try await server.client.create("Thing", ["name": "n9999", "count": 9999])
            for values in [(0..<10000).map { JSON.number(Double($0)) }, (0..<10000).map { .string("n\($0)") }] {
                let field = values[0].string == nil ? "count" : "name"
                let body: JSON = ["_method": "GET", "where": [field: ["$in": .array(values)]]]
                let reply = try await server.client.must("POST", "/classes/Thing", body)
                #expect(reply.json["results"]?.array?.count == 1)
            }
        }
    }

    @Test func aRegexThatExplodesIsStopped() async throws {
        try await withServer { options in
            options.database.statementTimeout = 0.3
        } _: { server in
            // Nothing repeats, so that each way of cutting it in three has to be tried.
            var random = SplitMix(seed: 1)
            let name = String(
                (0..<3000).map { _ in Character(["a", "b", "c", "d"].randomElement(using: &random) ?? "a") })
            _ = try await server.client.create("Thing", ["name": .string(name)])
            let filter: JSON = ["name": ["$regex": "^(.+)(.+)(.+)\\3\\2\\1\\2\\1$"]]
            let reply = try await server.client.send(
                "GET", "/classes/Thing?where=" + encoded(String(decoding: filter.bytes, as: UTF8.self)))
            #expect(reply.summary == "400/102", "\(reply.text)")
            #expect(reply.text.contains("too long"))
            let after = try await server.client.must("GET", "/classes/Thing?limit=0&count=1")
            #expect(after.json["count"] == 1)
        }
    }

    @Test func aBodyOverTheLimitIsRefused() async throws {
        try await withServer { options in
            options.maxUploadSize = ByteCount(100_000)
        } _: { server in
            let text = String(repeating: "x", count: 200_000)
            let reply = try await server.client.send("POST", "/classes/Thing", ["name": .string(text)], master: true)
            #expect(reply.status == 413)
            try await server.client.must("GET", "/health")
        }
    }

    /// Strangers may send such bodies: what they cost must grow with their bytes, and no faster.
    @Test func bodiesThatAreOneLongListAreReadInTime() async throws {
        try await withServer { server in
            let names = (0..<50_000).map { (key: "k\($0)", value: JSON.number(1)) }
            let many = JSON.object(JSONObject([("_method", "GET")] + names)).bytes
            let part = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n"
            let form = Array((part + String(repeating: "\r", count: 8_000_000) + "\r\n--x--").utf8)
            let bodies = [
                ("/login", many, "application/json", "400/200"),
                ("/verifyPassword", many, "application/json", "400/200"),
                ("/functions/none", form, "multipart/form-data; boundary=x", "400/141"),
            ]
            for (path, body, type, answer) in bodies {
                let start = Loop.monotonicNow()
                let reply = try await server.client.send("POST", path, bytes: body, type: type)
                #expect(reply.summary == answer, "\(path): \(reply.text)")
                #expect(Loop.monotonicNow() - start < 5_000_000_000, "\(path)")
            }
        }
    }

    /// Whoever may make an object may give it such an ACL, which each find of its class writes from then on.
    @Test func anACLOfManyIsWrittenInTime() async throws {
        try await withServer { server in
            let (read, write): (JSON, JSON) = (["read": true], ["write": true])
            let readers = (0..<20_000).map { (key: "lector\($0)", value: read) }
            let writers = (0..<20_000).map { (key: "autor\($0)", value: write) }
            let acl = JSONObject([(key: "*", value: read)] + readers + writers)
            _ = try await server.client.create("Thing", ["ACL": .object(acl)])
            let start = Loop.monotonicNow()
            let found = try await server.client.must("GET", "/classes/Thing")
            #expect(found.json["results"]?.array?.first?.object?["ACL"] == .object(acl))
            #expect(Loop.monotonicNow() - start < 5_000_000_000)
        }
    }

    @Test func manyChangesWithinAnObjectAreOneStatementOfTheirSize() async throws {
        try await withServer { server in
            let id = try await server.client.create("Thing", ["info": ["c0": 5, "list": [1]]])
            var body = JSONObject((0..<20).map { ("info.c\($0)", ["__op": "Increment", "amount": 1]) })
            body["info.list"] = ["__op": "AddUnique", "objects": [1, 2]]
            let reply = try await server.client.must("PUT", "/classes/Thing/\(id)", .object(body), master: true)
            #expect(reply.json["info"]?.object?["c0"] == 6 && reply.json["info"]?.object?["c19"] == 1)
            #expect(reply.json["info"]?.object?["list"] == [1, 2])
            for (count, answer) in [(1000, "200"), (1001, "400/105")] {
                let body = JSON.object(JSONObject((0..<count).map { ("info.k\($0)", 1) }))
                let reply = try await server.client.send("PUT", "/classes/Thing/\(id)", body, master: true)
                #expect(reply.summary == answer, "\(reply.text.prefix(200))")
            }
        }
    }

    @Test func sessionsThatAreNoneAreRefused() async throws {
        try await withServer { server in
            _ = try await server.client.create("Thing", ["name": "one"])
            for token in [
                "r:0123456789abcdef0123456789abcdef", "x", "r:' OR 1=1 --", String(repeating: "r", count: 5000),
            ] {
                let reply = try await server.client.send("GET", "/classes/Thing", session: token)
                #expect(reply.summary == "400/209")
            }
        }
    }

    /// PostgreSQL goes and comes: clients are told to come again meanwhile, and nothing else is needed.
    @Test func aLostDatabaseIsTemporary() async throws {
        let folder = "/tmp/hermes-lost-\(getpid())"
        mkdir(folder, 0o755)
        defer { removeFolder(folder) }
        let first = try await blocking { () throws -> PrivateCluster in
            let cluster = try PrivateCluster.start(PrivateCluster.Options(dataFolder: folder))
            try cluster.createDatabase("hermes")
            return cluster
        }
        try await TestDatabase.migrate(first.conninfo(database: "hermes"))
        try await withServer(conninfo: first.conninfo(database: "hermes")) { options in
            options.database.waitTimeout = 0.5
        } _: { server in
            let id = try await server.client.create("Thing", ["name": "one"])
            try await blocking { first.stop() }
            for (method, path) in [("GET", "/classes/Thing/\(id)"), ("POST", "/classes/Thing"), ("GET", "/users/me")] {
                let reply = try await server.client.send(
                    method, path, method == "POST" ? ["name": "two"] : nil,
                    session: path == "/users/me" ? "r:0123456789abcdef0123456789abcdef" : nil, master: method == "POST")
                #expect(reply.status == 503, "\(method) \(path): \(reply.text)")
                #expect(reply.header("Retry-After").flatMap(Int.init) ?? 0 > 0)
                #expect(!reply.text.contains("socket"))
            }
            let second = try await blocking { try PrivateCluster.start(PrivateCluster.Options(dataFolder: folder)) }
            let isBack = try await eventually(server.loop) {
                try await server.client.send("GET", "/classes/Thing/\(id)").status == 200
            }
            #expect(isBack)
            let written = try await eventually(server.loop) {
                try await server.client.send("POST", "/classes/Thing", ["name": "two"], master: true).status == 201
            }
            #expect(written)
            try await blocking { second.stop() }
        }
    }
}

/// Everything but letters and digits percent-encoded.
func encoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            bytes.append(byte)
        default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

extension String {
    func replacingOccurrences(_ part: String, _ other: String) -> String {
        split(separator: part, omittingEmptySubsequences: false).joined(separator: other)
    }
}
