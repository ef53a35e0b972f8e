import Foundation
import Glibc
import Jobs
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// `hermes jobs`, as an operator types it.
@Suite struct JobsCommandTests {
    private func hermes(_ arguments: [String], _ database: TestDatabase, _ folder: String) async throws -> (
        exit: Int32?, output: String
    ) {
        let log = "\(folder)/output"
        let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let child = try ChildProcess.start(
            [HermesProcess.program, "jobs"] + arguments + ["--database-url", database.conninfo],
            environment: ProcessInfo.processInfo.environment, output: output)
        close(output)
        let exit = try await blocking { child.wait(seconds: 120) }
        return (exit, try String(contentsOfFile: log, encoding: .utf8))
    }

    @Test func theQueueIsListedAndChanged() async throws {
        let folder = HermesProcess.makeFolder("jobs-command")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        let none = try await hermes([], database, folder)
        #expect(none.exit == 0 && none.output == "No jobs.\n")
        try await database.execute(
            """
            INSERT INTO "_Job" ("kind", "payload", "state", "runAt", "attempts", "reason", "finishedAt") VALUES
                ('correo', '{"a": "ana"}', 'dead', now(), 5, E'no such\\nmailbox \\x1b[2J', now()),
                ('parse', '{}', 'waiting', now() + interval '1 h', 0, NULL, NULL)
            """)
        let table = try await hermes(["list"], database, folder)
        let lines = table.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("ID  KIND    STATE"))
        #expect(lines[1].hasPrefix("2   parse   waiting"))
        #expect(lines[2].hasSuffix("no such mailbox  [2J"))
        let dead = try await hermes(["--state", "dead", "--json"], database, folder)
        let job = try JSONParser.parse(Array(dead.output.utf8))
        #expect(job.object?["payload"] == ["a": "ana"])
        let all = try await hermes(["list", "--json"], database, folder)
        let kinds = try all.output.split(separator: "\n").map { try JSONParser.parse(String($0)).object?["kind"] }
        #expect(kinds == ["parse", "correo"], "an object a line, as --help has it")
        let again = try await hermes(["retry", "1"], database, folder)
        #expect(again.exit == 0 && again.output.contains("state       waiting"))
        let cancelled = try await hermes(["cancel", "2", "--json"], database, folder)
        #expect(cancelled.exit == 0)
        // Whoever takes it sees that it is not wanted any more.
        let twice = try await hermes(["retry", "2"], database, folder)
        #expect(twice.exit == 2 && twice.output.contains("nothing to retry"))
        for wrong in [["show", "7"], ["show"], ["list", "x"], ["--state", "lost"], ["frobnicate"]] {
            let refused = try await hermes(wrong, database, folder)
            #expect(refused.exit == 2, "\(wrong)")
        }
    }
}
