import Core

/// One statement that a task waits for, from the call to its outcome.
final class Command {
    /// Plain statements that go ahead of it in the same round trip, such as BEGIN.
    let prefix: [String]
    let statement: Statement?
    let parameters: [Parameter]
    /// Resumed when `outcome` is there.
    let waiter = Waiter()
    /// Called instead, for what no task waits for.
    let onDone: ((Outcome) -> Void)?
    private(set) var outcome: Outcome?
    /// Nobody waits for the outcome any more.
    var isAbandoned = false

    /// Nanoseconds for which it was the first in flight on its connection, once it has ended there.
    var ran: UInt64 = 0

    /// It runs in a transaction that was asked to be read-only.
    var isReadOnly = false

    // What the shared pool keeps of a read.
    /// When it was handed in, or moved.
    var since: UInt64 = 0
    /// How many connections have it in flight.
    var copies = 0
    /// How many times it failed, though not by its own fault.
    var failures = 0
    /// How many times it was skipped, because of another's error.
    var skips = 0
    /// How many connections ended while it was running on them.
    var kills = 0
    /// How often it was stuck behind a slow one and sent once more elsewhere.
    var moves = 0
    /// It runs for long itself, so there is no point in sending it elsewhere.
    var isSlow = false
    var isInBacklog = false
    /// It goes with the fast ones though its statement counts as slow, to see whether it is.
    var isTrial = false
    /// What its statement has cost so far.
    var cost: ReadCosts.Cost?
    /// Which reads of the connection that it was last sent on are answered in one piece with it.
    var group: UInt64 = 0
    /// What was added to its connection's load.
    var estimate: Double = 0

    enum Outcome {
        case rows(Rows)
        /// `wasStale`: the statement had been prepared earlier, so preparing it again may help.
        case failed(PostgresError, wasStale: Bool)
        /// Not run, since one before it in the same round failed.
        case skipped
    }

    init(
        prefix: [String] = [], _ statement: Statement?, _ parameters: [Parameter] = [],
        onDone: ((Outcome) -> Void)? = nil
    ) {
        self.prefix = prefix
        self.statement = statement
        self.parameters = parameters
        self.onDone = onDone
    }

    var isDone: Bool { outcome != nil || isAbandoned }

    /// The first outcome counts.
    func finish(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        if let onDone { onDone(outcome) } else { waiter.resume() }
    }

    func fail(_ error: PostgresError) { finish(.failed(error, wasStale: false)) }

    /// The rows, once the waiter was resumed.
    func rows() throws -> Rows {
        switch outcome {
        case .rows(let rows): return rows
        case .failed(let error, _): throw error
        case .skipped, nil: throw PostgresError(.connectionLost(mayHaveRun: false), "the statement was not run")
        }
    }
}
