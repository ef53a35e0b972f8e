import CMicrohttpd
import Core
import Glibc

/// One request and its answer, between libmicrohttpd and the handler.
///
/// How libmicrohttpd wants it: it calls `proceed` first with the head alone, then with each piece of the body, then
/// once more, and only then the answer is queued, or the connection could not be used again.
///
/// Three things are known of it, each a state of its own: how much of the request has come (`reading`), what has become
/// of the answer (`answering`), and who has to move next (`flow`).
final class Exchange {
    enum Reading {
        case head
        case body
        /// The answer may be queued.
        case complete
    }

    enum Answering {
        /// Nobody has answered.
        case awaited
        /// The body is more than may be taken: this goes out once it has all come, whatever the handler says.
        case refused(HTTPRefusal)
        /// The handler has answered; libmicrohttpd gets it as soon as it may.
        case held(Prepared)
        /// libmicrohttpd has it.
        case queued
        /// There will be no answer: the connection has ended, or is to end.
        case over
    }

    enum Flow {
        /// libmicrohttpd's or the client's turn.
        case moving
        /// The handler's turn. libmicrohttpd would ask at each of its runs, and is told that there is nothing yet:
        /// for a short wait that costs less than to suspend the connection, which takes its socket out of epoll and
        /// puts it back.
        case waiting(since: UInt64)
        /// Out of libmicrohttpd's sight until `resume()`.
        case suspended
    }

    /// A response that is ours until it is queued.
    struct Prepared {
        let status: UInt32
        let response: OpaquePointer
    }

    let request: HTTPRequest
    let server: HTTPServer
    let connection: Connection
    private let daemon: Daemon
    private(set) var handle: OpaquePointer?
    private(set) var reading = Reading.head
    private(set) var answering = Answering.awaited
    private var flow = Flow.moving
    /// Whether libmicrohttpd is calling just now.
    private var isCalled = false

    /// For the answer's head: bytes.
    private var room = 0
    private var coding = ContentCoding.none
    private var bodyLimit = 0
    private var bodySize = 0
    private var bodyBegan: UInt64 = 0
    /// Of the budget for all bodies.
    private var budgeted = 0

    /// What the handler runs in; it holds this exchange until it ends.
    private var task: Task<Void, Never>?
    var cancelsWhenClientIsGone = false
    private(set) var isClientGone = false
    var onClientGone: (() -> Void)? {
        didSet { if isClientGone { tellClientGone() } }
    }
    private var writer: ResponseWriter?
    private var upgrade: UpgradeRequest?

    init(
        daemon: Daemon, server: HTTPServer, connection: Connection, handle: OpaquePointer, target: UnsafePointer<CChar>?
    ) {
        self.daemon = daemon
        self.server = server
        self.connection = connection
        self.handle = handle
        server.requestCount += 1
        // The method and version are told to `proceed` first.
        request = HTTPRequest(
            connection: connection, number: UInt64(server.requestCount),
            target: target.map { String(cString: $0) } ?? "/")
        connection.exchange = self
        connection.expect(.head, by: server.loop.now &+ server.limits.headTimeout)
    }

    // MARK: answering

    /// Whether an answer of the handler's would be taken. One that comes too late, because the server has refused or
    /// the client has gone, is the handler's no fault; a second one is.
    func takesAnswer() -> Bool {
        switch answering {
        case .awaited: return handle != nil
        case .refused, .over: return false
        case .held, .queued:
            Log.shared.error(
                "a request was answered twice", ["method": .text(request.method), "path": .text(request.path)])
            return false
        }
    }

    /// Takes over `response`.
    func answer(
        _ status: Int, _ headers: [(String, String)], _ response: OpaquePointer, writer: ResponseWriter? = nil,
        upgrade: UpgradeRequest? = nil
    ) {
        self.writer = writer
        self.upgrade = upgrade
        add(headers, to: response)
        if server.isDraining, upgrade == nil { MHD_add_response_header(response, "Connection", "close") }
        let prepared = Prepared(status: UInt32(clamping: status), response: response)
        guard reading == .complete, isCalled || !daemon.isRunning else {
            // Before the request's end, the rest of the body is let through first: an answer within it would cost the
            // connection. And while libmicrohttpd runs for another connection, this one is left alone.
            answering = .held(prepared)
            request.stream?.end()
            return resume()
        }
        if !queue(prepared) { return giveUp() }
        resume()
    }

    private func add(_ headers: [(String, String)], to response: OpaquePointer) {
        for (name, value) in headers {
            // Given as they are, both would be copied to arrays first.
            name.withCString { name in
                value.withCString { value in _ = MHD_add_response_header(response, name, value) }
            }
        }
    }

    /// Hands a response to libmicrohttpd.
    /// - Returns: false when it was not taken: the connection is to be closed then.
    private func queue(_ prepared: Prepared) -> Bool {
        defer { MHD_destroy_response(prepared.response) }
        answering = .queued
        guard let handle else { return false }
        if isCalled { daemon.hasMoved = true }
        if writer == nil || writer?.hasBytes == true {
            connection.expect(.sending, by: server.loop.now &+ server.limits.idleTimeout)
        }
        return MHD_queue_response(handle, prepared.status, prepared.response) == .YES
    }

    /// Answers for the server itself.
    private func refuse(_ refusal: HTTPRefusal) -> Bool {
        let (headers, body) = server.refusalAnswer(request, refusal)
        guard let response = ResponseBody.makeResponse(body) else { return false }
        add(headers, to: response)
        if let seconds = refusal.retryAfter { MHD_add_response_header(response, "Retry-After", "\(seconds)") }
        if reading != .complete || server.isDraining { MHD_add_response_header(response, "Connection", "close") }
        server.onRefusal?(request, refusal, body.count)
        if reading == .head, !daemon.isSecure,
            room < 256 + headers.reduce(0, { $0 + $1.0.utf8.count + $1.1.utf8.count + 4 })
        {
            // libmicrohttpd would find no memory for the answer's head, and close the connection without a word.
            MHD_destroy_response(response)
            answering = .over
            connection.sendLast(refusal.status, headers, body)
            return false
        }
        return queue(Prepared(status: UInt32(clamping: refusal.status), response: response))
    }

    // MARK: libmicrohttpd's calls

    /// - Returns: false to have the connection closed.
    func proceed(
        _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
        _ size: inout Int
    ) -> Bool {
        if case .over = answering { return false }
        isCalled = true
        defer { isCalled = false }
        switch reading {
        case .head: return headIsComplete(method, version)
        case .body where size > 0: return received(UnsafeRawBufferPointer(start: data, count: size), &size)
        case .body: return requestIsComplete()
        case .complete:
            switch answering {
            case .held(let prepared):
                setFlow(.moving)
                return queue(prepared)
            case .awaited: wait()
            default: break
            }
            return true
        }
    }

    private func headIsComplete(_ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?) -> Bool {
        guard let handle, let method, let version else { return false }
        request.method = String(cString: method)
        // `HTTP/1.0` or `HTTP/1.1`.
        request.isHTTP10 = strcmp(version, "HTTP/1.1") != 0
        connection.head.read(handle)
        let framing = Framing(
            connection.head, start: method, version: version, size: hermes_mhd_head_size(handle),
            isHTTP10: request.isHTTP10)
        room = roomForAnswer(framing)
        if framing.size > server.limits.headSize { return refuse(.headTooLarge(server.limits.headSize)) }
        if room < Exchange.roomOfAnswer { return refuse(.tooManyFields) }
        if let problem = framing.problem { return refuse(HTTPRefusal(problem.status, problem.message)) }
        reading = .body
        if framing.hasBody { daemon.hasMoved = true }
        bodyBegan = server.loop.now
        connection.expect(.body, by: bodyBegan &+ server.limits.idleTimeout)
        let limit: Int?
        switch server.bodyMode(request) {
        case .collected(let chosen): limit = chosen
        case .streamed(let chosen):
            limit = chosen
            request.stream = RequestStream(capacity: server.limits.streamBuffer, exchange: self)
        }
        bodyLimit = limit ?? server.limits.bodySize
        coding = request.stream == nil && framing.hasBody ? framing.coding : .none
        var refusal: HTTPRefusal?
        if framing.contentLength > bodyLimit {
            refusal = .bodyTooLarge(bodyLimit)
        } else if case .unknown = coding {
            refusal = .unknownCoding
        } else if request.stream == nil, !server.limits.bodyBudget.hasRoom(for: framing.contentLength) {
            refusal = .noRoom
        }
        if let refusal {
            // A client that asked first has sent nothing yet. From the others a bounded rest is taken, because one that
            // is still writing would find its connection reset and never read the answer.
            if framing.expectsContinue || framing.contentLength > 4 * bodyLimit { return refuse(refusal) }
            answering = .refused(refusal)
        } else if request.stream != nil {
            run()
        } else if framing.contentLength > 0 {
            request.body.reserveCapacity(min(framing.contentLength, 1 << 20))
        }
        return true
    }

    private func received(_ bytes: UnsafeRawBufferPointer, _ left: inout Int) -> Bool {
        daemon.hasMoved = true
        var count = bytes.count
        if case .awaited = answering, let refusal = refusal(ofAnother: count) {
            answering = .refused(refusal)
            request.body = []
            giveBudgetBack()
            request.stream?.end(HTTPServerError.bodyTooLarge)
        }
        if case .awaited = answering {
            if let stream = request.stream {
                count = stream.offer(bytes)
                if count < bytes.count { suspend() }
            } else {
                request.body.append(contentsOf: bytes)
            }
        } else if bodySize + count > 4 * bodyLimit + (1 << 16) {
            return false
        }
        bodySize += count
        left = bytes.count - count
        // A body may take `idleTimeout` without progress, and in all as long as the minimal rate allows.
        let allowed = UInt64(bodySize / max(1, server.limits.minimumBodyRate)) &* 1_000_000_000
        let deadline = min(server.loop.now, bodyBegan &+ allowed) &+ server.limits.idleTimeout
        connection.expect(.body, by: isSuspended ? 0 : deadline)
        return true
    }

    /// What is left in libmicrohttpd's memory for the answer's head, at least: what has been read is in one half of it,
    /// which grows by an eighth of the rest, to 9/16, while more than 1 KB is an eighth of the rest, and where the head
    /// is longer, with the head.
    private func roomForAnswer(_ framing: Framing) -> Int {
        let memory = server.limits.memory
        let read = max(framing.size + 128, memory / 16 * 9, memory - 8 << 10)
        return memory - read - framing.records
    }

    /// For what a handler's answer has of headers.
    private static let roomOfAnswer = 2 << 10

    /// Why `count` bytes more of the body are too many.
    private func refusal(ofAnother count: Int) -> HTTPRefusal? {
        if bodySize + count > bodyLimit { return .bodyTooLarge(bodyLimit) }
        guard request.stream == nil else { return nil }
        guard server.limits.bodyBudget.take(count, own: bodySize) else { return .noRoom }
        budgeted += count
        return nil
    }

    /// Once all of the body has come.
    private func unpackBody() {
        guard case .packed = coding, case .awaited = answering else { return }
        // Both forms of it are there until the end.
        let packed = bodySize
        bodySize = 0
        do {
            request.body = try Inflater.unpack(request.body) { count in
                let refusal = refusal(ofAnother: count)
                bodySize += count
                return refusal
            }
            server.limits.bodyBudget.giveBack(packed)
            budgeted -= packed
        } catch {
            answering = .refused(error)
            request.body = []
            giveBudgetBack()
        }
    }

    private func requestIsComplete() -> Bool {
        reading = .complete
        unpackBody()
        request.stream?.end()
        switch answering {
        case .refused(let refusal): return refuse(refusal)
        case .held(let prepared): return queue(prepared)
        case .queued: return true
        case .over: return false
        case .awaited: break
        }
        connection.expect(.handling, by: 0)
        if request.stream == nil { run() }
        switch answering {
        case .awaited: wait()
        case .over: return false
        default: break
        }
        return true
    }

    private func run() {
        server.activeRequests += 1
        let server = server
        task = server.loop.spawnImmediately {
            await server.handler(self.request, HTTPResponder(exchange: self))
            server.activeRequests -= 1
            self.handlerEnded()
        }
    }

    private func handlerEnded() {
        task = nil
        writer?.handlerEnded()
        guard case .awaited = answering, handle != nil else { return }
        let (headers, body) = server.refusalAnswer(request, .notAnswered)
        guard let response = ResponseBody.makeResponse(body) else { return giveUp() }
        server.onRefusal?(request, .notAnswered, body.count)
        answer(HTTPRefusal.notAnswered.status, headers, response)
    }

    /// The socket has been handed over after the 101.
    func upgraded(_ socket: Int32, received: [UInt8], _ handle: OpaquePointer) {
        let daemon = daemon
        let end = {
            hermes_mhd_close_upgraded(handle)
            daemon.runSoon()
        }
        let opened = UpgradedConnection(
            connection: connection, socket: socket, isSecure: daemon.isSecure, received: received, end: end)
        if let opened { upgrade?.succeed(opened) } else { upgrade?.fail() }
    }

    /// The answer has been sent, or never will be.
    /// - Parameter completely: whether the client got all of it.
    func ended(completely: Bool) {
        if case .head = reading, case .awaited = answering, let handle {
            // Refused by libmicrohttpd, in its own words.
            let status = hermes_mhd_status(handle)
            if status > 0 { server.onRefusal?(request, HTTPRefusal(Int(status), "malformed or too large"), 0) }
        }
        if case .held(let prepared) = answering { MHD_destroy_response(prepared.response) }
        setFlow(.moving)
        answering = .over
        handle = nil
        request.isReadable = false
        connection.head.forget()
        giveBudgetBack()
        if !completely { clientHasGone() }
        request.stream?.end(HTTPServerError.clientGone)
        writer?.fail()
        upgrade?.fail()
        connection.exchange = nil
        connection.expect(.idle, by: server.loop.now &+ server.limits.idleTimeout)
        if server.isDraining { connection.shutDown() }
    }

    /// libmicrohttpd is about to close the connection without a word: of more cookies than it has memory for it says so,
    /// goes on as if it had not, finds no `Host` among headers that it has forgotten, and gives up.
    func dropped() {
        if case .head = reading, case .awaited = answering, !daemon.isSecure {
            let refusal = HTTPRefusal.tooManyFields
            let (headers, body) = server.refusalAnswer(request, refusal)
            server.onRefusal?(request, refusal, body.count)
            connection.sendLast(refusal.status, headers, body)
            answering = .over
        }
        ended(completely: false)
    }

    private func giveBudgetBack() {
        guard budgeted > 0 else { return }
        server.limits.bodyBudget.giveBack(budgeted)
        budgeted = 0
    }

    // MARK: the end of the client

    func clientHasGone() {
        guard !isClientGone else { return }
        isClientGone = true
        request.stream?.end(HTTPServerError.clientGone)
        tellClientGone()
    }

    private func tellClientGone() {
        if cancelsWhenClientIsGone { task?.cancel() }
        guard let handler = onClientGone else { return }
        onClientGone = nil
        handler()
    }

    /// Ends the connection without an answer.
    func giveUp() {
        if case .held(let prepared) = answering { MHD_destroy_response(prepared.response) }
        answering = .over
        connection.shutDown()
        resume()
        clientHasGone()
        writer?.fail()
    }

    // MARK: whose turn it is

    private var isSuspended: Bool { if case .suspended = flow { true } else { false } }

    /// The handler has to answer first.
    private func wait() {
        switch flow {
        case .moving where daemon.mayWait: setFlow(.waiting(since: daemon.ticks))
        case .waiting(let since) where daemon.ticks &- since < Daemon.ticksOfPatience: break
        case .suspended: break
        case .moving, .waiting: suspend()
        }
    }

    /// Only within libmicrohttpd's calls.
    func suspend() {
        guard let handle, !isSuspended else { return }
        setFlow(.suspended)
        MHD_suspend_connection(handle)
    }

    func resume() {
        guard let handle else { return }
        if isSuspended { MHD_resume_connection(handle) }
        setFlow(.moving)
        if !isCalled { daemon.runSoon() }
    }

    private func setFlow(_ next: Flow) {
        if case .waiting = flow { daemon.waiting -= 1 }
        if case .waiting = next { daemon.waiting += 1 }
        flow = next
    }

    // MARK: for the body's stream and the answer's

    /// The handler has made room for more of the body.
    func streamHasRoom() {
        guard case .body = reading, isSuspended else { return }
        // The time that the handler took is not the client's.
        bodyBegan = server.loop.now
        connection.expect(.body, by: bodyBegan &+ server.limits.idleTimeout)
        resume()
    }

    /// The client has all that was written so far.
    func writerIsBehind() {
        connection.expect(.handling, by: 0)
        suspend()
    }

    /// libmicrohttpd has taken a piece of the answer, and may want the next.
    func writerWasRead() { daemon.hasMoved = true }

    func writerHasMore() {
        connection.expect(.sending, by: server.loop.now &+ server.limits.idleTimeout)
        resume()
    }
}
