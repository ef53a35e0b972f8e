import Accounts
import Core
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing
import Wire

/// `hermes import` and `hermes export`, as an administrator types them.
@Suite struct ImportTests {
    /// A folder for one test, in which the commands run.
    private final class Place: Sendable {
        let folder: String
        let database: TestDatabase

        init(_ name: String) async throws {
            folder = HermesProcess.makeFolder(name)
            database = try await TestDatabase.make(template: .migrated)
        }
        deinit { removeFolder(folder) }

        func write(_ name: String, _ text: String) throws {
            let path = "\(folder)/\(name)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        func hermes(_ arguments: [String], in other: TestDatabase? = nil) async throws -> (exit: Int32?, output: String)
        {
            let conninfo = (other ?? database).conninfo
            let report = arguments.first == "import" ? ["--report", "\(folder)/refused.jsonl"] : []
            let (exit, output) = try await blocking {
                try ChildProcess.run(
                    [HermesProcess.program] + arguments + report + ["--database-url", conninfo],
                    environment: ProcessInfo.processInfo.environment)
            }
            return (exit, output)
        }

        var refused: [JSONObject] {
            let text = (try? String(contentsOfFile: "\(folder)/refused.jsonl", encoding: .utf8)) ?? ""
            return text.split(separator: "\n").compactMap { try? JSONParser.parse(String($0)).object }
        }
    }

    private static let dates = "\"createdAt\":\"2013-05-01T10:00:00.123Z\",\"updatedAt\":\"2014-05-01T10:00:00.456Z\""

    @Test func theHostedParsesExportServesItsMembers() async throws {
        let place = try await Place("import-parse")
        let hash = try #require(try await Passwords.hash("ruta-2015"))
        let php = "$2y$" + hash.dropFirst(4)
        let dates = ImportTests.dates
        try place.write(
            "in/_User.json",
            """
            { "results": [
              {"objectId":"u1","username":"lucia","bcryptPassword":"\(hash)","sessionToken":"viejo","email":"l@example.com",
               "ACL":{"*":{"read":true},"u1":{"read":true,"write":true}},\(dates)},
              {"objectId":"u2","username":"eva","_hashed_password":"\(php)",\(dates)},
              {"objectId":"u3","username":"raul","bcryptPassword":"\(hash)",\(dates),
               "_account_lockout_expires_at":{"$date":"9999-12-31T23:59:59.999Z"}}
            ] }
            """)
        try place.write(
            "in/_Role.json",
            "{\"results\":[{\"objectId\":\"r1\",\"name\":\"mods\",\"ACL\":{\"*\":{\"read\":true}},\(dates)}]}")
        try place.write("in/_Join:users:_Role.json", "{\"results\":[{\"owningId\":\"r1\",\"relatedId\":\"u1\"}]}")
        try place.write(
            "in/_Installation.json",
            "{\"results\":[{\"objectId\":\"i1\",\"deviceType\":\"ios\",\"installationId\":\"x\",\"channels\":[\"a\"],\(dates)}]}"
        )
        try place.write(
            "in/Temas.json",
            """
            {"results":[{"objectId":"t1","Tema":"a\\tb\\\\c \\"ñ\\" 🚲","Autor":{"__type":"Pointer","className":"_User","objectId":"u1"},
            "fans":{"__type":"Relation","className":"_User"},"ACL":{"role:mods":{"read":true}},"lugar":{"__type":"GeoPoint","latitude":1.5,"longitude":2.5},
            "foto":{"__type":"File","name":"tfss-1.jpg","url":"http://files.example.com/tfss-1.jpg"},"lista":["a",1,null],
            "cuando":{"__type":"Date","iso":"2015-01-01T00:00:00.000Z"},"objeto":{"a":{"b":1}},"bytes":{"__type":"Bytes","base64":"AAEC"},"nada":null,\(dates)}]}
            """)
        try place.write("in/_Join:fans:Temas.json", "{\"results\":[{\"owningId\":\"t1\",\"relatedId\":\"u2\"}]}")
        let made = try await place.hermes(["import", "\(place.folder)/in"])
        #expect(made.exit == 0, "\(made.output)")
        #expect(place.refused.isEmpty)
        let rest = try await place.database.withDatabase { _, database in
            try await database.read("SELECT to_regclass('\"_hermes_import\"') IS NULL").bool(0, 0)
        }
        #expect(rest)
        try await onWorker { loop in
            let server = try HermesProcess(folder: place.folder, conninfo: place.database.conninfo)
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            let lucia = try await client.must("GET", "/login?username=lucia&password=ruta-2015")
            #expect(lucia.objectId == "u1")
            #expect(lucia.json["createdAt"] == "2013-05-01T10:00:00.123Z")
            let eva = try await client.must("GET", "/login?username=eva&password=ruta-2015")
            #expect(eva.objectId == "u2")
            let raul = try await client.send("GET", "/login?username=raul&password=ruta-2015")
            #expect(raul.json["error"] == "Your account is locked.")
            // The role's members read the topic, others don't.
            let topic = try await client.must("GET", "/classes/Temas/t1", session: lucia.sessionToken)
            #expect(topic.json["Tema"] == "a\tb\\c \"ñ\" 🚲")
            #expect(topic.json["updatedAt"] == "2014-05-01T10:00:00.456Z")
            #expect(topic.json["lista"] == ["a", 1, nil] && topic.json["objeto"] == ["a": ["b": 1]])
            #expect(topic.json["foto"]?.object?["url"] == "http://files.example.com/tfss-1.jpg")
            #expect(topic.json["nada"] == nil)
            let hidden = try await client.send("GET", "/classes/Temas/t1", session: eva.sessionToken)
            #expect(hidden.status == 404)
            let fans = try await client.must(
                "GET",
                "/classes/_User?where="
                    + encoded(
                        #"{"$relatedTo":{"object":{"__type":"Pointer","className":"Temas","objectId":"t1"},"key":"fans"}}"#
                    ),
                master: true)
            #expect(fans.json["results"]?.array?.count == 1)
            let devices = try await client.must("GET", "/installations", master: true)
            #expect(devices.json["results"]?.array?.first?.object?["channels"] == ["a"])
            server.child.signal(SIGTERM)
            _ = try await server.exit(within: 30)
            client.close()
        }
    }

    @Test func whatDoesNotFitIsRefusedAloneAndNamed() async throws {
        let place = try await Place("import-refused")
        try place.write(
            "Temas.json",
            """
            {"results":[
            {"objectId":"t1","titulo":"uno","votos":1},
            {"objectId":"t1","titulo":"otra vez"},
            {"objectId":"t2","titulo":5},
            {"objectId":"t3","titulo":"a\\u0000b"},
            {"objectId":"t4","mal-nombre":1},
            {"titulo":"sin id"},
            {"objectId":"t6","titulo":tru},
            {"objectId":"t7","lugar":{"__type":"GeoPoint","latitude":91,"longitude":0}},
            {"objectId":"t8"}
            ]}
            """)
        let made = try await place.hermes(["import", "\(place.folder)/Temas.json"])
        #expect(made.exit == 5)
        #expect(made.output.contains("Temas  2, 7 refused"))
        #expect(place.refused.map { $0["line"] } == [3, 4, 5, 6, 7, 8, 9])
        #expect(
            place.refused.allSatisfy {
                $0["file"] == .string("\(place.folder)/Temas.json") && $0["reason"]?.string?.isEmpty == false
            })
        let one = "\"objectId\":\"u1\",\"username\":\"lucia\",\"email\":\"l@example.com\""
        try place.write(
            "_User.jsonl",
            "{\(one)}\n{\"objectId\":\"u2\",\"username\":\"LUCIA\"}\n{\"objectId\":\"u3\",\"username\":\"eva\",\"email\":\"L@example.com\"}\n{\"objectId\":\"u4\",\"username\":\"ana\"}\n"
        )
        let users = try await place.hermes(["import", "\(place.folder)/_User.jsonl"])
        #expect(users.exit == 5 && users.output.contains("_User  2, 2 refused"))
        #expect(
            place.refused.map { $0["reason"] } == [
                "another object has the same username", "another object has the same email",
            ])
        // The same file again brings nothing and breaks nothing.
        let again = try await place.hermes(["import", "\(place.folder)/_User.jsonl"])
        #expect(again.exit == 5 && again.output.contains("_User  0, 4 refused"))
        for wrong in [["import"], ["import", "a", "b", "c"], ["import", "--nothing", "x"]] {
            let refused = try await place.hermes(wrong)
            #expect(refused.exit == 2, "\(wrong)")
        }
        let missing = try await place.hermes(["import", "\(place.folder)/none.json"])
        #expect(missing.exit == 1)
    }

    @Test func mongoExportsOfParseServerFollowTheirSchema() async throws {
        let place = try await Place("import-mongo")
        try place.write(
            "in/_SCHEMA.jsonl",
            #"{"_id":"Sitios","objectId":"string","lugar":"geopoint","foto":"file","autor":"*_User","fans":"relation<_User>","_metadata":{"class_permissions":{"find":{},"get":{"*":true}}}}"#
        )
        try place.write(
            "in/Sitios.jsonl",
            #"{"_id":"s1","_created_at":{"$date":"2016-01-02T03:04:05.678Z"},"_updated_at":{"$date":"2016-01-02T03:04:05.678Z"},"lugar":[2.5,1.5],"foto":"a.jpg","_p_autor":"_User$u1","n":{"$numberLong":"7"},"_rperm":["*"],"_wperm":[]}"#
        )
        try place.write("in/_Join:fans:Sitios.jsonl", #"{"_id":"x","owningId":"s1","relatedId":"u1"}"#)
        let made = try await place.hermes(["import", "\(place.folder)/in"])
        #expect(made.exit == 0, "\(made.output)")
        let out = try await place.hermes(["export", "\(place.folder)/Sitios.jsonl"])
        #expect(out.exit == 0, "\(out.output)")
        let text = try String(contentsOfFile: "\(place.folder)/Sitios.jsonl", encoding: .utf8)
        let site = try #require(try JSONParser.parse(text).object)
        #expect(site["lugar"] == ["__type": "GeoPoint", "latitude": 1.5, "longitude": 2.5])
        #expect(site["foto"]?.object?["name"] == "a.jpg")
        #expect(site["n"] == 7)
        #expect(site["ACL"] == ["*": ["read": true]])
    }

    @Test func whatIsExportedAndImportedIsTheSame() async throws {
        let place = try await Place("export")
        try await onWorker { loop in
            let server = try HermesProcess(folder: place.folder, conninfo: place.database.conninfo)
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            _ = try await BackupTests.fill(client)
            client.close()
            server.child.signal(SIGTERM)
            _ = try await server.exit(within: 30)
        }
        for form in [[], ["--lines"]] {
            let (one, two) = ("\(place.folder)/one\(form.count)", "\(place.folder)/two\(form.count)")
            let first = try await place.hermes(["export", one] + form)
            #expect(first.exit == 0, "\(first.output)")
            let other = try await TestDatabase.make()
            let brought = try await place.hermes(["import", one], in: other)
            #expect(brought.exit == 0, "\(brought.output)")
            let second = try await place.hermes(["export", two] + form, in: other)
            #expect(second.exit == 0)
            let names = try FileManager.default.contentsOfDirectory(atPath: one).sorted()
            #expect(names == (try FileManager.default.contentsOfDirectory(atPath: two).sorted()))
            #expect(names.count == 10, "\(names)")
            for name in names {
                let isSame = FileManager.default.contentsEqual(atPath: "\(one)/\(name)", andPath: "\(two)/\(name)")
                #expect(isSame, "\(name)")
                let mode = try FileManager.default.attributesOfItem(atPath: "\(one)/\(name)")[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
        }
        let full = try await place.hermes(["export", "\(place.folder)/one0"])
        #expect(full.exit == 1 && full.output.contains("is not empty"))
        unlink("\(place.folder)/one0/Todo.json")
        let goesOn = try await place.hermes(["export", "\(place.folder)/one0", "--continue"])
        #expect(goesOn.exit == 0 && goesOn.output.contains("Todo  40") && goesOn.output.contains("Temas  was there"))
    }

    @Test func anImportThatWasStoppedGoesOn() async throws {
        let place = try await Place("import-stop")
        try place.write("first.jsonl", "{\"objectId\":\"o\"}")
        let made = try await place.hermes(["import", "Cosas", "\(place.folder)/first.jsonl"])
        #expect(made.exit == 0, "\(made.output)")
        let count = 120_000
        try place.write("in/Cosas.jsonl", (0..<count).map { "{\"objectId\":\"o\($0)\"}\n" }.joined())
        let exit = try await place.database.withDatabase { _, database in
            try await database.transaction { transaction in
                // The third batch waits for somebody who makes an object with one of its ids, and does not end.
                _ = try await transaction.run(
                    "INSERT INTO \"Cosas\" (\"objectId\", \"createdAt\", \"updatedAt\") VALUES ('o110000', now(), now())"
                )
                var environment = ProcessInfo.processInfo.environment
                environment["DATABASE_URL"] = place.database.conninfo
                let log = open("\(place.folder)/log", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                defer { close(log) }
                let child = try ChildProcess.start(
                    [
                        HermesProcess.program, "import", "\(place.folder)/in", "--report",
                        "\(place.folder)/refused.jsonl",
                    ],
                    environment: environment, output: log)
                var waits = false
                for _ in 0..<12_000 where !waits {
                    waits = try await database.read(
                        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hermes import' AND wait_event_type = 'Lock')"
                    ).bool(0, 0)
                    if !waits { try await database.loop.sleep(nanoseconds: 10_000_000) }
                }
                #expect(waits)
                child.signal(SIGINT)
                let exit = try await blocking { child.wait(seconds: 60) }
                _ = try await transaction.run("DELETE FROM \"Cosas\" WHERE \"objectId\" = 'o110000'")
                return exit
            }
        }
        #expect(exit == 130)
        let said = try String(contentsOfFile: "\(place.folder)/log", encoding: .utf8)
        #expect(said.contains("Run the same command again"))
        let there = try await place.database.withDatabase { _, database in
            Int(try await database.read("SELECT count(*) FROM \"Cosas\"").int(0, 0))
        }
        #expect(there == 100_001)
        let rest = try await place.hermes(["import", "\(place.folder)/in"])
        #expect(rest.exit == 0 && rest.output.contains("Cosas  120,000, 0 refused"), "\(rest.output)")
        let all = try await place.database.withDatabase { _, database in
            Int(try await database.read("SELECT count(DISTINCT \"objectId\") FROM \"Cosas\"").int(0, 0))
        }
        #expect(all == count + 1)
    }
}
