import Core
import Options
import Synchronization
import Wire

/// The isolates of one file of cloud code. One that has come to its end is replaced by a new one.
final class IsolatePool: Sendable {
    private struct State {
        var isolates: [Isolate] = []
        var turn = 0
        var number = 0
        /// All that the code has ever registered: an isolate that is being renewed will have it again.
        var handlers: [HandlerKey: [ServerOptions.RateLimit]] = [:]
        var changed: @Sendable () -> Void = {}
    }

    private let mainFile: String
    private let options: JavaScriptOptions
    private let state = Mutex(State())
    /// Sees to isolates that no longer answer, from outside of them.
    private let watchman = Worker(name: "js-watch")

    init(mainFile: String, options: JavaScriptOptions) {
        self.mainFile = mainFile
        self.options = options
    }

    /// Loads the code in as many isolates as wanted.
    func fill() async throws {
        do {
            for _ in 0..<max(1, options.isolates) {
                let isolate = state.withLock { made(&$0) }
                try await isolate.load()
                state.withLock { $0.isolates.append(isolate) }
            }
        } catch {
            end()
            throw error
        }
        _ = handlers
        await watchman.run { [weak self] _, loop in Self.watch(self, loop) }
    }

    private func made(_ state: inout State) -> Isolate {
        state.number += 1
        return Isolate(
            mainFile: mainFile, options: options, number: state.number,
            changed: { [weak self] in self?.state.withLock { $0.changed }() },
            gone: { [weak self] isolate in self?.replace(isolate) })
    }

    func whenChanged(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.changed = body } }

    private var isolates: [Isolate] { state.withLock { $0.isolates } }
    /// What the code has registered, in whichever isolate.
    var handlers: [HandlerKey: [ServerOptions.RateLimit]] {
        let now = isolates.map(\.handlers)
        return state.withLock { state in
            for handlers in now { state.handlers.merge(handlers) { $1 } }
            return state.handlers
        }
    }
    var missing: [MissingFeature] { isolates.first?.missing ?? [] }

    /// The isolate whose turn it is.
    /// - Throws: `ParseError` when the code has ended.
    func isolate() throws -> Isolate {
        try state.withLock { state in
            guard !state.isolates.isEmpty else { throw IsolatePool.ended }
            state.turn = (state.turn + 1) % state.isolates.count
            return state.isolates[state.turn]
        }
    }

    /// A new isolate in place of one that is gone. Where that had not even been loaded, not at once: the calls wait.
    private func replace(_ isolate: Isolate) {
        let new = state.withLock { state -> Isolate? in
            guard let place = state.isolates.firstIndex(where: { $0 === isolate }) else { return nil }
            state.isolates[place] = made(&state)
            return state.isolates[place]
        }
        // It has been replaced already, or the pool has ended.
        guard let new else { return }
        // A task of its own: the calls that wait for the new isolate come and go.
        Task { [weak self] in
            if !isolate.isLoaded { try? await Task.sleep(for: .seconds(1)) }
            // The pool may have ended meanwhile.
            guard !new.hasEnded else { return }
            do { try await new.load() } catch {
                Log.shared.error("cloud code could not be loaded again", ["error": .text("\(error)")])
                self?.replace(new)
            }
        }
    }

    func end() {
        let isolates = state.withLock { state in
            defer { state.isolates = [] }
            return state.isolates
        }
        for isolate in isolates { isolate.end(Self.ended, announce: false) }
        let watchman = watchman
        watchman.executor.post { watchman.assumeIsolated { $0.stop() } }
    }

    private static let ended = ParseError(ParseError.scriptFailed, "The cloud code has ended.")

    // MARK: isolates that no longer answer

    private static func watch(_ pool: IsolatePool?, _ loop: Loop) {
        loop.schedule(after: 250_000_000) { [weak pool] in
            guard let pool else { return }
            for isolate in pool.isolates { pool.check(isolate) }
            watch(pool, loop)
        }
    }

    /// A turn ends by the engine's own clock. One that waits in the library instead (`Atomics.wait`) has no clock.
    /// Loading may take a busy machine long, and the calls that wait for it have their own limits.
    private func check(_ isolate: Isolate) {
        guard isolate.isLoaded else { return }
        let began = isolate.turnBegan.load(ordering: .relaxed)
        guard began != 0, Loop.monotonicNow() > began + options.callLimit + options.turnLimit else { return }
        Log.shared.error("cloud code no longer answers; its isolate is renewed", ["cloud": .text(mainFile)])
        isolate.end(
            ParseError(ParseError.scriptFailed, "The cloud code no longer answered and was started again."))
    }
}
