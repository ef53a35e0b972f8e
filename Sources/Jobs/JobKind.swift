import Store
import Wire

/// How jobs of one kind are done, and how often they are tried.
///
/// Lives on one worker; its closures run there, and may wait as a request may. Nothing promises that a run is the only
/// one: a node that was thought dead may still be at work, and a job may run again though it was done when its node
/// died before it could say so. So a run must bear being repeated.
public struct JobKind {
    public let name: String
    /// How often a job may fail; nil: until `givesUpAfter`.
    public var attempts: Int? = 5
    /// The age at which a job that has failed is not tried again.
    public var givesUpAfter: Duration?
    public var backoff = JobBackoff()
    /// A run that takes longer is cancelled, and has failed; nil: no limit.
    public var timeLimit: Duration? = .seconds(900)
    /// How many of them a node runs at the same time; nil: as many as it runs jobs. For kinds that wait long for others,
    /// so that they leave room.
    public var atOnce: Int?
    /// Does it; answers its last message. It must end soon after its task is cancelled.
    public let run: (JobRun) async throws -> String?
    /// Called in the transaction that ends the job for good. It may be called again where that transaction lost a race.
    public var ended: ((Job, JobEnding, Operation) async throws -> Void)?

    public init(_ name: String, run: @escaping (JobRun) async throws -> String?) {
        self.name = name
        self.run = run
    }
}

/// The pauses between attempts: the first one, then each twice as long as the one before, up to the longest; each
/// varied by a quarter either way, so that jobs which failed together do not come back together.
public struct JobBackoff: Sendable {
    public var first: Duration
    public var longest: Duration

    public init(first: Duration = .seconds(10), longest: Duration = .seconds(3600)) {
        self.first = first
        self.longest = longest
    }

    /// The pause after that many failures, from 1.
    public func pause(after failures: Int) -> Duration {
        let doubled = first.inSeconds * Double(UInt64(1) << UInt64(min(max(failures - 1, 0), 40)))
        return .seconds(min(doubled, longest.inSeconds) * Double.random(in: 0.75...1.25))
    }
}

/// What a run of a job has at hand.
public struct JobRun {
    public let job: Job
    /// This worker's way to the data.
    public let store: Store
    let runner: JobRunner

    /// Keeps a line about how far it is, for those who look at the queue. What is told elsewhere in the same
    /// transaction cannot come after what the job's end tells.
    public func report(_ message: String, in operation: Operation) async throws {
        try await runner.report(message, of: job, in: operation)
    }
}
