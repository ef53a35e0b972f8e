import Cloud
import Core
import Glibc
import Options
import Wire

/// What the runtime's scripts are given: the only ways out of the engine.
extension IsolateThread {
    func hostObject() throws -> Engine.Value {
        let host = engine.keep(try engine.evaluate("({})", file: "hermes:host"))
        func add(_ name: String, _ body: @escaping Engine.HostBody) {
            engine.set(name, of: host, to: engine.function(body))
        }
        // The functions belong to the engine, which belongs to this object.
        add("script") { [unowned self] in try script($0.text(0)) }
        add("compile") { [unowned self] in try engine.evaluate($0.text(1), file: $0.text(0)) }
        add("configuration") { [unowned self] _ in engine.json(Array(configuration.description.utf8)) }
        add("register") { [unowned self] arguments in
            let (sort, name, className) = (arguments.text(0), arguments.text(1), arguments.text(2))
            if let key = HandlerKey(sort: sort, name: name, className: className) {
                try register(key, rateLimits(arguments.text(3)))
            }
            return nil
        }
        add("missing") { [unowned self] in
            isolate.add(MissingFeature(name: $0.text(0), place: $0.text(1)))
            return nil
        }
        add("log") { [unowned self] in
            log($0.text(0), $0.text(1))
            return nil
        }
        add("now") { [unowned self] _ in engine.value(Double(Loop.monotonicNow()) / 1e6) }
        add("setTimer") { [unowned self] in
            setTimer($0.int(0), milliseconds: $0.number(1), owner: $0.int(2))
            return nil
        }
        add("clearTimer") { [unowned self] in
            if let timer = timers.removeValue(forKey: $0.int(0)) {
                timer.cancel()
                done($0.int(1))
            }
            return nil
        }
        add("finish") { [unowned self] in
            // Reactions to a turn that was stopped may still run: they say nothing of what happened.
            if isStopped { return nil }
            end($0.int(0), RunningCall.Outcome(body: $0.utf8(1), context: $0.utf8(2), response: $0.utf8(3)))
            return nil
        }
        add("fail") { [unowned self] in
            if isStopped { return nil }
            let code = $0.number(1)
            var error = ParseError(Int(exactly: code) ?? ParseError.scriptFailed, $0.text(2))
            error.thrown = try $0.utf8(3).map { try JSONParser.parse($0) }
            end($0.int(0), error)
            return nil
        }
        add("send") { [unowned self] in
            try send($0)
            return nil
        }
        add("report") { [unowned self] in
            report($0.int(0), $0.text(1))
            return nil
        }
        addFiles(add)
        addCrypto(add)
        addFetch(add)
        return host
    }

    /// - Throws: `EngineFault` for what is no limit.
    private func rateLimits(_ text: String) throws -> [ServerOptions.RateLimit] {
        let limits = try JSONParser.parse(Array(text.utf8))
        do throws(OptionFault) { return try [ServerOptions.RateLimit](option: limits) } catch {
            throw EngineFault("rateLimit \(error)")
        }
    }

    /// One of the runtime's own scripts, compiled; undefined where there is none of that name.
    private func script(_ name: String) throws -> Engine.Value? {
        guard let source = RuntimeScripts.named(name) else { return nil }
        return try engine.evaluate(source, file: "hermes:\(name)")
    }

    private var configuration: JSONObject {
        JSONObject([
            ("applicationId", .string(options.applicationId)),
            ("serverURL", .string(options.serverURL)),
            ("masterKey", .string(options.masterKey)),
            ("checks", .bool(options.checks)),
            ("defaultLimit", .number(Double(options.defaultLimit))),
            (
                "environment",
                .object(JSONObject(options.environment.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
            ),
            ("packageFolders", .array(options.packageFolders.map { .string($0) })),
            ("workingFolder", .string(SourceFile.workingFolder)),
            ("processId", .number(Double(getpid()))),
        ])
    }

    private func log(_ level: String, _ text: String) {
        let level: Log.Level =
            switch level {
            case "debug": .debug
            case "warn": .warning
            case "error": .error
            default: .info
            }
        Log.shared.log(level, text, ["cloud": .text(owner?.name ?? "main.js")])
    }

    // MARK: timers

    private func setTimer(_ number: Int, milliseconds: Double, owner: Int) {
        // As everywhere: what is no sensible time is the shortest one; the longest is 2^31 ms.
        let time = milliseconds >= 1 && milliseconds < 2_147_483_648 ? milliseconds : 1
        if timers[number] == nil { begin(owner) }
        timers[number]?.cancel()
        timers[number] = loop.schedule(after: UInt64(time * 1e6)) { [unowned self] in
            timers[number] = nil
            if let fault = enter("tick", owner: owner, [.int(number)]) { log("error", "\(fault)") }
            done(owner)
        }
    }

    // MARK: requests to the server

    /// `send(number, owner, method, path, body, authority, token, context, installationId)`
    private func send(_ arguments: Engine.Arguments) throws {
        let number = arguments.int(0)
        let owner = arguments.int(1)
        let authority: CloudRequest.Authority =
            switch arguments.text(5) {
            case "master": .master
            case "session": .session(arguments.text(6))
            default: .nobody
            }
        var request = CloudRequest(
            arguments.text(2), arguments.text(3), body: try object(arguments.utf8(4)), as: authority,
            context: try object(arguments.utf8(7)))
        request.installationId = arguments.optionalText(8)
        let caller = caller(of: owner)
        begin(owner)
        loop.spawn {
            await self.answer(number, owner, request, caller)
            self.done(owner)
        }
    }

    private func object(_ text: [UInt8]?) throws -> JSONObject {
        guard let text else { return JSONObject() }
        return try JSONParser.parse(text).object ?? JSONObject()
    }

    private func answer(_ number: Int, _ owner: Int, _ request: CloudRequest, _ caller: (any CloudCaller)?) async {
        do {
            guard let caller else {
                throw ParseError(
                    119, "Nothing can be read or written while the code is loaded or after its call has ended.")
            }
            let response = try await caller.send(request)
            var body = JSONWriter(room: 1024)
            body.json(response.body)
            var headers = JSONWriter(room: 256)
            headers.object(JSONObject(response.headers.map { ($0.name.lowercased(), .string($0.value)) }))
            enter(
                "deliver", owner: owner,
                [.int(number), .int(response.status), .json(body.finish()), .json(headers.finish())])
        } catch {
            let error =
                error is CancellationError
                ? ParseError(ParseError.scriptFailed, "The call was stopped; nothing more is read or written for it.")
                : error as? ParseError ?? ParseError(1, "Internal server error")
            enter(
                "refuse", owner: owner,
                [.int(number), .int(error.code ?? -1), .text(error.message)])
        }
    }

    /// Of a job: keeps a line about how far it is; the script waits for it as for a request.
    private func report(_ number: Int, _ message: String) {
        let owner = ownerNumber
        let report = isolate.running(owner)?.call.report
        loop.spawn {
            do {
                try await report?(message)
                self.enter("deliver", owner: owner, [.int(number), .int(200)])
            } catch {
                let message = (error as? ParseError)?.message ?? "The job's message could not be kept."
                self.enter("refuse", owner: owner, [.int(number), .int(1), .text(message)])
            }
        }
    }
}
