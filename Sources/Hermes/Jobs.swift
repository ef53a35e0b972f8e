internal import Cloud
internal import Jobs
internal import Wire

/// When a job runs by itself: one run at a time, on one node. A run that is due while the one before goes on is left
/// out; one that no node was there for is made up for once.
public struct Schedule: Sendable {
    let schedule: CloudSchedule

    /// Every day at a time, `07:00`, by the clocks of a time zone, `Europe/Madrid`. A time that the clocks skip when they
    /// are set forward happens at that moment; one that comes twice when they are set back happens once.
    public static func day(at time: String, in timeZone: String = "UTC") -> Schedule {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0..<24).contains(hour),
            (0..<60).contains(minute)
        else { preconditionFailure("\"\(time)\" is no time of the day: write it as 07:00") }
        return .cron("\(minute) \(hour) * * *", in: timeZone)
    }

    /// So many minutes from one start to the next, counted from 1970: every 15 is at :00, :15, :30 and :45.
    public static func minutes(_ count: Int) -> Schedule {
        precondition(count > 0, "a job cannot run every \(count) minutes")
        return Schedule(schedule: .minutes(count))
    }

    /// So many hours.
    public static func hours(_ count: Int) -> Schedule { .minutes(count * 60) }

    /// As crontab(5) has it, five fields: minute, hour, day of the month, month, day of the week; read by the clocks of
    /// a time zone. An expression or a zone that there is not ends the program here, with a message that says so.
    public static func cron(_ expression: String, in timeZone: String = "UTC") -> Schedule {
        do throws(Cron.Fault) { _ = try Cron(expression) } catch { preconditionFailure(error.description) }
        precondition(CivilZone(timeZone) != nil, "there is no time zone \(timeZone)")
        return Schedule(schedule: .cron(expression, timeZone: timeZone))
    }
}

/// One run of a job, with the master's rights.
public final class JobRequest: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// What it was started with.
    public let params: [String: Value]

    init(_ call: CloudCall, name: String) {
        details = RequestDetails(call, name: name)
        params = (call.payload["params"]?.object ?? JSONObject()).values
    }

    /// Of the run: its object of `_JobStatus`.
    public var id: String { details.call.payload["jobId"]?.string ?? "" }

    /// A job runs in the server's own name.
    public var isMaster: Bool { true }

    /// Tells how far it is: the message of its `_JobStatus`.
    public func report(_ message: String) async throws {
        do { try await details.call.report?(message) } catch let error as Wire.ParseError { throw ParseError(error) }
    }

    /// Keeps or undoes as one what is asked for within: see ``Database/transaction(_:)``.
    @discardableResult
    public func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (Database) async throws -> Result
    ) async throws -> Result {
        try await asMaster.transaction(body)
    }
}

extension Hermes {
    /// A job: started with `POST /jobs/NAME` by the master key, with ``Database/startJob(_:_:)``, and by its schedule.
    ///
    /// Its row in the database outlives this process: where a node dies, another one runs the job again from its start,
    /// so what it does must bear being done twice.
    ///
    ///     app.job("resumen", every: .day(at: "07:00", in: "Europe/Madrid")) { job in
    ///         let temas = try await job.asMaster.count(Query(Tema.self))
    ///         try await job.report("\(temas) temas")
    ///     }
    ///
    /// - Parameters:
    ///   - name: how it is started and shown.
    ///   - schedule: nil: only when it is started.
    ///   - timeLimit: how long a run may take; nil: as the server's options say.
    ///   - body: what it does.
    public func job(
        _ name: String, every schedule: Schedule? = nil, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (JobRequest) async throws -> Void
    ) {
        let hook = "job \(name)"
        let handler = CloudHandler(hook, timeLimit: timeLimit) { call in
            let request = JobRequest(call, name: hook)
            try await body(request)
            return request.details.answer()
        }
        register {
            $0.jobs[name] = handler
            $0.schedules[name] = schedule?.schedule
        }
    }
}
