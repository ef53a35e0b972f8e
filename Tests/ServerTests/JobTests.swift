import Cloud
import Core
import Jobs
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Server

/// Parse's jobs over HTTP: here plain closures.
@Suite struct JobTests {
    private func code(_ jobs: [(String, @Sendable (CloudCall) async throws -> CloudAnswer)]) -> CloudCode {
        var code = CloudCode()
        for (name, run) in jobs { code.jobs[name] = CloudHandler(name) { try await run($0) } }
        return code
    }

    /// The status once it says more than "running".
    private func ended(_ id: String, _ server: TestServer) async throws -> JSONObject {
        var status = JSONObject()
        _ = try await eventually(server.loop) {
            status = try await server.client.send("GET", "/classes/_JobStatus/\(id)", master: true).json
            return status["status"] != "running"
        }
        return status
    }

    private func start(_ name: String, _ body: JSON = [:], _ server: TestServer) async throws -> String {
        let reply = try await server.client.must("POST", "/jobs/\(name)", body, master: true)
        #expect(reply.json == JSONObject())
        return reply.header("X-Parse-Job-Status-Id") ?? ""
    }

    @Test func aJobIsToldWhatTheReferenceTellsAndLeavesItsStatus() async throws {
        let seen = Mutex<JSONObject?>(nil)
        let code = code([
            (
                "contar",
                { call in
                    seen.withLock { $0 = call.payload }
                    let made = try await call.caller.send(
                        CloudRequest("POST", "classes/Partes", body: JSONObject([("n", 1)]), as: .master))
                    try await call.report?("a medias")
                    return CloudAnswer(.string("hay \(made.status)"))
                }
            ),
            (
                "mudo",
                { call in
                    try await call.report?("de camino")
                    return CloudAnswer(["n": 3])
                }
            ),
        ])
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send(
                "POST", "/jobs", ["jobName": "contar", "n": 5], master: true,
                headers: [("X-Parse-Session-Token", "r:secret"), ("X-Casa", "azul")])
            #expect(reply.status == 200)
            let id = try #require(reply.header("X-Parse-Job-Status-Id"))
            let status = try await ended(id, server)
            #expect(status["finishedAt"]?.object?["__type"] == "Date")
            for (name, value) in [
                ("objectId", JSON.string(id)), ("jobName", "contar"), ("source", "api"), ("status", "succeeded"),
                ("message", "hay 201"), ("ACL", [:]),
            ] { #expect(status[name] == value, "\(name)") }
            #expect(
                Set(status.members.map(\.key)) == [
                    "objectId", "jobName", "source", "status", "message", "ACL", "createdAt", "finishedAt",
                ])
            let payload = seen.withLock { $0 } ?? JSONObject()
            #expect(payload["jobName"] == "contar")
            #expect(payload["jobId"] == .string(id))
            #expect(payload["params"] == ["jobName": "contar", "n": 5])
            #expect(payload["headers"]?.object?["x-casa"] == "azul")
            #expect(payload["headers"]?.object?["x-parse-session-token"] == nil)
            #expect(payload["headers"]?.object?["x-parse-master-key"] == nil)
            #expect(payload["master"] == nil && payload["user"] == nil)
            // What is no text leaves the last message.
            let silent = try await ended(start("mudo", [:], server), server)
            #expect(silent["message"] == "de camino")
            #expect(silent["status"] == "succeeded")
        }
    }

    @Test func aJobThatThrowsHasFailedOnce() async throws {
        let runs = Atomic(0)
        let counted = { @Sendable in _ = runs.add(1, ordering: .relaxed) }
        let code = code([
            (
                "fallar",
                { call in
                    counted()
                    try await call.report?("voy a fallar")
                    throw ParseError(5201, call.payload["params"]?.object?["como"]?.string ?? "")
                }
            )
        ])
        try await withServer(cloud: code) { server in
            let told = try await ended(start("fallar", ["como": "fallo de Parse"], server), server)
            #expect(told["status"] == "failed")
            #expect(told["message"] == "fallo de Parse")
            let silent = try await ended(start("fallar", [:], server), server)
            #expect(silent["status"] == "failed")
            #expect(silent["message"] == "voy a fallar")
            #expect(runs.load(ordering: .relaxed) == 2)
        }
    }

    @Test func onlyTheMasterKeyStartsAJobThatIsThere() async throws {
        let code = code([("contar", { _ in CloudAnswer() })])
        try await withServer(cloud: code) { server in
            let client = server.client
            let ana = try await client.signUp("ana")
            for (method, path) in [
                ("POST", "/jobs/contar"), ("DELETE", "/jobs/x"), ("GET", "/cloud_code/jobs"),
                ("GET", "/cloud_code/jobs/data"), ("POST", "/cloud_code/jobs"), ("DELETE", "/cloud_code/jobs/x"),
            ] {
                let nobody = try await client.send(method, path)
                #expect(nobody.status == 403 && nobody.json == ["error": "Permission denied"])
                let user = try await client.send(method, path, session: ana.token)
                #expect(user.status == 403)
            }
            for (path, body) in [
                ("/jobs/noExiste", JSON.object(JSONObject())), ("/jobs", ["jobName": "nada"]), ("/jobs", [:]),
            ] {
                let reply = try await client.send("POST", path, body, master: true)
                #expect(reply.status == 400 && reply.json == ["code": 141, "error": "Invalid job."])
            }
            let id = try await start("contar", [:], server)
            let status = try await client.send("GET", "/classes/_JobStatus/\(id)", session: ana.token)
            #expect(status.summary == "400/119")
            let none = try await client.send("DELETE", "/jobs/nada", master: true)
            #expect(none.summary == "404/101")
        }
    }

    @Test func aJobIsCancelledOnRequest() async throws {
        let begun = Waiter()
        let code = code([
            (
                "largo",
                { _ in
                    begun.resume()
                    try await Task.sleep(for: .seconds(3600))
                    return CloudAnswer()
                }
            )
        ])
        try await withServer(cloud: code) { server in
            let id = try await start("largo", [:], server)
            try await begun.wait()
            try await server.client.must("DELETE", "/jobs/\(id)", master: true)
            let status = try await ended(id, server)
            #expect(status["status"] == "failed")
            #expect(status["message"] == "The job was cancelled.")
            let again = try await server.client.send("DELETE", "/jobs/\(id)", master: true)
            #expect(again.summary == "404/101")
        }
    }

    @Test func aJobThatTakesTooLongIsStopped() async throws {
        let code = code([
            (
                "largo",
                { _ in
                    try await Task.sleep(for: .seconds(3600))
                    return CloudAnswer()
                }
            )
        ])
        try await withServer(cloud: code, { $0.jobs.timeLimit = 0.1 }) { server in
            let status = try await ended(start("largo", [:], server), server)
            #expect(status["status"] == "failed")
            #expect(status["message"] == "largo took longer than 0.1 s and was stopped.")
        }
    }

    @Test func aJobOfABatchThatIsUndoneNeverRuns() async throws {
        let runs = Atomic(0)
        let counted = { @Sendable in _ = runs.add(1, ordering: .relaxed) }
        let code = code([
            (
                "contar",
                { _ in
                    counted()
                    return CloudAnswer()
                }
            )
        ])
        try await withServer(cloud: code) { server in
            let start: JSON = ["method": "POST", "path": "/parse/jobs/contar", "body": [:]]
            let undone = try await server.client.send(
                "POST", "/batch",
                [
                    "transaction": true,
                    "requests": [start, ["method": "DELETE", "path": "/parse/classes/Temas/nada"]],
                ],
                master: true)
            #expect(!undone.isSuccess)
            let kept = try await server.client.send(
                "POST", "/batch", ["transaction": true, "requests": [start, start]], master: true)
            #expect(kept.isSuccess)
            let areDone = try await eventually(server.loop) {
                let all = try await server.all("_JobStatus")
                return all.count == 2 && all.allSatisfy { $0["status"] == "succeeded" }
            }
            #expect(areDone)
            #expect(runs.load(ordering: .relaxed) == 2)
        }
    }

    @Test func schedulesAreKeptForDashboardsAndObeyedOnce() async throws {
        let runs = Mutex<[JSON?]>([])
        let code = code([
            (
                "resumen",
                { call in
                    runs.withLock { $0.append(call.payload["params"]) }
                    return CloudAnswer("hecho")
                }
            )
        ])
        try await withServer(nodes: 2, cloud: code, { $0.jobs.poll = 0.1 }) { server in
            let client = server.client
            let missing = try await client.send(
                "POST", "/cloud_code/jobs", ["job_schedule": ["jobName": "nada"]], master: true)
            #expect(missing.code == 141)
            for bad: JSON in [
                ["timeZone": "Europe/Atlantis"], ["cron": "0 0 30 2 *"], ["repeatMinutes": -1],
                ["timeOfDay": "mediodía"],
                ["startAfter": "mañana"],
            ] {
                let reply = try await client.send("POST", "/cloud_code/jobs", ["job_schedule": bad], master: true)
                #expect(reply.code == 142)
            }
            // As a dashboard writes it: at once, and not again.
            let made = try await client.send(
                "POST", "/cloud_code/jobs",
                [
                    "job_schedule": [
                        "jobName": "resumen", "params": "{\"dias\":3}", "daysOfWeek": [1, 1, 1, 1, 1, 1, 1],
                    ]
                ],
                master: true)
            #expect(made.status == 201)
            let id = try #require(made.objectId)
            // And one whose time comes in years.
            try await client.must(
                "POST", "/cloud_code/jobs",
                ["job_schedule": ["jobName": "resumen", "startAfter": "2090-01-01T00:00:00.000Z"]], master: true)
            let hasRun = try await eventually(server.loop) {
                try await server.all("_JobStatus").contains { $0["status"] == "succeeded" }
            }
            #expect(hasRun)
            let status = try await server.all("_JobStatus")
            #expect(status.map { $0["source"] } == ["schedule"])
            #expect(runs.withLock { $0 } == [["dias": 3]])
            let names = try await client.send("GET", "/cloud_code/jobs/data", master: true)
            #expect(names.json == ["in_use": ["resumen", "resumen"], "jobs": ["resumen"]])
            let all = try await client.send("GET", "/cloud_code/jobs", master: true)
            let one = all.array.compactMap(\.object).first { $0["objectId"] == .string(id) }
            #expect(one?["params"] == "{\"dias\":3}")
            #expect(one?["lastRun"]?.number ?? 0 > 1_700_000_000)
            try await client.must(
                "PUT", "/cloud_code/jobs/\(id)", ["job_schedule": ["description": "cada día"]], master: true)
            try await client.must("DELETE", "/cloud_code/jobs/\(id)", master: true)
            let gone = try await client.send("GET", "/classes/_JobSchedule/\(id)", master: true)
            #expect(gone.summary == "404/101")
            #expect(runs.withLock(\.count) == 1)
        }
    }
}
