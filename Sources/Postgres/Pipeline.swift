/// What one connection in pipeline mode has sent and awaits: the bookkeeping alone, without libpq.
///
/// A request is a few steps (statements ahead of it, a Parse, the statement itself); requests go out in rounds, each
/// ended by a sync. PostgreSQL answers every step in order. The first error skips whatever follows in its round, and a
/// round is one implicit transaction: so the last request of a round ends only with the round, which is what commits.
struct Pipeline<Request, Result> {
    /// What came from the server.
    enum Event {
        /// A step succeeded; only the result of a request's last step is kept.
        case result(Result?)
        case failed(PostgresError)
        /// A step was skipped because of an earlier error in its round.
        case skipped
        /// The round has ended.
        case synced
    }

    enum Ending {
        case succeeded(Result)
        case failed(PostgresError)
        /// Not run, since one before it in its round failed.
        case skipped
    }

    /// What a connection is to do after an event: hand a request back.
    struct Finished {
        let request: Request
        let ending: Ending
        /// Whether its Parse succeeded; nil where it had none.
        let parsed: Bool?
    }

    private struct Entry {
        let request: Request
        let steps: Int
        /// Which of the steps is the Parse.
        let parseStep: Int?
        var done = 0
        var endsRound = false
        var parsed = false
        var result: Result?
        var error: PostgresError?
    }

    private var entries = Queue<Entry>()
    /// How many requests the round that is open has.
    private(set) var roundLength = 0

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var first: Request? { entries.first?.request }
    /// The error of the first request, where it has failed but not ended.
    var firstError: PostgresError? { entries.first?.error }
    /// All requests that have not ended, first to last.
    var requests: [Request] { entries.elements.map(\.request) }
    /// Whether the next result is one to keep.
    var awaitsLastStep: Bool { entries.first.map { $0.done == $0.steps - 1 } ?? false }

    /// A request was sent. It has at least one step.
    mutating func append(_ request: Request, steps: Int, parseStep: Int? = nil) {
        entries.append(Entry(request: request, steps: steps, parseStep: parseStep))
        roundLength += 1
    }

    /// Ends the round; false where there is none to end.
    mutating func endRound() -> Bool {
        guard roundLength > 0 else { return false }
        entries.last?.endsRound = true
        roundLength = 0
        return true
    }

    /// Takes in what the server sent next, while no round is open. Answers the request that has ended with it, if any.
    mutating func receive(_ event: Event) -> Finished? {
        guard let first = entries.first else { return nil }
        switch event {
        case .result(let result):
            if first.done == first.parseStep { entries.first?.parsed = true }
            if first.done == first.steps - 1 { entries.first?.result = result }
            entries.first?.done += 1
        case .failed(let error):
            // An error when all steps are done is that of the commit at the round's end.
            if first.done < first.steps { entries.first?.done += 1 }
            if first.error == nil { entries.first?.error = error }
        case .skipped:
            entries.first?.done += 1
        case .synced:
            return finishFirst()
        }
        // A write is not acknowledged before the round's end: only there is it committed.
        guard let first = entries.first, !first.endsRound, first.done >= first.steps else { return nil }
        return finishFirst()
    }

    mutating func removeAll() -> [Request] {
        roundLength = 0
        return entries.removeAll().map(\.request)
    }

    private mutating func finishFirst() -> Finished? {
        guard let entry = entries.popFirst() else { return nil }
        let ending: Ending
        if let error = entry.error {
            ending = .failed(error)
        } else if entry.done >= entry.steps, let result = entry.result {
            ending = .succeeded(result)
        } else {
            ending = .skipped
        }
        return Finished(request: entry.request, ending: ending, parsed: entry.parseStep.map { _ in entry.parsed })
    }
}
