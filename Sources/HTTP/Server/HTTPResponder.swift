import CMicrohttpd
import Core
import Glibc

/// Where a handler sends its answer: once, whole or as a stream. A handler that ends without having answered
/// has 500 answered for it.
///
/// How libmicrohttpd wants it: it calls `proceed` first with the head alone, then with each piece of the body, then
/// once more, and only then the answer is queued, or the connection could not be used again. It is suspended while the
/// handler is at work, and resumed with the answer in place.
public final class HTTPResponder {
    private enum Stage {
        case head
        case body
        /// The request is complete: the answer may be queued.
        case complete
    }

    public let request: HTTPRequest
    /// The loop that the request lives on.
    public var loop: Loop { server.loop }
    /// Whether an answer has been given.
    public private(set) var hasAnswered = false
    /// Whether the client has closed its connection, or half of it, before it had the whole answer. It is noticed
    /// while a request is read or an answer is written, and for a request that runs for longer than
    /// `Limits.watchAfter`.
    public private(set) var isClientGone = false
    /// Called once when the client has gone before it had its answer, outside of any task: the place to cancel a
    /// database statement. Called at once when set too late.
    public var onClientGone: (() -> Void)? {
        didSet { if isClientGone { tellClientGone() } }
    }

    private let daemon: Daemon
    let connection: Connection
    private(set) var handle: OpaquePointer?
    private var stage = Stage.head
    private var isSuspended = false
    private var isAbandoned = false
    private var queued: (status: UInt32, response: OpaquePointer)?
    private var bodyLimit = 0
    private var bodySize = 0
    private var bodyBegan: UInt64 = 0
    /// What a body over its limit is answered with once it has all come.
    private var refusal: (status: Int, message: String)?
    private var writer: ResponseWriter?
    /// What the handler runs in; it holds this responder until it ends.
    private var task: Task<Void, Never>?
    private var upgrade: UpgradeRequest?

    private let server: HTTPServer

    init(
        daemon: Daemon, server: HTTPServer, connection: Connection, handle: OpaquePointer, target: UnsafePointer<CChar>?
    ) {
        self.daemon = daemon
        self.server = server
        self.connection = connection
        self.handle = handle
        // The method and version are told to `proceed` first.
        request = HTTPRequest(
            handle: handle, connection: connection, target: target.map { String(cString: $0) } ?? "/")
        connection.responder = self
        server.requestCount += 1
        connection.expect(.head, by: server.loop.now &+ server.limits.headTimeout)
    }

    // MARK: answering

    /// Answers with a whole body. Headers go out as given, with Date, Content-Length and what concerns the connection.
    /// A text body of `Limits.compressFrom` bytes or more is compressed where the client accepts gzip.
    public func respond(status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []) {
        body.withUnsafeBytes { respond(status: status, headers: headers, bytes: $0) }
    }

    /// Answers with a whole body, which is copied.
    public func respond(status: Int = 200, headers: [(String, String)] = [], bytes: UnsafeRawBufferPointer) {
        guard begin() else { return }
        var response: OpaquePointer?
        var isCompressed = false
        if bytes.count >= server.limits.compressFrom, Compressor.isWorthwhile(headers), acceptsGzip {
            if let packed = server.compressor.gzip(bytes) {
                response = MHD_create_response_from_buffer(packed.count, packed.baseAddress, .RESPMEM_MUST_FREE)
                isCompressed = true
            }
        }
        if response == nil {
            // libmicrohttpd copies, and does not write to what it was given.
            response = MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let response else { return abandon() }
        if isCompressed {
            MHD_add_response_header(response, "Content-Encoding", "gzip")
            MHD_add_response_header(response, "Vary", "Accept-Encoding")
        }
        finish(status, headers, response)
    }

    /// Begins an answer whose body comes piece by piece; `length` is its size in bytes where it is known, otherwise it
    /// goes out chunked. Nothing is written for HEAD, whose connection ends when the length is not known. It begins to go out when the request has all come: what is left
    /// of a streamed request's body is discarded.
    public func respondStreaming(
        status: Int = 200, headers: [(String, String)] = [], length: Int? = nil
    ) -> ResponseWriter {
        let writer = ResponseWriter(capacity: server.limits.streamBuffer, discards: request.method == "HEAD")
        guard begin() else {
            writer.fail()
            return writer
        }
        guard let response = writer.makeResponse(length: length) else {
            abandon()
            return writer
        }
        self.writer = writer
        writer.suspend = { [unowned self] in
            self.connection.expect(.handling, by: 0)
            self.suspend()
        }
        writer.resume = { [unowned self] in
            self.connection.expect(.sending, by: self.server.loop.now &+ self.server.limits.idleTimeout)
            self.resume()
        }
        finish(status, headers, response)
        return writer
    }

    /// Switches to another protocol with 101, for `Upgrade: websocket` say; the caller has checked the request's
    /// headers and gives its own (`Sec-WebSocket-Accept`).
    public func upgrade(to name: String, headers: [(String, String)] = []) async throws -> UpgradedConnection {
        guard stage == .complete, !hasAnswered, !request.isHTTP10, begin() else {
            throw HTTPServerError.cannotUpgrade
        }
        let upgrade = UpgradeRequest()
        guard let response = upgrade.makeResponse() else { throw HTTPServerError.cannotUpgrade }
        self.upgrade = upgrade
        MHD_add_response_header(response, "Upgrade", name)
        finish(101, headers, response)
        return try await upgrade.connection()
    }

    private func begin() -> Bool {
        precondition(!hasAnswered, "a request is answered once")
        hasAnswered = true
        return handle != nil && !isAbandoned
    }

    private var acceptsGzip: Bool {
        guard let accepted = request.header("Accept-Encoding") else { return false }
        return Compressor.isAccepted(accepted)
    }

    private func finish(_ status: Int, _ headers: [(String, String)], _ response: OpaquePointer) {
        for (name, value) in headers { MHD_add_response_header(response, name, value) }
        if server.isDraining, upgrade == nil { MHD_add_response_header(response, "Connection", "close") }
        queued = (UInt32(clamping: status), response)
        if stage == .complete {
            queue()
            resume()
        } else {
            // The rest of the body is let through first; an answer before its end would cost the connection.
            request.stream?.end()
            resume()
        }
    }

    @discardableResult
    private func queue() -> Bool {
        guard let handle, let queued else { return false }
        self.queued = nil
        if writer == nil || writer?.hasBytes == true {
            connection.expect(.sending, by: server.loop.now &+ server.limits.idleTimeout)
        }
        let result = MHD_queue_response(handle, queued.status, queued.response)
        MHD_destroy_response(queued.response)
        return result == .YES
    }

    private func refuse(_ status: Int, _ message: String) -> Bool {
        hasAnswered = true
        let (type, body) = server.errorBody(status, message)
        let response = body.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let response else { return false }
        MHD_add_response_header(response, "Content-Type", type)
        if stage != .complete { MHD_add_response_header(response, "Connection", "close") }
        queued = (UInt32(clamping: status), response)
        return queue()
    }

    // MARK: libmicrohttpd's calls

    /// - Returns: false to have the connection closed.
    func proceed(
        _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
        _ size: inout Int
    ) -> Bool {
        if isAbandoned { return false }
        switch stage {
        case .head:
            if let method { request.method = String(cString: method) }
            // `HTTP/1.0`, `HTTP/1.1`, or nothing.
            if let version { request.isHTTP10 = strcmp(version, "HTTP/1.1") != 0 }
            return headIsComplete()
        case .body where size > 0: return received(UnsafeRawBufferPointer(start: data, count: size), &size)
        case .body: return requestIsComplete()
        case .complete:
            // Called again when something resumed the connection before the answer was there.
            if !hasAnswered { suspend() }
            return true
        }
    }

    private func headIsComplete() -> Bool {
        guard let handle else { return false }
        if hermes_mhd_head_size(handle) > server.limits.headSize {
            return refuse(431, "The request's head is over \(server.limits.headSize) bytes.")
        }
        let framing = Framing(handle, isHTTP10: request.isHTTP10)
        if let problem = framing.problem { return refuse(problem.status, problem.message) }
        stage = .body
        bodyBegan = server.loop.now
        connection.expect(.body, by: bodyBegan &+ server.limits.idleTimeout)
        let limit: Int?
        switch server.bodyMode(request) {
        case .collected(let chosen): limit = chosen
        case .streamed(let chosen):
            limit = chosen
            let stream = RequestStream(capacity: server.limits.streamBuffer)
            stream.onRoom = { [unowned self] in
                guard self.stage == .body, self.isSuspended else { return }
                // The time that the handler took is not the client's.
                self.bodyBegan = self.server.loop.now
                self.connection.expect(.body, by: self.bodyBegan &+ self.server.limits.idleTimeout)
                self.resume()
            }
            request.stream = stream
        }
        bodyLimit = limit ?? server.limits.bodySize
        if framing.contentLength > bodyLimit {
            let message = "The request's body is over \(bodyLimit) bytes."
            // A client that asked first has sent nothing yet. From the others a bounded rest is taken, because one that
            // is still writing would find its connection reset and never read the answer.
            if framing.expectsContinue || framing.contentLength > 4 * bodyLimit { return refuse(413, message) }
            refusal = (413, message)
        } else if request.stream != nil {
            run()
        } else if framing.contentLength > 0 {
            request.body.reserveCapacity(min(framing.contentLength, 1 << 20))
        }
        return true
    }

    private func received(_ bytes: UnsafeRawBufferPointer, _ left: inout Int) -> Bool {
        var count = bytes.count
        if refusal == nil, bodySize + count > bodyLimit {
            refusal = (413, "The request's body is over \(bodyLimit) bytes.")
            request.body = []
            request.stream?.end(HTTPServerError.bodyTooLarge)
        }
        if refusal != nil || (request.stream != nil && hasAnswered) {
            if bodySize + count > 4 * bodyLimit + (1 << 16) { return false }
        } else if let stream = request.stream {
            count = stream.offer(bytes)
            if count < bytes.count { suspend() }
        } else {
            request.body.append(contentsOf: bytes)
        }
        bodySize += count
        left = bytes.count - count
        // A body may take `idleTimeout` without progress, and in all as long as the minimal rate allows.
        let allowed = UInt64(bodySize / max(1, server.limits.minimumBodyRate)) &* 1_000_000_000
        let deadline = min(server.loop.now, bodyBegan &+ allowed) &+ server.limits.idleTimeout
        connection.expect(.body, by: isSuspended ? 0 : deadline)
        return true
    }

    private func requestIsComplete() -> Bool {
        stage = .complete
        request.stream?.end()
        if let refusal, !hasAnswered { return refuse(refusal.status, refusal.message) }
        if queued != nil { return queue() }
        connection.expect(.handling, by: 0)
        if request.stream == nil { run() }
        // Suspending costs system calls, which a handler that answers without waiting is spared.
        if !hasAnswered { suspend() }
        return true
    }

    /// Cancels the handler's task, and with it the database statement that it waits for, when the client has gone
    /// before it had its answer. Takes the place of `onClientGone`.
    public func cancelWhenClientIsGone() {
        onClientGone = { [weak self] in self?.task?.cancel() }
    }

    private func run() {
        server.activeRequests += 1
        let server = server
        task = server.loop.spawnImmediately {
            await server.handler(self.request, self)
            server.activeRequests -= 1
            if !self.hasAnswered { self.answerForHandler() }
            self.writer?.handlerEnded()
        }
    }

    private func answerForHandler() {
        if let refusal {
            let (type, body) = server.errorBody(refusal.status, refusal.message)
            return respond(status: refusal.status, headers: [("Content-Type", type)], body: body)
        }
        let (type, body) = server.errorBody(500, "The request was not answered.")
        respond(status: 500, headers: [("Content-Type", type)], body: body)
    }

    /// The socket has been handed over after the 101.
    func upgraded(_ socket: Int32, received: [UInt8], _ handle: OpaquePointer) {
        guard let upgrade else { return }
        let daemon = daemon
        let opened = UpgradedConnection(
            connection: connection, socket: socket, isSecure: daemon.isSecure, received: received,
            end: {
                hermes_mhd_close_upgraded(handle)
                daemon.runSoon()
            })
        upgrade.succeed(opened)
    }

    /// The answer has been sent, or never will be.
    func ended(completely: Bool) {
        handle = nil
        request.handle = nil
        if let queued { MHD_destroy_response(queued.response) }
        queued = nil
        isSuspended = false
        if !completely { clientHasGone() }
        request.stream?.end(HTTPServerError.clientGone)
        writer?.fail()
        upgrade?.fail()
        connection.responder = nil
        connection.expect(.idle, by: server.loop.now &+ server.limits.idleTimeout)
        if server.isDraining { connection.shutDown() }
    }

    func clientHasGone() {
        guard !isClientGone else { return }
        isClientGone = true
        request.stream?.end(HTTPServerError.clientGone)
        tellClientGone()
    }

    private func tellClientGone() {
        guard let handler = onClientGone else { return }
        onClientGone = nil
        handler()
    }

    /// Ends the connection without an answer.
    func abandon() {
        isAbandoned = true
        connection.shutDown()
        resume()
        clientHasGone()
        writer?.fail()
    }

    private func suspend() {
        guard let handle, !isSuspended else { return }
        isSuspended = true
        MHD_suspend_connection(handle)
    }

    private func resume() {
        guard let handle, isSuspended else { return }
        isSuspended = false
        MHD_resume_connection(handle)
        daemon.runSoon()
    }
}
