import Wire

/// What is asked for: a job that is not in the queue yet.
public struct NewJob: Sendable {
    public enum Priority: Int64, Sendable { case low = -1, normal, high }

    /// Which `JobKind` does it.
    public var kind: String
    /// What that one is told; it stays in the database until the job is forgotten, so no secrets.
    public var payload: JSONObject
    /// While a job waits or runs, no second one is made with the same key.
    public var key: String?
    public var priority = Priority.normal
    /// It begins this much later.
    public var delay = Duration.zero
    /// How often it is tried, in place of what its kind says.
    public var attempts: Int?

    public init(_ kind: String, _ payload: JSONObject = JSONObject(), key: String? = nil, delay: Duration = .zero) {
        self.kind = kind
        self.payload = payload
        self.key = key
        self.delay = delay
    }
}

/// One run of a job, as its kind sees it.
public struct Job: Sendable {
    public let id: Int64
    public let kind: String
    public let payload: JSONObject
    public let key: String?
    /// 1 for the first run; counts on when it failed, was given back, or its node went away.
    public let run: Int
    /// How often it has failed so far.
    public let failures: Int
    let maxAttempts: Int?
    /// How often the node that ran it went away.
    let losses: Int
    let cancelRequested: Bool
    /// Since it was enqueued, when it was taken.
    let age: Duration
}

/// How a job ended for good.
public enum JobEnding: Sendable, Equatable {
    /// With its last message.
    case done(String?)
    /// It failed for the last time, and why.
    case dead(String)
    case cancelled
}

/// A failure that says whether trying again helps. Any other error is one that it may help with.
public struct JobFailure: Error, Sendable, CustomStringConvertible {
    public enum Retry: Sendable, Equatable {
        /// After the kind's usual pause.
        case usual
        case after(Duration)
        /// Trying again would not help.
        case never
    }

    /// Kept in the database and shown to operators: no secrets.
    public let description: String
    public let retry: Retry

    public init(_ description: String, retry: Retry = .usual) {
        self.description = description
        self.retry = retry
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
    var inNanoseconds: UInt64 { UInt64(max(0, inSeconds) * 1e9) }
}
