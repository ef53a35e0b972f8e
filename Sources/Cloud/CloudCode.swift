import Options
import Wire

/// One hook, function or job of an application.
public struct CloudHandler: Sendable {
    /// For the log: who provides it and where, such as `main.js beforeSave Temas`.
    public let name: String
    /// The hook and the write that calls it are one transaction: what it reads and writes is kept or undone with it.
    public var inTransaction = false
    /// It is told the user as an object, which takes a read; else only who it is by the session.
    public var needsUser = true
    /// Before a save it is told the object as it would become; else only what it was and what is to be changed.
    public var needsObject = true
    /// Seconds that a call may take; nil: as the server's options say.
    public var timeLimit: Double?
    /// Of a function: what its provider says of it, for whoever lists them.
    public var description = JSONObject()
    /// `run` only hands calls over to threads of its provider's own, and waits with the call's `waiter`: it is called on
    /// the worker, in the caller's own task, which spares each call a task and two changes of thread.
    public var handsOver = false
    /// Runs wherever its provider runs code; ends soon after its task is cancelled.
    ///
    /// It throws a `ParseError` for the client; whoever provides it turns every other fault into one (141).
    public let run: @Sendable (CloudCall) async throws -> CloudAnswer

    public init(_ name: String, run: @escaping @Sendable (CloudCall) async throws -> CloudAnswer) {
        self.name = name
        self.run = run
    }
}

/// What one provider (Swift, a JavaScript file, webhooks) listens to and offers: a value, swapped whole.
public struct CloudCode: Sendable {
    public var triggers: [Trigger: [CloudHandler]] = [:]
    public var functions: [String: CloudHandler] = [:]
    public var jobs: [String: CloudHandler] = [:]
    /// When jobs are to run by themselves, by the names of jobs.
    public var schedules: [String: CloudSchedule] = [:]
    /// Classes that are made at the start. Counts where it is there before the server starts.
    public var classes: [CloudClass] = []
    /// Run at each start of a node, before it listens, with the master's rights.
    public var starts: [CloudHandler] = []
    public var pages: [CloudPage] = []
    /// What a browser is shown where a page fails: told the status, the sentence, and the languages that were asked for.
    public var failedPage: (@Sendable (Int, String, String?) -> CloudAnswer)?
    /// The cookie in which browsers keep the session that pages are asked with.
    public var sessionCookie: String?
    /// Paths of pages: where somebody logs in, and where he asks for a mail to choose another password.
    public var accountPages: (logIn: String, recovery: String)?
    /// Says which language somebody reads: told `user`, answers a text or nothing.
    public var language: CloudHandler?
    /// How often clients may ask for routes, beside the option `rateLimit`.
    public var rateLimits: [ServerOptions.RateLimit] = []
    /// Requests with a session leave word of it, for whoever asks who is there.
    public var notesPresence = false

    public init() {}
}

/// When a job is to run again and again; one run at a time, on one node.
public enum CloudSchedule: Sendable, Equatable {
    /// Five fields as in crontab(5), read by the clocks of a time zone such as `Europe/Madrid`.
    case cron(String, timeZone: String)
    /// So many minutes from one start to the next, counted from 1970: every 15 is at :00, :15, :30 and :45.
    case minutes(Int)
}
