import Core

/// A question to the database that all who ask it at one moment share: one is under way at a time.
///
/// Whoever asks gets an answer that was sought after the asking; so those who come while one is under way share the
/// next. Under any load a worker thus has at most one such question at the database. Cancelling a task that asks
/// leaves the others their answer.
final class SharedQuestion<Answer> {
    private final class Asker {
        let waiter = Waiter()
        var result: Result<Answer, any Error>?
    }

    private let loop: Loop
    private var askers: [Asker] = []
    private var isUnderWay = false

    init(loop: Loop) { self.loop = loop }

    /// - Parameter seek: finds the answer; the same for all who ask.
    func answer(_ seek: @escaping () async throws -> Answer) async throws -> Answer {
        let asker = Asker()
        askers.append(asker)
        if !isUnderWay { begin(seek) }
        try await asker.waiter.wait()
        guard let result = asker.result else { throw CancellationError() }
        return try result.get()
    }

    private func begin(_ seek: @escaping () async throws -> Answer) {
        isUnderWay = true
        // Not on an asker's task, whose client may go away.
        loop.spawn { [self] in
            let served = askers
            askers = []
            let result: Result<Answer, any Error>
            do { result = .success(try await seek()) } catch { result = .failure(error) }
            for asker in served {
                asker.result = result
                asker.waiter.resume()
            }
            isUnderWay = false
            if !askers.isEmpty { begin(seek) }
        }
    }
}
