import CMicrohttpd
import Core
import Glibc

/// One libmicrohttpd daemon in external epoll mode: its epoll descriptor is watched by our loop, and it runs on the
/// loop's thread when that is readable, or at the end of a turn in which an answer became ready.
///
/// A server has one, and while connections with a former certificate are open, older ones beside it.
final class Daemon {
    private let options: DaemonOptions
    let isSecure: Bool
    private var handle: OpaquePointer?
    private var watch: Loop.Watch?
    private var turnEnd: Loop.TurnEnd?
    private var needsRun = false
    private var adding: Connection?
    /// Held until `stop()`, because the callbacks reach it until then.
    private var server: HTTPServer?
    private(set) var connectionCount = 0

    init(limits: HTTPServer.Limits, tls: TLS?) throws {
        isSecure = tls != nil
        options = DaemonOptions(limits: limits, tls: tls)
        var flags =
            MHD_USE_EPOLL.rawValue | MHD_USE_NO_LISTEN_SOCKET.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | MHD_ALLOW_UPGRADE.rawValue
        if isSecure { flags |= MHD_USE_TLS.rawValue }
        // The callbacks' argument is this object; it outlives the handle, which `stop()` or `deinit` ends.
        let argument = Unmanaged.passUnretained(self).toOpaque()
        options.add(.URI_LOG_CALLBACK, unsafeBitCast(requestBegan, to: Int.self), argument)
        options.add(.NOTIFY_COMPLETED, unsafeBitCast(requestEnded, to: Int.self), argument)
        options.add(.NOTIFY_CONNECTION, unsafeBitCast(connectionChanged, to: Int.self), argument)
        options.add(.UNESCAPE_CALLBACK, unsafeBitCast(leaveEscaped, to: Int.self), nil)
        options.add(.END, 0, nil)
        handle = hermes_mhd_start(flags, requestProceeded, argument, options.items)
        guard handle != nil else { throw HTTPServerError.notStarted }
    }

    deinit { stop() }

    func start(_ server: HTTPServer) {
        guard let handle else { return }
        self.server = server
        watch = server.loop.watch(hermes_mhd_epoll(handle), .read) { [unowned self] _ in self.run() }
        turnEnd = server.loop.atTurnEnd { [unowned self] in if self.needsRun { self.run() } }
    }

    func add(_ connection: Connection) {
        guard let handle, let server else { return }
        adding = connection
        connection.address.withSockaddr { address, length in
            // A failure closes the socket and, as the connection has not been announced, nothing more.
            if MHD_add_connection(handle, connection.descriptor, address, length) == .NO {
                server.removed(connection)
            }
        }
        adding = nil
        runSoon()
    }

    /// Has the daemon run at the end of this turn, or of the next one when this one's end has begun.
    func runSoon() {
        needsRun = true
        server?.loop.turnAgain()
    }

    private func run() {
        guard let handle else { return }
        needsRun = false
        MHD_run(handle)
        var timeout: UInt64 = 0
        // Zero: connections have more to do (a pipelined request, say) though no descriptor says so.
        if MHD_get_timeout(handle, &timeout) == .YES, timeout == 0 { runSoon() }
    }

    func stop() {
        watch?.cancel()
        turnEnd?.cancel()
        watch = nil
        turnEnd = nil
        guard let handle else { return }
        self.handle = nil
        MHD_stop_daemon(handle)
        server = nil
    }

    // MARK: called back

    fileprivate func began(_ target: UnsafePointer<CChar>?, _ handle: OpaquePointer) -> UnsafeMutableRawPointer? {
        guard let context = hermes_mhd_context(handle), let server else { return nil }
        let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        let responder = HTTPResponder(
            daemon: self, server: server, connection: connection, handle: handle, target: target)
        return Unmanaged.passRetained(responder).toOpaque()
    }

    fileprivate func opened() -> UnsafeMutableRawPointer? {
        guard let adding else { return nil }
        connectionCount += 1
        return Unmanaged.passRetained(adding).toOpaque()
    }

    fileprivate func closed(_ context: UnsafeMutableRawPointer) {
        connectionCount -= 1
        Unmanaged<Connection>.fromOpaque(context).takeRetainedValue().closed()
    }
}

/// The options in the form that libmicrohttpd reads; owns the texts that it keeps pointers to.
final class DaemonOptions {
    private(set) var items: UnsafeMutablePointer<MHD_OptionItem>
    private var count = 0
    private let capacity = 16
    private var texts: [UnsafeMutablePointer<CChar>] = []

    init(limits: HTTPServer.Limits, tls: TLS?) {
        items = .allocate(capacity: capacity)
        // The pool holds the head, what is parsed from it, and the answer's head. It is cleared after each answer,
        // which is an eighth of a short answer's cost: no larger than it must be.
        add(.CONNECTION_MEMORY_LIMIT, limits.headSize + 8 << 10, nil)
        add(.CONNECTION_MEMORY_INCREMENT, 4096, nil)
        add(.CONNECTION_LIMIT, limits.connections, nil)
        add(.CONNECTION_TIMEOUT, 0, nil)
        add(.STRICT_FOR_CLIENT, 1, nil)
        // An answer to a client that has gone must not end the process. libmicrohttpd would block the signal for each.
        signal(SIGPIPE, SIG_IGN)
        add(.SIGPIPE_HANDLED_BY_APP, 1, nil)
        if let tls {
            add(.HTTPS_MEM_CERT, 0, keep(tls.certificateChain))
            add(.HTTPS_MEM_KEY, 0, keep(tls.privateKey))
            add(.HTTPS_PRIORITIES, 0, keep(tls.priorities))
        }
    }

    deinit {
        items.deallocate()
        for text in texts { free(text) }
    }

    func add(_ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer?) {
        precondition(count < capacity)
        items[count] = MHD_OptionItem(option: option, value: value, ptr_value: pointer)
        count += 1
    }

    private func keep(_ text: String) -> UnsafeMutableRawPointer? {
        guard let copy = strdup(text) else { return nil }
        texts.append(copy)
        return UnsafeMutableRawPointer(copy)
    }
}

// MARK: C callbacks

private let requestBegan:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
        argument, target, handle in
        guard let argument, let handle else { return nil }
        return Unmanaged<Daemon>.fromOpaque(argument).takeUnretainedValue().began(target, handle)
    }

private let requestProceeded: MHD_AccessHandlerCallback = { _, _, _, method, version, data, size, context in
    guard let pointer = context?.pointee, let size else { return .NO }
    let responder = Unmanaged<HTTPResponder>.fromOpaque(pointer).takeUnretainedValue()
    return responder.proceed(method, version, data, &size.pointee) ? .YES : .NO
}

private let requestEnded:
    @convention(c) (
        UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        MHD_RequestTerminationCode
    ) -> Void = { _, _, context, code in
        guard let context, let pointer = context.pointee else { return }
        context.pointee = nil
        Unmanaged<HTTPResponder>.fromOpaque(pointer).takeRetainedValue().ended(
            completely: code == .REQUEST_TERMINATED_COMPLETED_OK)
    }

private let connectionChanged:
    @convention(c) (
        UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        MHD_ConnectionNotificationCode
    ) -> Void = { argument, _, context, code in
        guard let argument, let context else { return }
        let daemon = Unmanaged<Daemon>.fromOpaque(argument).takeUnretainedValue()
        if code == .CONNECTION_NOTIFY_STARTED {
            context.pointee = daemon.opened()
        } else if let pointer = context.pointee {
            context.pointee = nil
            daemon.closed(pointer)
        }
    }

/// Leaves percent-encoding alone: the target is split first and decoded afterwards, so that %2F stays within a segment.
private let leaveEscaped:
    @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<CChar>?) -> Int = { _, _, text in
        guard let text else { return 0 }
        return strlen(text)
    }
