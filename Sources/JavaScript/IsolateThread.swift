import Cloud
import Core
import Glibc
import HTTP
import Options
import Wire

/// What lives on an isolate's thread: the engine, the runtime's entry points, timers, requests on their way.
///
/// Each event (a call, an answer, a timer) enters the engine by itself, and the promises that it settles run before that
/// returns: so all that a script does in a turn belongs to the call whose event it was, its `owner`.
final class IsolateThread {
    let isolate: Isolate
    let loop: Loop
    let engine: Engine
    var timers: [Int: Loop.Timer] = [:]
    var fetches: [Int: Task<Void, Never>] = [:]
    private(set) lazy var client = HTTPClient(loop: loop)

    private var entry: [String: Engine.Value] = [:]
    /// What calls of a handler begin with: its name, made once.
    private var names: [HandlerKey: [Engine.Argument]] = [:]
    /// Calls of handlers that the code has not registered yet.
    private var early: [RunningCall] = []
    /// Timers and requests on their way, by the call that they belong to.
    private var underWay: [Int: Int] = [:]
    /// How calls reach the server that have ended and left something behind.
    private var leftBehind: [Int: any CloudCaller] = [:]
    private var turn = Turn()
    /// On the monotonic clock.
    private var checkedAt: UInt64 = 0
    private var residentAtCheck = ProcessMemory.resident()
    private var residentAtCollection = ProcessMemory.resident()

    /// What is known of the turn that runs now.
    private struct Turn {
        /// The number of a call; 0 is nobody's.
        var owner = 0
        /// On the clock of the thread's processor time, from the first look at the turn on: asking it at the beginning of
        /// each turn would cost a tenth of most.
        var began: UInt64?
        var limit: UInt64 = 0
        var overrun: Overrun?
    }
    private enum Overrun {
        case time(place: String)
        case memory
    }

    var options: JavaScriptOptions { isolate.options }
    /// For the log: whose code runs.
    var owner: RunningCall? { isolate.running(turn.owner) }
    var ownerNumber: Int { turn.owner }
    var isStopped: Bool { turn.overrun != nil }

    init(isolate: Isolate, loop: Loop) throws {
        self.isolate = isolate
        self.loop = loop
        engine = try Engine()
        turn.limit = isolate.options.callLimit
        engine.watch(every: Double(IsolateThread.look) / 1e9) { [unowned self] in shouldEnd() }
        try start()
    }

    private func start() throws {
        let host = try hostObject()
        guard let source = RuntimeScripts.named("boot") else { throw EngineFault("the runtime's scripts are missing") }
        let boot = try engine.evaluate(source, file: "hermes:boot")
        let entries = try engine.call(boot, [.value(host)])
        for name in ["load", "loaded", "start", "forget", "tick", "deliver", "refuse", "fetched"] {
            guard let function = engine.property(name, of: entries) else { throw EngineFault("no entry \(name)") }
            entry[name] = engine.keep(function)
        }
        if let rejected = engine.property("rejected", of: entries) { engine.setUnhandledRejectionCallback(rejected) }
    }

    /// - Throws: `EngineFault`, with file and line where the code is at fault.
    func load(_ file: String) throws {
        // Reading and compiling all modules is more than an ordinary turn.
        if let fault = enter("load", owner: 0, limit: options.callLimit, [.text(file)]) { throw fault }
        if let fault = enter("loaded", owner: 0, []) { throw fault }
    }

    /// Lets go of everything: a task that still waits for an answer may hold this object for ever.
    func close() {
        for timer in timers.values { timer.cancel() }
        for fetch in fetches.values { fetch.cancel() }
        timers = [:]
        fetches = [:]
        early = []
        client.close()
        loop.release(self)
        engine.close()
    }

    // MARK: calls

    func start(_ call: RunningCall) {
        // It may have been cancelled since.
        guard isolate.running(call.number) != nil else { return }
        guard isolate.has(call.key) else {
            early.append(call)
            return
        }
        let arguments: [Engine.Argument] = [
            .json(call.payload), .text(call.call.sessionToken), .utf8(call.call.headers?.json),
        ]
        if let fault = enter("start", owner: call.number, name(call.key) + arguments) { end(call.number, fault) }
    }

    /// As `start` takes it: sort, name, class.
    private func name(_ key: HandlerKey) -> [Engine.Argument] {
        if let name = names[key] { return name }
        let parts = key.parts
        let name = [parts.sort, parts.name, parts.className].map { text -> Engine.Argument in
            engine.value(text).map { .value(engine.keep($0)) } ?? .text(text)
        }
        names[key] = name
        return name
    }

    /// What the call answers does not matter any more.
    func forget(_ call: RunningCall) {
        early.removeAll { $0 === call }
        leave(call)
        _ = enter("forget", owner: call.number, [])
    }

    func end(_ number: Int, _ outcome: RunningCall.Outcome) { end(number, .success(outcome)) }
    func end(_ number: Int, _ error: ParseError) { end(number, .failure(error)) }

    private func end(_ number: Int, _ outcome: Result<RunningCall.Outcome, ParseError>) {
        if let call = isolate.running(number) { leave(call) }
        isolate.finish(number, outcome)
    }

    /// What the call has under way goes on as its caller lets it.
    private func leave(_ call: RunningCall) {
        if underWay[call.number] != nil { leftBehind[call.number] = call.call.caller }
    }

    /// How code of a call reaches the server, also after the call has ended.
    func caller(of owner: Int) -> (any CloudCaller)? {
        isolate.running(owner)?.call.caller ?? leftBehind[owner] ?? options.background
    }

    /// A timer or a request of a call's is under way.
    func begin(_ owner: Int) { underWay[owner, default: 0] += 1 }

    func done(_ owner: Int) {
        guard let count = underWay[owner] else { return }
        underWay[owner] = count > 1 ? count - 1 : nil
        if count == 1 { leftBehind[owner] = nil }
    }

    private func end(_ number: Int, _ fault: EngineFault) {
        end(number, ParseError(ParseError.scriptFailed, fault.message))
    }

    /// The code has registered a handler.
    func register(_ key: HandlerKey, _ rateLimits: [ServerOptions.RateLimit]) {
        guard isolate.add(key, rateLimits) else { return }
        let waiting = early.filter { $0.key == key }
        early.removeAll { $0.key == key }
        // Not within the turn that registers it. That turn may also be the isolate's last: then this object is gone.
        for call in waiting { loop.schedule(after: 0) { [weak self] in self?.start(call) } }
        if isolate.isLoaded { isolate.changed() }
    }

    // MARK: turns

    /// Lets the engine run one of the runtime's entry points, and the promises' reactions after it.
    /// - Returns: what went wrong, unless the isolate came to its end by it.
    @discardableResult
    func enter(
        _ name: String, owner: Int, limit: UInt64? = nil, _ arguments: [Engine.Argument]
    ) -> EngineFault? {
        guard let function = entry[name], !isolate.hasEnded else { return nil }
        turn = Turn(owner: owner, limit: limit ?? options.turnLimit)
        let now = Loop.monotonicNow()
        isolate.turnBegan.store(now, ordering: .relaxed)
        var fault: EngineFault?
        do {
            try engine.call(function, [.int(owner)] + arguments)
        } catch let error as EngineFault {
            fault = error
        } catch {
            fault = EngineFault("\(error)")
        }
        isolate.turnBegan.store(0, ordering: .relaxed)
        switch turn.overrun {
        case nil: checkMemory(now)
        case .time(let place): fault = overran(place)
        case .memory: outgrown()
        }
        return fault
    }

    /// After how many nanoseconds of a turn the engine asks for the first time, and again and again, whether it should
    /// end.
    private static let look: UInt64 = 20_000_000

    /// Asked by the engine at each look.
    private func shouldEnd() -> Bool {
        if turn.overrun != nil { return true }
        let now = IsolateThread.processorTime()
        let began = turn.began ?? now &- IsolateThread.look
        turn.began = began
        if now &- began > turn.limit {
            turn.overrun = .time(place: engine.backtrace())
        } else if hasGrown, engine.memory() > options.memoryLimit {
            turn.overrun = .memory
        }
        return turn.overrun != nil
    }

    private func overran(_ place: String) -> EngineFault {
        let seconds = Double(turn.limit) / 1e9
        let name = owner?.name ?? isolate.mainFile
        Log.shared.error(
            "cloud code was stopped: it did not pause",
            ["cloud": .text(name), "seconds": .number(seconds), "at": .text(place)])
        let fault = EngineFault("\(name) ran for \(seconds) s without a pause and was stopped.")
        let owner = turn.owner
        turn = Turn(limit: options.turnLimit)
        engine.recover()
        if owner != 0 { end(owner, ParseError(ParseError.scriptFailed, fault.message)) }
        return fault
    }

    // MARK: memory

    /// Walking the heap takes its time: only when the process has grown since.
    private var hasGrown: Bool {
        let resident = ProcessMemory.resident()
        guard resident > residentAtCheck + 16 << 20 else {
            residentAtCheck = min(resident, residentAtCheck)
            residentAtCollection = min(resident, residentAtCollection)
            return false
        }
        residentAtCheck = resident
        return true
    }

    private func checkMemory(_ now: UInt64) {
        // Asking the kernel costs more than most turns.
        guard now > checkedAt + 10_000_000 else { return }
        checkedAt = now
        guard hasGrown else { return }
        // What was made since the engine's last collection is not in its own count.
        let isLate = residentAtCheck > residentAtCollection + IsolateThread.garbage
        guard isLate || engine.memory() > options.memoryLimit else { return }
        engine.collectGarbage()
        residentAtCollection = ProcessMemory.resident()
        if isLate {
            Log.shared.info(
                "the process has grown beside cloud code; its garbage was collected",
                [
                    "cloud": .text(isolate.mainFile), "megabytes": .int(residentAtCheck >> 20),
                    "heap": .int(engine.memory() >> 20),
                ])
        }
        if engine.memory() > options.memoryLimit { outgrown() }
    }

    /// So many bytes the process grows by before garbage is collected, whether the engine finds that it is time or not:
    /// under load its own collections have been seen to fall behind by hundreds of megabytes.
    private static let garbage = 128 << 20

    private func outgrown() {
        let megabytes = options.memoryLimit >> 20
        let name = owner?.name ?? isolate.mainFile
        Log.shared.error(
            "cloud code outgrew its memory; its isolate is renewed",
            ["cloud": .text(name), "megabytes": .int(megabytes)])
        isolate.end(ParseError(ParseError.scriptFailed, "The cloud code outgrew its \(megabytes) MB of memory."))
    }

    static func processorTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
