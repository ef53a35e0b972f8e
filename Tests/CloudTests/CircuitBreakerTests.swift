import Testing

@testable import Cloud

@Suite struct CircuitBreakerTests {
    /// What happens to a breaker of three failures and a pause of 100, and what becomes of it.
    private enum Step {
        /// A call asks at a time, and may go or not.
        case call(at: UInt64, goes: Bool)
        case failed(at: UInt64)
        case succeeded
        case abandoned(at: UInt64)
        case becomes(CircuitBreaker.State)
    }

    private func play(_ steps: [Step], from line: Int = #line) {
        var breaker = CircuitBreaker(threshold: 3, pause: 100)
        for (index, step) in steps.enumerated() {
            switch step {
            case .call(let time, let goes):
                let isRefused = breaker.refuses(at: time)
                let isAdmitted = breaker.admit(at: time)
                #expect(isAdmitted == goes && isRefused != goes, "step \(index) of line \(line)")
            case .failed(let time): breaker.failed(at: time)
            case .succeeded: breaker.succeeded()
            case .abandoned(let time): breaker.abandoned(at: time)
            case .becomes(let state): #expect(breaker.state == state, "step \(index) of line \(line)")
            }
        }
    }

    private let threeFailures: [Step] = (0..<3).flatMap { _ in [.call(at: 0, goes: true), .failed(at: 0)] }

    @Test func itOpensAfterSoManyFailuresInARow() {
        play(threeFailures.dropLast() + [.becomes(.closed)])
        play(threeFailures + [.becomes(.open(until: 100)), .call(at: 99, goes: false)])
    }

    @Test func anAnswerBetweenFailuresCountsFromTheStart() {
        play(
            (0..<10).flatMap { _ in
                [.call(at: 0, goes: true), .failed(at: 0), .call(at: 0, goes: true), .failed(at: 0), .succeeded]
            } + [.becomes(.closed)])
    }

    @Test func afterItsPauseOneCallFindsOut() {
        play(
            threeFailures + [
                .call(at: 100, goes: true), .becomes(.halfOpen), .call(at: 100, goes: false), .succeeded,
                .becomes(.closed), .call(at: 100, goes: true), .failed(at: 100), .becomes(.closed),
            ])
    }

    @Test func aFailureThenIsAnotherPause() {
        play(threeFailures + [.call(at: 100, goes: true), .failed(at: 130), .becomes(.open(until: 230))])
    }

    @Test func aCallThatIsGivenUpLeavesItToTheNext() {
        play(
            threeFailures + [
                .call(at: 100, goes: true), .abandoned(at: 110), .call(at: 110, goes: true), .succeeded,
                .becomes(.closed),
            ])
        play([.call(at: 0, goes: true), .abandoned(at: 0), .becomes(.closed)])
    }

    @Test func callsThatBeganBeforeItOpened() {
        // A late failure prolongs nothing, a late answer shows that the host is there.
        play(threeFailures + [.failed(at: 50), .becomes(.open(until: 100))])
        play(threeFailures + [.abandoned(at: 50), .becomes(.open(until: 100))])
        play(threeFailures + [.succeeded, .becomes(.closed)])
    }
}
