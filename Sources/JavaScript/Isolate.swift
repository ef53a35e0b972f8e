import Core
import Glibc
import Options
import Synchronization
import Wire

/// JavaScript with a heap and a thread of its own. This is its handle: callable from any thread; what lives on the
/// isolate's thread is an `IsolateThread`.
final class Isolate: Sendable {
    private struct Calls {
        var byNumber: [Int: RunningCall] = [:]
        var next = 1
        /// Until then calls wait.
        var isLoaded = false
        /// Why the isolate takes no calls any more.
        var ended: ParseError?
    }

    let worker: Worker
    let options: JavaScriptOptions
    let mainFile: String
    /// When the turn that runs now began, on the monotonic clock; 0 between turns.
    let turnBegan = Atomic<UInt64>(0)
    private let calls = Mutex(Calls())
    private let handlersBox = Mutex<[HandlerKey: [ServerOptions.RateLimit]]>([:])
    private let missingBox = Mutex<[MissingFeature]>([])
    /// Called when the code registers something after it has been loaded.
    let changed: @Sendable () -> Void
    /// Called once, when the isolate has been thrown away.
    private let gone: @Sendable (Isolate) -> Void

    init(
        mainFile: String, options: JavaScriptOptions, number: Int, changed: @escaping @Sendable () -> Void,
        gone: @escaping @Sendable (Isolate) -> Void
    ) {
        self.mainFile = mainFile
        self.options = options
        self.changed = changed
        self.gone = gone
        worker = Worker(index: number, name: "javascript")
    }

    /// Loads the code. Calls that were made before run then, or fail with it.
    /// - Throws: `EngineFault`, with file and line where the code is at fault.
    func load() async throws {
        do {
            let isolate = self
            try await worker.run { _, loop in
                let thread = try IsolateThread(isolate: isolate, loop: loop)
                loop.keep(thread)
                try thread.load(isolate.mainFile)
                for call in try isolate.beginCalls() { thread.start(call) }
            }
        } catch {
            // Why it was stopped, not that it was.
            if let ended = calls.withLock({ $0.ended }) { throw EngineFault(ended.message) }
            end(ParseError(ParseError.scriptFailed, "The cloud code could not be loaded."), announce: false)
            throw error
        }
    }

    /// The calls that have waited, in their order.
    private func beginCalls() throws -> [RunningCall] {
        try calls.withLock { calls in
            if let ended = calls.ended { throw ended }
            calls.isLoaded = true
            return calls.byNumber.values.sorted { $0.number < $1.number }
        }
    }

    /// With how often clients may ask for them.
    var handlers: [HandlerKey: [ServerOptions.RateLimit]] { handlersBox.withLock { $0 } }
    func has(_ key: HandlerKey) -> Bool { handlersBox.withLock { $0[key] != nil } }
    /// Whether that changes anything.
    func add(_ key: HandlerKey, _ rateLimits: [ServerOptions.RateLimit]) -> Bool {
        handlersBox.withLock { $0.updateValue(rateLimits, forKey: key) != rateLimits }
    }
    var missing: [MissingFeature] { missingBox.withLock { $0 } }
    func add(_ feature: MissingFeature) {
        missingBox.withLock { if !$0.contains(feature) { $0.append(feature) } }
    }
    var isLoaded: Bool { calls.withLock { $0.isLoaded } }
    var hasEnded: Bool { calls.withLock { $0.ended != nil } }
    var callCount: Int { calls.withLock { $0.byNumber.count } }
    func running(_ number: Int) -> RunningCall? { calls.withLock { $0.byNumber[number] } }

    /// Runs one handler.
    /// - Throws: `ParseError`; `CancellationError` as soon as the task is cancelled; what the call's waiter is resumed
    ///   with.
    func run(_ make: (Int) -> RunningCall) async throws -> RunningCall.Outcome {
        let number = try calls.withLock { calls in
            if let ended = calls.ended { throw ended }
            calls.next += 1
            return calls.next
        }
        let call = make(number)
        let isLoaded = try calls.withLock { calls in
            if let ended = calls.ended { throw ended }
            calls.byNumber[number] = call
            return calls.isLoaded
        }
        if isLoaded { onThread { $0.start(call) } }
        do {
            return try await call.outcome()
        } catch {
            if take(number) != nil { onThread { $0.forget(call) } }
            throw error
        }
    }

    /// The call ends: it is answered, and none of the isolate's any more.
    func finish(_ number: Int, _ outcome: Result<RunningCall.Outcome, ParseError>) {
        take(number)?.end(outcome)
    }

    @discardableResult
    private func take(_ number: Int) -> RunningCall? { calls.withLock { $0.byNumber.removeValue(forKey: number) } }

    /// Ends the isolate and its calls; its thread ends as soon as it is free.
    func end(_ reason: ParseError, announce: Bool = true) {
        let ended = calls.withLock { calls -> [RunningCall]? in
            guard calls.ended == nil else { return nil }
            calls.ended = reason
            defer { calls.byNumber = [:] }
            return Array(calls.byNumber.values)
        }
        guard let ended else { return }
        // First, so that whoever tries again finds the new one.
        if announce { gone(self) }
        for call in ended { call.end(.failure(reason)) }
        onThread { $0.close() }
        let worker = worker
        worker.executor.post { worker.assumeIsolated { $0.stop() } }
    }

    private func onThread(_ body: @escaping @Sendable (IsolateThread) -> Void) {
        let worker = worker
        worker.executor.post {
            worker.assumeIsolated { worker in
                if let thread = worker.loop.first(IsolateThread.self) { body(thread) }
            }
        }
    }
}

extension ParseError {
    /// Parse's code for what goes wrong in cloud code.
    static let scriptFailed = 141
}
