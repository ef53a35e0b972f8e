import Cloud
import Core
import Jobs
import Store
import Wire

/// A job of cloud code on the queue: what its row holds, and its object of `_JobStatus`, which tells how far it is.
struct ParseJob {
    /// The kind of its rows.
    static let kind = "parse"

    /// Of `_JobStatus`.
    static let statusFields: [String: FieldType] = [
        "jobName": .string, "source": .string, "status": .string, "message": .string, "finishedAt": .date,
    ]

    let name: String
    /// The id of its `_JobStatus`.
    let id: String
    let payload: JSONObject

    init(_ job: Job) {
        payload = job.payload
        name = job.payload["jobName"]?.string ?? ""
        id = job.payload["jobId"]?.string ?? ""
    }
}

extension API {
    /// Puts a job into the queue, and its status beside it.
    ///
    /// - Parameter schedule: whose run it is; one at a time.
    /// - Returns: the id of its status; nil where the schedule's last run waits or runs still.
    /// - Throws: 141 where there is no such job.
    @discardableResult
    func enqueueJob(
        _ name: String, _ parameters: JSONObject, schedule: String? = nil, in operation: Operation
    ) async throws -> String? {
        guard cloud.code.jobs[name] != nil else { throw ParseError(141, "Invalid job.") }
        try await prepare("_JobStatus", ParseJob.statusFields, operation)
        return try await operation.inTransaction { operation in
            let master = try operation.nested(as: .master)
            let status = JSONObject([
                ("jobName", .string(name)), ("source", .string(schedule == nil ? "api" : "schedule")),
                ("status", "running"), ("ACL", [:]),
            ])
            let id = try await store.create("_JobStatus", status, in: master).objectId
            var payload = JSONObject([
                ("jobName", .string(name)), ("jobId", .string(id)), ("params", .object(parameters)),
                ("headers", .object(API.harmless(operation.request.headers?.members ?? JSONObject()))),
            ])
            if let address = operation.request.address { payload["ip"] = .string(address) }
            let job = NewJob(ParseJob.kind, payload, key: schedule.map(JobSchedule.key))
            guard try await operation.enqueue(job) == nil else { return id }
            try await store.delete("_JobStatus", objectId: id, in: master)
            return nil
        }
    }

    /// Gives a class all of its fields at once: it cannot grow while several jobs end in it.
    func prepare(_ className: String, _ fields: [String: FieldType], _ operation: Operation) async throws {
        let known = try await operation.schema()[className]?.fields ?? [:]
        let missing = fields.filter { known[$0.key] == nil }
        guard !missing.isEmpty else { return }
        _ = try await store.changeSchema(in: operation.nested(as: .master)) { catalogue, transaction in
            try await catalogue.ensure(className, fields: missing, in: transaction)
        }
    }

    /// What lies in the database for a while holds nothing that lets anybody in.
    private static func harmless(_ headers: JSONObject) -> JSONObject {
        let secret = [
            "authorization", "cookie", "proxy-authorization", "x-parse-session-token", "x-parse-master-key",
            "x-parse-maintenance-key", "x-parse-rest-api-key", "x-parse-client-key", "x-parse-javascript-key",
            "x-parse-windows-key",
        ]
        return JSONObject(headers.members.filter { !secret.contains($0.key) })
    }

    // MARK: doing them

    /// How the queue does jobs of cloud code: once, as the reference does; again only when its node went away.
    var jobKind: JobKind {
        var kind = JobKind(ParseJob.kind) { run in try await self.run(run) }
        kind.attempts = 1
        // Cloud code's own limit, so that the message says so.
        kind.timeLimit = nil
        kind.ended = { job, ending, operation in try await self.end(ParseJob(job), ending, operation) }
        return kind
    }

    private func run(_ run: JobRun) async throws -> String? {
        cloud.refresh()
        let job = ParseJob(run.job)
        guard let handler = cloud.code.jobs[job.name] else { throw JobFailure("Invalid job.", retry: .never) }
        let operation = store.operation(as: .master)
        guard let caller = OperationCaller(self, operation), let worker = store.database.loop.worker else {
            throw CancellationError()
        }
        var endsByItself = false
        defer { caller.end(byItself: endsByItself) }
        if run.job.run > 1 { try await setStatus(job, [("status", "running")]) }
        let reporter = JobReporter(worker: worker, api: self, run: run)
        var call = CloudCall(payload: job.payload, sessionToken: nil, caller: caller) { text in
            try await reporter.report(text)
        }
        call.publicURL = options.publicURL
        let asked = call
        let limit = handler.timeLimit ?? options.jobs.timeLimit
        do {
            let answer = try await cloud.run(handler, asked, atMost: limit)
            endsByItself = true
            return answer.body?.string
        } catch is CloudDispatch.TimeIsUp {
            throw JobFailure("\(handler.name) took longer than \(limit) s and was stopped.", retry: .never)
        }
    }

    fileprivate func report(_ text: String, _ run: JobRun) async throws {
        // The job's row is locked first, and only while it runs: its end comes after this, or this comes too late.
        try await store.operation(as: .master).inTransaction { operation in
            try await run.report(text, in: operation)
            try await self.setStatus(ParseJob(run.job), [("message", .string(text))], in: operation)
        }
    }

    private func end(_ job: ParseJob, _ ending: JobEnding, _ operation: Operation) async throws {
        var status: [(key: String, value: JSON)] = [
            (
                "finishedAt",
                ["__type": "Date", "iso": .string("\(Wire.Timestamp.now)")]
            )
        ]
        var message: String?
        switch ending {
        case .done(let last):
            status.append(("status", "succeeded"))
            message = last
        case .dead(let reason):
            status.append(("status", "failed"))
            message = reason
        case .cancelled:
            status.append(("status", "failed"))
            message = "The job was cancelled."
        }
        // What was thrown and is no text leaves the last message as it is.
        if let message, !message.isEmpty { status.append(("message", .string(message))) }
        try await setStatus(job, status, in: operation)
    }

    private func setStatus(
        _ job: ParseJob, _ fields: [(key: String, value: JSON)], in operation: Operation? = nil
    ) async throws {
        do {
            _ = try await store.update(
                "_JobStatus", objectId: job.id, JSONObject(fields), in: operation ?? store.operation(as: .master))
        } catch let error as ParseError where error.code == 101 {
            // Somebody has deleted it.
        }
    }

    // MARK: schedules

    /// The schedules of this node's jobs: those that the code has itself, and those of `_JobSchedule`.
    func dueSchedules() async throws -> [JobSchedule] {
        cloud.refresh()
        guard !cloud.code.jobs.isEmpty else { return [] }
        return try await ownSchedules + storedSchedules()
    }

    private var ownSchedules: [JobSchedule] {
        cloud.code.schedules.compactMap { job, schedule in
            let name = "code:\(job)"
            let next: (Int64) -> Int64?
            switch schedule {
            case .cron(let text, let zoneName):
                guard let cron = try? Cron(text), let zone = CivilZone(zoneName) else {
                    Log.shared.error(
                        "a job's schedule cannot be read",
                        ["job": .text(job), "cron": .text(text), "zone": .text(zoneName)])
                    return nil
                }
                next = { cron.next(after: $0, in: zone) }
            case .minutes(let minutes):
                let step = Int64(max(1, minutes)) * 60_000
                next = { ($0 / step + 1) * step }
            }
            return JobSchedule(name: name, definition: "\(schedule)", next: next) { operation in
                try await self.enqueueJob(job, JSONObject(), schedule: name, in: operation)
            }
        }
    }

    private func storedSchedules() async throws -> [JobSchedule] {
        try await readSchedules(in: store.operation(as: .master)).compactMap { object in
            guard let id = object["objectId"]?.string, let job = object["jobName"]?.string, cloud.code.jobs[job] != nil,
                // Whoever writes past /cloud_code may write what makes no sense.
                let times = try? ScheduleTimes(object)
            else { return nil }
            let name = "_JobSchedule:\(id)"
            let parameters =
                object["params"]?.string.flatMap { try? JSONParser.parse(Array($0.utf8)).object }
                ?? object["params"]?.object ?? JSONObject()
            return JobSchedule(
                name: name, definition: times.definition, next: { times.next(after: $0) },
                first: { times.first(at: $0) }
            ) { operation in
                try await self.enqueueJob(job, parameters, schedule: name, in: operation)
                let seconds = Double(Wire.Timestamp.now.milliseconds / 1000)
                _ = try await self.store.update(
                    "_JobSchedule", objectId: id, JSONObject([("lastRun", .number(seconds))]), in: operation)
            }
        }
    }
}

/// Carries a job's messages to the worker of its runner.
///
/// - Safety: unchecked, because `api` and `run` are touched on their worker alone: it is made there, and `report` goes
///   there first.
private final class JobReporter: @unchecked Sendable {
    private let worker: Worker
    private let api: API
    private let run: JobRun

    init(worker: Worker, api: API, run: JobRun) {
        self.worker = worker
        self.api = api
        self.run = run
    }

    func report(_ text: String) async throws {
        try await worker.run { _, _ in try await self.api.report(text, self.run) }
    }
}

extension Wire.Timestamp {
    static var now: Self { Self(milliseconds: Core.Timestamp.millisecondsNow()) }
}
