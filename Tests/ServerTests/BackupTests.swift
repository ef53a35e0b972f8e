import Core
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing
import Wire

/// `hermes backup` and `hermes restore`, as an administrator types them.
@Suite struct BackupTests {
    private static func hermes(_ arguments: [String]) async throws -> (exit: Int32?, output: String) {
        let (exit, output) = try await blocking {
            var environment = ProcessInfo.processInfo.environment
            environment["DATABASE_URL"] = nil
            return try ChildProcess.run([HermesProcess.program] + arguments, environment: environment)
        }
        return (exit, output)
    }

    /// A forum with every type of field, users, roles, relations, permissions.
    static func fill(_ client: Client) async throws -> (user: String, token: String) {
        let (ana, token) = try await client.signUp("ana")
        let (eva, _) = try await client.signUp("eva")
        // What PostgreSQL computes for an index, it must be able to compute within a restore too.
        try await client.must(
            "POST", "/schemas/Temas",
            [
                "className": "Temas", "fields": ["Tema": ["type": "String"]],
                "indexes": ["palabras": ["Tema": "text:es+en"], "sin_acentos": ["Tema": "uniqueNoCaseNoAccents"]],
            ], master: true)
        let topic = try await client.create("Temas", ["Tema": "El Camino en bici 🚲\n\"sí\"\\", "Votos": 3.25])
        let acl = JSON.object(
            JSONObject([
                (key: ana, value: ["read": true, "write": true] as JSON),
                (key: "role:moderadores", value: ["read": true]),
            ]))
        for number in 0..<40 {
            _ = try await client.create(
                "Todo",
                [
                    "numero": .number(Double(number) / 3), "texto": .string("ñandú \(number)\t\u{202E}fin"),
                    "si": .bool(number % 2 == 0), "fecha": ["__type": "Date", "iso": "1969-07-20T20:17:40.123Z"],
                    "lista": [1, "dos", ["__type": "Pointer", "className": "Temas", "objectId": .string(topic)], nil],
                    "objeto": ["a": ["b": [true, nil, "ç"]]],
                    "lugar": ["__type": "GeoPoint", "latitude": 42.88, "longitude": -8.54],
                    "zona": ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1], [0, 0]]],
                    "fichero": ["__type": "File", "name": "foto.jpg"],
                    "bytes": ["__type": "Bytes", "base64": "AAECAwT/"],
                    "tema": ["__type": "Pointer", "className": "Temas", "objectId": .string(topic)],
                    "nada": nil,
                    "ACL": acl,
                    "favoritos": [
                        "__op": "AddRelation",
                        "objects": [["__type": "Pointer", "className": "_User", "objectId": .string(eva)]],
                    ],
                ])
        }
        try await client.must(
            "POST", "/classes/_Role",
            [
                "name": "moderadores", "ACL": ["*": ["read": true]],
                "users": [
                    "__op": "AddRelation",
                    "objects": [["__type": "Pointer", "className": "_User", "objectId": .string(ana)]],
                ],
            ], master: true)
        try await client.must(
            "PUT", "/schemas/Temas",
            [
                "className": "Temas",
                "classLevelPermissions": ["find": ["requiresAuthentication": true], "get": ["*": true]],
                "indexes": ["tema_unico": ["Tema": "uniqueNoCase"]],
            ], master: true)
        try await client.must("PUT", "/config", ["params": ["avisos": true]], master: true)
        return (ana, token)
    }

    /// All that a server has, by class.
    private static func everything(_ client: Client) async throws -> [String: JSON] {
        let schemas = try await client.must("GET", "/schemas", master: true)
        var all: [String: JSON] = ["schemas": .object(schemas.json)]
        for schema in schemas.json["results"]?.array ?? [] {
            guard let name = schema.object?["className"]?.string, name != "Ruido" else { continue }
            let found = try await client.must("GET", "/classes/\(name)?limit=10000&order=objectId", master: true)
            // A file's address tells the server's port.
            let text = found.text.replacing(":\(client.port)/", with: "/")
            all[name] = try JSONParser.parse(text)
        }
        all["config"] = .object(try await client.must("GET", "/config", master: true).json)
        return all
    }

    @Test func aSecondServerHasEveryObjectOfTheFirst() async throws {
        let folder = HermesProcess.makeFolder("backup")
        defer { removeFolder(folder) }
        try await onWorker { loop in
            let first = try HermesProcess(folder: folder, name: "first")
            try await first.waitUntilReady(loop)
            let client = Client(loop, port: first.port)
            let (user, token) = try await BackupTests.fill(client)
            let keys = "{\"appId\": \"a\", \"masterKey\": \"0123456789abcdef\"}\n"
            try keys.write(toFile: "\(folder)/data/keys.json", atomically: true, encoding: .utf8)
            // Somebody writes meanwhile.
            _ = try await client.create("Ruido", ["n": 0])
            var isOver = false
            let writer = loop.spawn {
                var number = 1.0
                while !isOver {
                    _ = try? await client.create("Ruido", ["n": .number(number)])
                    number += 1
                }
            }
            let made = try await BackupTests.hermes(["backup", "\(folder)/b", "--data", "\(folder)/data"])
            isOver = true
            await writer.value
            #expect(made.exit == 0, "\(made.output)")
            #expect(made.output.contains("7 classes"))
            let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/b")[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let here = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(here == ["b", "data", "first.json", "first.log"])

            mkdir("\(folder)/other", 0o755)
            let restored = try await BackupTests.hermes(["restore", "\(folder)/b", "--data", "\(folder)/other/data"])
            #expect(restored.exit == 0, "\(restored.output)")
            let copied = try String(contentsOfFile: "\(folder)/other/data/keys.json", encoding: .utf8)
            #expect(copied == keys)
            let second = try HermesProcess(folder: "\(folder)/other", name: "second")
            try await second.waitUntilReady(loop)
            let other = Client(loop, port: second.port)
            let (one, two) = (try await BackupTests.everything(client), try await BackupTests.everything(other))
            #expect(Set(one.keys) == Set(two.keys))
            for (name, objects) in one {
                let isSame = two[name] == objects
                #expect(isSame, "\(name)")
            }
            #expect(one["Todo"]?.object?["results"]?.array?.count == 40)
            // What hangs on it works too: sessions, passwords, relations, roles.
            let me = try await other.must("GET", "/users/me", session: token)
            #expect(me.objectId == user)
            try await other.must("GET", "/login?username=eva&password=secret")
            let favourites = try await other.must(
                "GET",
                "/classes/_User?where="
                    + encoded(
                        "{\"$relatedTo\":{\"object\":{\"__type\":\"Pointer\",\"className\":\"Todo\",\"objectId\":\"\(one["Todo"]?.object?["results"]?.array?.first?.object?["objectId"]?.string ?? "")\"},\"key\":\"favoritos\"}}"
                    ), master: true)
            #expect(favourites.json["results"]?.array?.count == 1)
            let mine = try await other.must("GET", "/classes/Todo", session: token)
            #expect(mine.json["results"]?.array?.count == 40)
            let new = try await other.must("POST", "/classes/Temas", ["Tema": "otro"], master: true)
            #expect(new.status == 201)
            let twice = try await other.send("POST", "/classes/Temas", ["Tema": "OTRO"], master: true)
            #expect(twice.code == 137)

            // A folder with a database is left alone, whether its server runs or not.
            for stops in [false, true] {
                if stops {
                    second.child.signal(SIGTERM)
                    _ = try await second.exit(within: 30)
                }
                let refused = try await BackupTests.hermes(["restore", "\(folder)/b", "--data", "\(folder)/other/data"])
                #expect(refused.exit == 1)
                #expect(refused.output.contains(stops ? "The database is not empty" : "A server runs in"))
            }
            // A cluster whose server has stopped is backed up as well.
            let cold = try await BackupTests.hermes(["backup", "\(folder)/cold", "--data", "\(folder)/other/data"])
            #expect(cold.exit == 0, "\(cold.output)")
            #expect(HermesProcess.postmaster("\(folder)/other") == nil)
            first.child.signal(SIGTERM)
            _ = try await first.exit(within: 30)
            client.close()
            other.close()
        }
    }

    @Test func aFileThatIsNotWholeIsRefusedBeforeAnythingIsWritten() async throws {
        let folder = HermesProcess.makeFolder("backup-cut")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        let made = try await BackupTests.hermes([
            "backup", "\(folder)/b", "--database-url", database.conninfo, "--data", folder,
        ])
        #expect(made.exit == 0, "\(made.output)")
        let whole = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/b"))
        var altered = whole
        altered[whole.count / 2] ^= 4
        let wrong = [
            whole.prefix(whole.count / 2), whole.prefix(whole.count - 512), altered, Data("PGDMP".utf8), Data(),
        ]
        let empty = try await TestDatabase.make()
        for (index, content) in wrong.enumerated() {
            try content.write(to: URL(fileURLWithPath: "\(folder)/wrong"))
            let check = try await BackupTests.hermes(["restore", "--check", "\(folder)/wrong"])
            #expect(check.exit == 1, "\(index)")
            let refused = try await BackupTests.hermes(
                ["restore", "\(folder)/wrong", "--database-url", empty.conninfo, "--data", folder])
            #expect(refused.exit == 1, "\(index): \(refused.output)")
            let intoFolder = try await BackupTests.hermes(["restore", "\(folder)/wrong", "--data", "\(folder)/new"])
            #expect(intoFolder.exit == 1)
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/new"))
        }
        let isEmpty = try await empty.withDatabase { _, database in
            try await database.read("SELECT to_regclass('public.\"_SCHEMA\"') IS NULL").bool(0, 0)
        }
        #expect(isEmpty)
        let good = try await BackupTests.hermes([
            "restore", "\(folder)/b", "--database-url", empty.conninfo, "--data", folder,
        ])
        #expect(good.exit == 0, "\(good.output)")
        // Now it is not empty any more.
        let again = try await BackupTests.hermes([
            "restore", "\(folder)/b", "--database-url", empty.conninfo, "--data", folder,
        ])
        #expect(again.exit == 1 && again.output.contains("The database is not empty"))
    }

    @Test func aNameThatIsTakenAndADatabaseOfSomethingElseAreRefused() async throws {
        let folder = HermesProcess.makeFolder("backup-taken")
        defer { removeFolder(folder) }
        try "mine".write(toFile: "\(folder)/b", atomically: true, encoding: .utf8)
        let empty = try await TestDatabase.make()
        let taken = try await BackupTests.hermes(["backup", "\(folder)/b", "--database-url", empty.conninfo])
        #expect(taken.exit == 1 && taken.output.contains("is there already"))
        #expect(try String(contentsOfFile: "\(folder)/b", encoding: .utf8) == "mine")
        let strange = try await BackupTests.hermes(["backup", "\(folder)/c", "--database-url", empty.conninfo])
        #expect(strange.exit == 1 && strange.output.contains("no database of Hermes"))
        let nothing = try await BackupTests.hermes(["backup", "\(folder)/c", "--data", "\(folder)/none"])
        #expect(nothing.exit == 1 && nothing.output.contains("There is no database"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["b"])
        for wrong in [["backup"], ["restore"], ["backup", "a", "b"], ["backup", "--nothing", "a"]] {
            let refused = try await BackupTests.hermes(wrong)
            #expect(refused.exit == 2, "\(wrong)")
        }
    }

    @Test func controlCLeavesNothingBehind() async throws {
        let folder = HermesProcess.makeFolder("backup-stop")
        defer { removeFolder(folder) }
        let test = try await TestDatabase.make(template: .migrated)
        let (exit, output) = try await test.withDatabase { _, database in
            try await database.transaction { transaction in
                // The backup waits for a change of a class that does not end.
                _ = try await transaction.run("LOCK TABLE \"_Session\" IN ACCESS EXCLUSIVE MODE")
                let log = open("\(folder)/log", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                defer { close(log) }
                var environment = ProcessInfo.processInfo.environment
                environment["DATABASE_URL"] = test.conninfo
                let child = try ChildProcess.start(
                    [HermesProcess.program, "backup", "\(folder)/b"], environment: environment, output: log)
                var waits = false
                for _ in 0..<6000 where !waits {
                    waits = try await database.read(
                        "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
                    ).bool(0, 0)
                    if !waits { try await database.loop.sleep(nanoseconds: 10_000_000) }
                }
                #expect(waits)
                child.signal(SIGINT)
                let exit = try await blocking { child.wait(seconds: 60) }
                return (exit, try String(contentsOfFile: "\(folder)/log", encoding: .utf8))
            }
        }
        #expect(exit == 130)
        #expect(output.contains("Nothing was written; run it again."))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["log"])
    }
}
