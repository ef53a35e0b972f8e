import Jobs
import Store
import Wire

/// Parse's jobs and their schedules over HTTP.
extension API {
    /// `POST /jobs/:name`, and `POST /jobs` with the name in the body: answered once the job is in the queue.
    func startJob(_ given: String?, _ request: Request) async throws -> Answer {
        let name = given ?? request.body["jobName"]?.string ?? ""
        var parameters = request.body
        for (name, value) in request.parameters { parameters[name] = value }
        let id = try await enqueueJob(name, parameters, in: request.operation)
        return Answer(headers: [("X-Parse-Job-Status-Id", id ?? "")]) { out in out.raw("{}") }
    }

    /// `DELETE /jobs/:id`, the id of a `_JobStatus`; the reference has no such route. Asks for the end of a job that
    /// waits or runs; its status tells when it has ended.
    func cancelJob(_ id: String, _ request: Request) async throws -> Answer {
        let job = try await JobQueue.find(ParseJob.kind, where: "jobId", is: id, in: request.operation)
        guard let job, try await JobQueue.cancel(job, in: request.operation) else {
            throw ParseError(101, "No job with this id waits or runs.")
        }
        return .empty
    }

    // MARK: schedules

    /// `GET /cloud_code/jobs`: all schedules, as a list.
    func jobSchedules(_ request: Request) async throws -> Answer {
        let all = try await readSchedules(in: request.operation)
        return Answer(json: .array(all.map { .object($0) }))
    }

    /// `GET /cloud_code/jobs/data`: the jobs that there are, and those that have a schedule.
    func jobNames(_ request: Request) async throws -> Answer {
        let scheduled = try await readSchedules(in: request.operation).compactMap { $0["jobName"] }
        let names = cloud.code.jobs.keys.sorted()
        return Answer(json: ["in_use": .array(scheduled), "jobs": .array(names.map { .string($0) })])
    }

    func createJobSchedule(_ request: Request) async throws -> Answer {
        var body = try checkedSchedule(request)
        if body["startAfter"] == nil {
            body["startAfter"] = .string("\(Timestamp.now)")
        }
        try await prepare("_JobSchedule", ["lastRun": .number], request.operation)
        return answer(try await store.create("_JobSchedule", body, in: request.operation))
    }

    func updateJobSchedule(_ id: String, _ request: Request) async throws -> Answer {
        let body = try checkedSchedule(request)
        return answer(try await store.update("_JobSchedule", objectId: id, body, in: request.operation))
    }

    private func checkedSchedule(_ request: Request) throws(ParseError) -> JSONObject {
        guard case .object(let body)? = request.body["job_schedule"] else {
            throw ParseError(107, "job_schedule must be an object.")
        }
        if let name = body["jobName"]?.string, !name.isEmpty, cloud.code.jobs[name] == nil {
            throw ParseError(141, "Cannot Schedule a job that is not deployed")
        }
        _ = try ScheduleTimes(body)
        return body
    }

    func readSchedules(in operation: Operation) async throws -> [JSONObject] {
        var query = Query(className: "_JobSchedule")
        query.limit = 10_000
        let found = try await store.find(query, in: operation).json()
        return found.compactMap(\.object)
    }
}
