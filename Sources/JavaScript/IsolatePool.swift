import Core
import Options
import Synchronization
import Wire

/// The isolates of one file of cloud code. One that has come to its end is replaced by a new one.
final class IsolatePool: Sendable {
    private struct State {
        var slots: [Slot] = []
        var turn = 0
        var number = 0
        var hasEnded = false
        /// All that the code has ever registered: an isolate that is being renewed will have it again.
        var handlers: [HandlerKey: [ServerOptions.RateLimit]] = [:]
        var changed: @Sendable () -> Void = {}
    }
    private enum Slot {
        case ready(Isolate)
        /// Being loaded; who needs it waits for the task.
        case loading(Task<Isolate, any Error>)
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
                let isolate = try await loaded()
                state.withLock { $0.slots.append(.ready(isolate)) }
            }
        } catch {
            end()
            throw error
        }
        _ = handlers
        await watchman.run { [weak self] _, loop in Self.watch(self, loop) }
    }

    private func loaded() async throws -> Isolate {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let isolate = Isolate(
            mainFile: mainFile, options: options, number: number,
            changed: { [weak self] in self?.state.withLock { $0.changed }() },
            gone: { [weak self] isolate in self?.replace(isolate) })
        try await isolate.load()
        return isolate
    }

    func whenChanged(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.changed = body } }

    private var ready: [Isolate] {
        state.withLock { $0.slots.compactMap { if case .ready(let isolate) = $0 { isolate } else { nil } } }
    }
    /// What the code has registered, in whichever isolate.
    var handlers: [HandlerKey: [ServerOptions.RateLimit]] {
        let now = ready.map(\.handlers)
        return state.withLock { state in
            for handlers in now { state.handlers.merge(handlers) { $1 } }
            return state.handlers
        }
    }
    var missing: [MissingFeature] { ready.first?.missing ?? [] }

    /// The isolate whose turn it is.
    /// - Throws: `ParseError` when the code can't be loaded any more or has ended.
    func isolate() async throws -> Isolate {
        let slot = state.withLock { state -> Slot? in
            guard !state.hasEnded, !state.slots.isEmpty else { return nil }
            state.turn = (state.turn + 1) % state.slots.count
            return state.slots[state.turn]
        }
        switch slot {
        case .ready(let isolate): return isolate
        case .loading(let task):
            do { return try await task.value } catch {
                throw ParseError(ParseError.scriptFailed, "The cloud code could not be loaded again.")
            }
        case nil: throw ParseError(ParseError.scriptFailed, "The cloud code has ended.")
        }
    }

    /// Loads the code anew in place of an isolate that is gone.
    private func replace(_ isolate: Isolate) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            let place = state.slots.firstIndex { if case .ready(let one) = $0 { one === isolate } else { false } }
            guard let place else { return }
            state.slots[place] = .loading(reloading(place))
        }
    }

    /// A task of its own: the calls that wait for the new isolate come and go.
    private func reloading(_ place: Int) -> Task<Isolate, any Error> {
        Task { [weak self] in
            guard let self else { throw CancellationError() }
            do {
                let isolate = try await loaded()
                let isWanted = state.withLock { state in
                    if !state.hasEnded { state.slots[place] = .ready(isolate) }
                    return !state.hasEnded
                }
                if !isWanted { isolate.end(IsolatePool.ended, announce: false) }
                return isolate
            } catch {
                Log.shared.error("cloud code could not be loaded again", ["error": .text("\(error)")])
                // Later calls try again, not at once.
                state.withLock { state in
                    if !state.hasEnded { state.slots[place] = .loading(reloadingLater(place)) }
                }
                throw error
            }
        }
    }

    private func reloadingLater(_ place: Int) -> Task<Isolate, any Error> {
        Task { [weak self] in
            try await Task.sleep(for: .seconds(1))
            guard let self else { throw CancellationError() }
            return try await reloading(place).value
        }
    }

    func end() {
        let slots = state.withLock { state in
            state.hasEnded = true
            defer { state.slots = [] }
            return state.slots
        }
        for slot in slots {
            switch slot {
            case .ready(let isolate): isolate.end(Self.ended, announce: false)
            case .loading(let task): task.cancel()
            }
        }
        let watchman = watchman
        watchman.executor.post { watchman.assumeIsolated { $0.stop() } }
    }

    private static let ended = ParseError(ParseError.scriptFailed, "The cloud code has ended.")

    // MARK: isolates that no longer answer

    private static func watch(_ pool: IsolatePool?, _ loop: Loop) {
        loop.schedule(after: 250_000_000) { [weak pool] in
            guard let pool else { return }
            for isolate in pool.ready { pool.check(isolate) }
            watch(pool, loop)
        }
    }

    /// A turn ends by the engine's own clock. One that waits in the library instead (`Atomics.wait`) has no clock.
    private func check(_ isolate: Isolate) {
        let began = isolate.turnBegan.load(ordering: .relaxed)
        guard began != 0, Loop.monotonicNow() > began + options.callLimit + options.turnLimit else { return }
        Log.shared.error("cloud code no longer answers; its isolate is renewed", ["cloud": .text(mainFile)])
        isolate.end(
            ParseError(ParseError.scriptFailed, "The cloud code no longer answered and was started again."))
    }
}
