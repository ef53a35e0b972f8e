import Core
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// A node's log, as operators read it over HTTP.
@Suite struct LogRouteTests {
    @Test func theLogIsAnsweredAsAsked() async throws {
        try await withServer { server in
            // All tests of the process log into one.
            let mark = "log-route-\(Int.random(in: 0..<Int.max))"
            for number in 0..<5 { Log.shared.error("\(mark) \(number)", ["spaced": "a b"]) }
            Log.shared.flush()
            func entries(_ query: String) async throws -> [JSONObject] {
                let reply = try await server.client.must("GET", "/scriptlog?\(query)", master: true)
                return reply.array.compactMap(\.object).filter { $0["message"]?.string?.hasPrefix(mark) == true }
            }
            let newest = try await entries("n=1000")
            #expect(newest.count == 5 && newest[0]["message"] == .string("\(mark) 4 spaced=\"a b\""))
            #expect(newest[0]["level"] == "error")
            let oldest = try await entries("n=1000&order=asc&level=error")
            #expect(oldest.map { $0["number"] } == newest.reversed().map { $0["number"] })
            let third = try #require(oldest[2]["number"]?.number)
            #expect(try await entries("n=1000&order=asc&after=\(Int64(third))").count == 2)
            let time = try #require(oldest[0]["timestamp"]?.string)
            #expect(try await entries("n=1000&from=\(time)").count == 5)
            #expect(try await entries("n=1000&until=2020-01-01").isEmpty)
            let two = try await server.client.must("GET", "/scriptlog?size=2", master: true)
            #expect(two.array.count == 2)
            for wrong in ["n=1001", "n=-1", "level=loud", "from=monday", "after=x"] {
                let refused = try await server.client.send("GET", "/scriptlog?\(wrong)", master: true)
                #expect(refused.code == 102, "\(wrong)")
            }
            let huge = try await server.client.send(
                "POST", "/scriptlog", ["_method": "GET", "n": 1e300, "after": -1e300], master: true)
            #expect(huge.code == 102)
            #expect(try await server.client.send("GET", "/scriptlog").status == 403)
        }
    }

    @Test func aFollowerSeesWhatComesAndWaitsForARestart() async throws {
        let folder = HermesProcess.makeFolder("logs-follow")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            var server = try HermesProcess(
                folder: folder, conninfo: database.conninfo, options: [("logLevel", "info")])
            try await server.waitUntilReady(loop)
            let port = server.port
            var environment = ProcessInfo.processInfo.environment
            environment["HERMES_MASTER_KEY"] = HermesProcess.masterKey
            let client = Client(loop, port: port)
            _ = try await client.send("GET", "/classes/Antes", master: true)
            let path = "\(folder)/followed"
            let output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            let follower = try ChildProcess.start(
                [
                    "/usr/bin/setpriv", "--pdeathsig", "TERM", HermesProcess.program, "logs", "-f", "--port", "\(port)",
                    "--app-id", HermesProcess.appId,
                ], environment: environment, output: output)
            close(output)
            func text() -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
            let begins = try await eventually(loop) { text().contains("path=/parse/classes/Antes") }
            #expect(begins, "\(text())")
            _ = try await client.send("GET", "/classes/Temas", master: true)
            let follows = try await eventually(loop) { text().contains("path=/parse/classes/Temas") }
            #expect(follows, "\(text())")
            server.child.signal(SIGTERM)
            _ = try await server.exit(within: 30)
            let waits = try await eventually(loop) { text().contains("the server is away") }
            #expect(waits, "\(text())")
            server = try HermesProcess(
                folder: folder, conninfo: database.conninfo,
                options: [("logLevel", "info"), ("port", .number(Double(port)))])
            try await server.waitUntilReady(loop)
            let isBack = try await eventually(loop) { text().contains("is there again") }
            #expect(isBack, "\(text())")
            _ = try await client.send("GET", "/classes/Foros", master: true)
            let goesOn = try await eventually(loop) { text().contains("path=/parse/classes/Foros") }
            #expect(goesOn, "\(text())")
            let seen = text()
            #expect(seen.components(separatedBy: "path=/parse/classes/Temas").count == 2)
            #expect(!seen.contains("scriptlog"))
            follower.signal(SIGTERM)
            _ = try await blocking { follower.wait(seconds: 30) }
            server.child.signal(SIGTERM)
            _ = try await server.exit(within: 30)
            client.close()
        }
    }
}
