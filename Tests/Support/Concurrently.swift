import Core

extension Loop {
    /// Starts `count` tasks on this worker at once and waits for all; results in the order of their numbers.
    public func concurrently<R>(_ count: Int, _ body: @escaping (Int) async throws -> R) async -> [Result<R, any Error>]
    {
        let results = Results<R>(count)
        let done = Waiter()
        for index in 0..<count {
            spawn {
                do { results.set(index, .success(try await body(index))) } catch { results.set(index, .failure(error)) }
                if results.left == 0 { done.resume() }
            }
        }
        if count > 0 { try? await done.wait() }
        return results.all.compactMap { $0 }
    }

    private final class Results<R> {
        var all: [Result<R, any Error>?]
        var left: Int
        init(_ count: Int) {
            all = Array(repeating: nil, count: count)
            left = count
        }
        func set(_ index: Int, _ result: Result<R, any Error>) {
            all[index] = result
            left -= 1
        }
    }
}

/// Waits until `condition` holds; false when it does not within a minute.
public func eventually(_ loop: Loop, _ condition: () async throws -> Bool) async throws -> Bool {
    // By the clock: to find out may itself take long.
    let end = Loop.monotonicNow() + 60_000_000_000
    repeat {
        if try await condition() { return true }
        try await loop.sleep(nanoseconds: 10_000_000)
    } while Loop.monotonicNow() < end
    return try await condition()
}

/// What a test waited for did not come within a minute.
public struct Late: Error {}

/// Waits until `condition` holds.
/// - Throws: `Late` when it does not within a minute: what waits without a bound hides what it waits for.
public func until(_ loop: Loop, _ condition: () async throws -> Bool) async throws {
    guard try await eventually(loop, condition) else { throw Late() }
}

/// The error that `body` ends with; nil when it ends without one. Unlike `#expect(throws:)` it stays on the worker.
public func failure<R>(of body: () async throws -> R) async -> (any Error)? {
    do {
        _ = try await body()
        return nil
    } catch { return error }
}
