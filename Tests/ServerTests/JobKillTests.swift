import Cloud
import Core
import Foundation
import Glibc
import Options
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// `kill -9` of the node that runs a job: another goes on with it.
@Suite struct JobKillTests {
    private static let conninfo = "HERMES_TEST_JOB_NODE"
    private static let portFile = "HERMES_TEST_JOB_NODE_PORT"

    /// What differs from the defaults is only quicker: 15 s and 3 s.
    @Sendable private static func configure(_ options: inout ServerOptions) {
        options.jobs.lease = 2
        options.jobs.poll = 0.2
    }

    @Test func anotherNodeGoesOnWithTheJobOfOneThatWasKilled() async throws {
        let folder = HermesProcess.makeFolder("job-kill")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        let port = "\(folder)/port"
        let child = try JobKillTests.startNode(database.conninfo, port, log: "\(folder)/log")
        defer { child.signal(SIGKILL) }
        var here = CloudCode()
        here.jobs["largo"] = CloudHandler("largo") { _ in CloudAnswer("hecho") }
        let code = here
        try await onWorker { loop in
            let isUp = try await eventually(loop) { access(port, F_OK) == 0 }
            let said = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
            try #require(isUp, "\(said)")
            let number = try #require(Int(try String(contentsOfFile: port, encoding: .utf8)))
            let client = Client(loop, port: number)
            defer { client.close() }
            let started = try await client.must("POST", "/jobs/largo", [:], master: true)
            let id = try #require(started.header("X-Parse-Job-Status-Id"))
            let runs = try await eventually(loop) {
                try await client.send("GET", "/classes/_JobStatus/\(id)", master: true).json["message"] == "a medias"
            }
            #expect(runs)
            try await withServer(conninfo: database.conninfo, cloud: code, JobKillTests.configure) { server in
                child.signal(SIGKILL)
                var status = JSONObject()
                let isDone = try await eventually(server.loop) {
                    status = try await server.client.send("GET", "/classes/_JobStatus/\(id)", master: true).json
                    return status["status"] != "running"
                }
                #expect(isDone)
                #expect(status["status"] == "succeeded")
                #expect(status["message"] == "hecho")
                let row = try await server.sql.read("SELECT \"run\", \"losses\", \"attempts\", \"state\" FROM \"_Job\"")
                #expect(row.count == 1)
                #expect([row.int(0, 0), row.int(0, 1), row.int(0, 2)] == [2, 1, 0])
                #expect(row.string(0, 3) == "done")
            }
        }
    }

    /// Starts these tests' program once more, for the one test below.
    private static func startNode(_ conninfo: String, _ port: String, log: String) throws -> ChildProcess {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var environment = ProcessInfo.processInfo.environment
        environment[JobKillTests.conninfo] = conninfo
        environment[portFile] = port
        let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { close(output) }
        return try ChildProcess.start(
            [
                "/usr/bin/setpriv", "--pdeathsig", "KILL", program, "--filter", "JobKillTests.aNodeUntilItIsKilled",
                "--testing-library", "swift-testing",
            ], environment: environment, output: output)
    }

    /// No test: the node that is killed, in a process of its own.
    @Test(.enabled(if: ProcessInfo.processInfo.environment[conninfo] != nil)) func aNodeUntilItIsKilled() async throws {
        let environment = ProcessInfo.processInfo.environment
        let database = try #require(environment[JobKillTests.conninfo])
        let port = try #require(environment[JobKillTests.portFile])
        var code = CloudCode()
        code.jobs["largo"] = CloudHandler("largo") { call in
            try await call.report?("a medias")
            try await Task.sleep(for: .seconds(3600))
            return CloudAnswer("nunca")
        }
        try await withServer(conninfo: database, cloud: code, JobKillTests.configure) { server in
            try "\(server.client.port)".write(toFile: port, atomically: true, encoding: .utf8)
            try await Waiter().wait()
        }
    }
}
