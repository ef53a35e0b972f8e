import Glibc
import Hermes
import Testing

@Suite struct JobTests {
    /// The status of the one run of a job, once it has ended.
    private func ended(_ client: TestClient, _ name: String) async throws -> Value {
        for _ in 0..<6000 {
            let list = try await client.asMaster.get("classes/_JobStatus")
            let run = list["results"]?.array?.first { $0["jobName"]?.string == name }
            if let run, run["status"] != "running" { return run }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw ParseError(nil, "the job did not end")
    }

    @Test func aJobThatAFunctionStartsRunsOnceWithItsParameters() async throws {
        let app = Hermes()
        app.job("resumen") { job in
            try await job.report("empieza")
            try await job.transaction { t in try await t.save(Nota(texto: job.params["texto"]?.string)) }
            #expect(job.isMaster)
            #expect(!job.id.isEmpty)
            try await job.report("\(try await job.asMaster.count(Query(Nota.self))) notas")
        }
        app.function("empezar") { request in
            try await request.asMaster.startJob("resumen", ["texto": "hola"])
        }
        try await withApp(app) { client in
            let answer = try await client.post("functions/empezar")
            #expect(answer.status == 200, "\(answer.body)")
            let run = try await ended(client, "resumen")
            #expect(run["status"] == "succeeded")
            #expect(run["message"] == "1 notas")
        }
    }

    @Test func whatAJobThrowsIsItsMessage() async throws {
        let app = Hermes()
        app.job("falla") { _ in throw ParseError(4801, "no hay resumen") }
        try await withApp(app) { client in
            let answer = try await client.asMaster.post("jobs/falla")
            #expect(answer.status == 200, "\(answer.body)")
            let run = try await ended(client, "falla")
            #expect(run["status"] == "failed")
            #expect(run["message"] == "no hay resumen")
        }
    }

    @Test func aScheduleIsKept() async throws {
        let app = Hermes()
        let seen = Seen()
        app.job("resumen", every: .day(at: "07:00", in: "Europe/Madrid")) { _ in }
        app.job("minuto", every: .minutes(1)) { job in seen.add(job.id) }
        let began = time(nil) / 60
        try await withApp(app) { client in
            let run = try await ended(client, "minuto")
            #expect(run["status"] == "succeeded")
            #expect(run["source"] == "schedule")
            // One for each minute that has begun: mostly one, more where this test was kept waiting.
            let minutes = time(nil) / 60 - began
            #expect(seen.list.count >= 1 && seen.list.count <= minutes)
            #expect(Set(seen.list).count == seen.list.count)
        }
    }
}
