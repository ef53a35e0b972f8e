import Browse
import Cloud
import Core
import Foundation
import Synchronization
import Testing
import Wire

@testable import Server

/// Commands that ask a server, against one.
@Suite struct BrowseCommandTests {
    /// What a command printed, and how it ended.
    private struct Outcome {
        var output: String
        var notes: String
        var code: Int32
    }

    private func hermes(
        _ server: TestServer, _ name: String, _ words: [String], _ flags: [String: String] = [:],
        answers: [String] = [], key: String? = TestServer.masterKey
    ) async throws -> Outcome {
        let texts = Mutex((output: "", notes: "", answers: answers))
        let console = CommandConsole(
            write: { text in texts.withLock { $0.output += text } },
            note: { text in texts.withLock { $0.notes += text } },
            width: nil, noteIsTerminal: false,
            ask: { _, _ in texts.withLock { $0.answers.isEmpty ? nil : $0.answers.removeFirst() } })
        let address = ServerAddress(
            url: "http://127.0.0.1:\(server.nodes[0].port)/parse", appId: TestServer.appId, masterKey: key,
            readOnlyMasterKey: nil)
        var code: Int32 = 0
        var failure = ""
        do {
            code = try await CommandContext.run(
                TypedCommand(name, words, flags), at: address, console: console, loop: server.loop)
        } catch let error as CommandFailure {
            code = error.code
            failure = error.description
        }
        return texts.withLock { Outcome(output: $0.output, notes: $0.notes + failure, code: code) }
    }

    private func fill(_ server: TestServer) async throws {
        let lucia = try await server.client.signUp("lucia")
        for number in 0..<5 {
            _ = try await server.client.create(
                "Temas",
                [
                    "Tema": .string("tema \(number)\u{1B}[2J"), "n": .number(Double(number)), "abierto": true,
                    "autor": ["__type": "Pointer", "className": "_User", "objectId": .string(lucia.id)],
                ])
        }
    }

    @Test func objectsAreQueriedAndChanged() async throws {
        try await withServer { server in
            try await fill(server)
            let table = try await hermes(
                server, "query", ["Temas"],
                ["where": "n > 2 and autor = @lucia", "order": "-n", "keys": "Tema,n,autor"])
            #expect(table.output == "Tema         n  autor\ntema 4^[[2J  4  @lucia\ntema 3^[[2J  3  @lucia\n")
            let csv = try await hermes(
                server, "query", ["Temas"], ["order": "n", "keys": "n,abierto", "csv": "true", "limit": "2"])
            #expect(csv.output == "n,abierto\n0,true\n1,true\n")
            let lines = try await hermes(server, "query", ["Temas"], ["json": "true", "limit": "all"])
            let rows = try lines.output.split(separator: "\n").map { try JSONParser.parse(String($0)) }
            #expect(Set(rows.compactMap { $0.object?["n"]?.number }) == [0, 1, 2, 3, 4])
            #expect(try await hermes(server, "count", ["Temas"], ["where": "n >= 1"]).output == "4\n")

            let id = try #require(rows.first?.object?["objectId"]?.string)
            let kept = try await hermes(server, "set", ["Temas:\(id)", "abierto=false"], answers: ["n"])
            #expect(kept.code == 1)
            #expect(try await hermes(server, "set", ["Temas:\(id)", "abierto=false"]).code == 2)
            #expect(try await hermes(server, "set", ["Temas:\(id)", "n=7"], ["dry-run": "true"]).code == 0)
            #expect(try await hermes(server, "count", ["Temas"], ["where": "abierto = false or n = 7"]).output == "0\n")
            let saved = try await hermes(server, "set", ["Temas:\(id)", "abierto=false", "n+=2"], answers: ["y"])
            #expect(saved.code == 0 && saved.output.hasPrefix("abierto  true -> false\nn  "))
            #expect(try await hermes(server, "count", ["Temas"], ["where": "abierto = false"]).output == "1\n")

            let made = try await hermes(server, "create", ["Temas", "n=11", "autor=@lucia"], ["yes": "true"])
            let name = made.output.trimmingCharacters(in: .newlines)
            #expect(made.code == 0 && name.hasPrefix("Temas:"))
            let deleted = try await hermes(server, "delete", [name, "Temas:nosuchone1"], ["yes": "true"])
            #expect(deleted.code == 5 && deleted.output == "deleted 1\n")
            #expect(try await hermes(server, "get", [name]).code == 3)
        }
    }

    @Test func whatIsWrongEndsInItsOwnWay() async throws {
        try await withServer { server in
            try await fill(server)
            let filter = try await hermes(server, "query", ["Temas"], ["where": "m = 1"])
            #expect(filter.code == 2 && filter.notes.contains("^ no field m in Temas; perhaps n"))
            let missing = try await hermes(server, "query", ["Tema"])
            #expect(missing.code == 3 && missing.notes == "there is no class Tema; perhaps Temas")
            #expect(try await hermes(server, "query", []).code == 2)
            #expect(try await hermes(server, "set", ["Temas:x", "n=3l"], ["yes": "true"]).code == 2)
            #expect(try await hermes(server, "get", ["Temas:nosuchone1"]).code == 3)
            let stranger = try await hermes(server, "classes", [], key: "no key")
            #expect(stranger.code == 4 && stranger.notes.contains("masterKeyIps"))
        }
    }

    @Test func rolesUsersAndParametersAreLookedAfter() async throws {
        try await withServer { server in
            try await fill(server)
            #expect(try await hermes(server, "role", ["create", "moderadores"], ["yes": "true"]).code == 0)
            #expect(
                try await hermes(server, "role", ["add", "moderadores", "lucia"], ["yes": "true"]).output
                    == "1 member\n")
            #expect(try await hermes(server, "role", ["show", "moderadores"]).output.contains("lucia"))
            #expect(try await hermes(server, "role", ["add", "moderadores", "nadie"], ["yes": "true"]).code == 3)
            #expect(
                try await hermes(server, "role", ["remove", "moderadores", "lucia"], ["yes": "true"]).output
                    == "0 members\n")
            let sessions = try await hermes(server, "user", ["logout", "lucia"], ["yes": "true"])
            #expect(sessions.output == "1 session ended\n")
            let changed = try await hermes(server, "user", ["password", "lucia"], answers: ["otra-clave"])
            #expect(changed.code == 0)
            let logIn = try await server.client.send(
                "POST", "/login", ["username": "lucia", "password": "otra-clave"])
            #expect(logIn.status == 200)
            #expect(try await hermes(server, "user", ["lock", "lucia"]).code == 2)
            let locked = try await hermes(server, "user", ["lock", "lucia"], ["yes": "true"])
            #expect(locked.output == "locked, 1 session ended\n")
            #expect(
                try await hermes(server, "user", ["show", "lucia"]).output.contains("locked: until it is unlocked"))
            #expect(try await hermes(server, "user", ["unlock", "lucia"], ["yes": "true"]).output == "unlocked\n")
            #expect(try await hermes(server, "user", ["lock", "nadie"], ["yes": "true"]).code == 3)
            try await server.client.must("POST", "/login", ["username": "lucia", "password": "otra-clave"])
            let shown = try await hermes(server, "user", ["show", "lucia"])
            #expect(!shown.output.contains("locked"))
            #expect(shown.output.contains("roles: none") && !shown.output.contains("r:"))
            let token = try await hermes(server, "query", ["_Session"], ["json": "true"])
            #expect(token.output.contains("createdWith") && !token.output.contains("r:"))

            let set = try await hermes(server, "config", ["set", "avisos=true", "texto=hola"], ["yes": "true"])
            #expect(set.output == "avisos  - -> true\ntexto  - -> hola\n")
            #expect(try await hermes(server, "config", ["get", "avisos"], ["json": "true"]).output == "true\n")
            #expect(try await hermes(server, "config", ["unset", "avisos"], ["yes": "true"]).code == 0)
            #expect(try await hermes(server, "config", ["get", "avisos"]).code == 3)
        }
    }

    @Test func schemasAreComparedAndApplied() async throws {
        try await withServer { server in
            try await fill(server)
            let folder = HermesProcess.makeFolder("schema-command")
            defer { removeFolder(folder) }
            let dump = try await hermes(server, "schema", ["dump"])
            let file = folder + "/s.json"
            try dump.output.replacingOccurrences(
                of: "\"abierto\":{\"type\":\"Boolean\"}",
                with: "\"abierto\":{\"type\":\"Boolean\"},\"fijado\":{\"type\":\"Boolean\"}"
            ).write(toFile: file, atomically: true, encoding: .utf8)
            #expect(try await hermes(server, "schema", ["diff", file]).output == "+ Temas.fijado Boolean\n")
            #expect(try await hermes(server, "schema", ["apply", file], ["yes": "true"]).code == 0)
            #expect(try await hermes(server, "schema", ["diff", file]).output == "")
            #expect(try await hermes(server, "schema", ["show", "Temas"]).output.contains("fijado"))
        }
    }

    @Test func anExportGoesOnWhereItStopped() async throws {
        try await withServer { server in
            try await fill(server)
            let folder = HermesProcess.makeFolder("export-command")
            defer { removeFolder(folder) }
            let file = folder + "/t.jsonl"
            #expect(try await hermes(server, "export", ["Temas", file]).code == 0)
            let whole = try String(contentsOfFile: file, encoding: .utf8)
            #expect(whole.split(separator: "\n").count == 5)
            #expect(try await hermes(server, "export", ["Temas", file]).code == 1)
            // As a run leaves it that was killed in the middle of a line.
            let half = whole.split(separator: "\n")[..<2].joined(separator: "\n") + "\n{\"objectId\":\"ab"
            try half.write(toFile: file + ".part", atomically: true, encoding: .utf8)
            try FileManager.default.removeItem(atPath: file)
            let again = try await hermes(server, "export", ["Temas", file])
            #expect(again.code == 0 && again.notes.hasPrefix("going on after 2 objects\n"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == whole)
        }
    }

    @Test func jobsAreRunAndWaitedFor() async throws {
        var jobs = CloudCode()
        jobs.jobs["caducar"] = CloudHandler("caducar") { _ in CloudAnswer("hecho") }
        let code = jobs
        try await withServer(cloud: code) { server in
            let run = try await hermes(server, "jobs", ["run", "caducar"])
            #expect(run.code == 0 && run.output.hasPrefix("succeeded"))
            #expect(try await hermes(server, "jobs", ["run", "nada"]).code == 1)
        }
    }
}
