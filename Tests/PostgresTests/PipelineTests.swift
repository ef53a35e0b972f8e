import Testing

@testable import Postgres

/// The bookkeeping of a pipeline against a model of the server, for generated rounds.
@Suite struct PipelineTests {
    /// What a request's steps are to come to.
    private struct Plan {
        let steps: Int
        let parseStep: Int?
        /// The step that fails; `steps` for the commit at the round's end.
        let failing: Int?
    }

    private typealias Book = Pipeline<Int, Int>

    /// What must be told of a request in the end.
    private enum Expected: Equatable { case rows(Int), failed(Int), skipped }

    @Test(arguments: 0..<500) func everyRequestEndsOnceInOrderAndAsTheServerMeantIt(seed: UInt64) {
        var random = SplitMix(state: seed)
        var book = Book()
        var plans: [Plan] = []
        var rounds: [Range<Int>] = []
        var finished: [(request: Int, ending: Expected, parsed: Bool?)] = []
        // Rounds answered so far; several may be under way at once.
        var answered = 0

        func take(_ event: Book.Event) {
            guard let end = book.receive(event) else { return }
            switch end.ending {
            case .succeeded(let value): finished.append((end.request, .rows(value), end.parsed))
            case .failed(let error): finished.append((end.request, .failed(error.position ?? -1), end.parsed))
            case .skipped: finished.append((end.request, .skipped, end.parsed))
            }
        }
        func send() {
            let start = plans.count
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let steps = Int.random(in: 1...4, using: &random)
                let isLast = Bool.random(using: &random)
                plans.append(
                    Plan(
                        steps: steps, parseStep: steps > 1 && Bool.random(using: &random) ? steps - 2 : nil,
                        failing: Int.random(in: 0..<4, using: &random) == 0
                            ? Int.random(in: 0..<steps + (isLast ? 1 : 0), using: &random) : nil))
                book.append(plans.count - 1, steps: steps, parseStep: plans[plans.count - 1].parseStep)
            }
            rounds.append(start..<plans.count)
            #expect(book.roundLength == rounds[rounds.count - 1].count)
            let (ended, again) = (book.endRound(), book.endRound())
            #expect(ended && !again)
        }
        func answer() {
            let round = rounds[answered]
            answered += 1
            var hasFailed = false
            for request in round {
                let plan = plans[request]
                for step in 0..<plan.steps {
                    #expect(book.first == request)
                    #expect(book.awaitsLastStep == (step == plan.steps - 1))
                    if hasFailed {
                        take(.skipped)
                    } else if plan.failing == step {
                        hasFailed = true
                        take(.failed(Self.error(request)))
                    } else {
                        take(.result(step == plan.steps - 1 ? request * 10 : nil))
                    }
                }
            }
            if let last = round.last, !hasFailed, plans[last].failing == plans[last].steps {
                take(.failed(Self.error(last)))
            }
            take(.synced)
            #expect(finished.count == round.upperBound)
        }

        for _ in 0..<8 {
            send()
            while answered < rounds.count, Bool.random(using: &random) { answer() }
        }
        while answered < rounds.count { answer() }
        #expect(book.isEmpty)
        #expect(finished.map(\.request) == Array(plans.indices))
        for round in rounds {
            var hasFailed = false
            for request in round {
                let plan = plans[request]
                let (_, ending, parsed) = finished[request]
                let failsHere =
                    !hasFailed
                    && plan.failing.map { $0 < plan.steps || $0 == plan.steps && request == round.upperBound - 1 }
                        == true
                #expect(ending == (hasFailed ? .skipped : failsHere ? .failed(request) : .rows(request * 10)))
                let parsedBefore = plan.parseStep.map { step in !hasFailed && (!failsHere || (plan.failing ?? 0) > step)
                }
                #expect(parsed == parsedBefore)
                hasFailed = hasFailed || failsHere
            }
        }
    }

    @Test func whatIsLostIsHandedBackInOrder() {
        var book = Book()
        for request in 0..<5 {
            book.append(request, steps: 1)
            _ = book.endRound()
        }
        _ = book.receive(.result(0))
        let finished = book.receive(.synced)
        #expect(finished?.request == 0)
        #expect(book.requests == [1, 2, 3, 4])
        let lost = book.removeAll()
        #expect(lost == [1, 2, 3, 4])
        #expect(book.isEmpty)
        // What comes after that belongs to nobody.
        let late = book.receive(.synced)
        #expect(late == nil)
    }

    private static func error(_ request: Int) -> PostgresError {
        var error = PostgresError(.server, "refused")
        error.position = request
        return error
    }
}

/// A generator whose sequence its seed tells (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
