import CMicrohttpd
import Core
import Glibc

/// One libmicrohttpd daemon in external epoll mode: its epoll descriptor is watched by our loop, and it runs on the
/// loop's thread at most once a turn, after the turn's tasks: when that descriptor was readable, or an answer became
/// ready. So answers go out and new requests come in together, and what the requests want sent to the database leaves
/// at the end of the same turn.
///
/// A server has one, and while connections with a former certificate are open, older ones beside it.
final class Daemon {
    private let options: DaemonOptions
    let isSecure: Bool
    private var handle: OpaquePointer?
    private var watch: Loop.Watch?
    private var intake: Loop.TurnEnd?
    private var needsRun = false
    private(set) var isRunning = false
    private var adding: Connection?
    /// Held until `stop()`, because the callbacks reach it until then.
    private var server: HTTPServer?
    private(set) var connectionCount = 0

    /// Requests whose handler is at work while their connection is not suspended.
    var waiting = 0
    /// Grows each millisecond while there are such requests.
    private(set) var ticks: UInt64 = 0
    private var ticker: Loop.Timer?
    /// For how long a request waits before its connection is suspended. A database answers within less.
    static let ticksOfPatience: UInt64 = 5
    /// libmicrohttpd asks for each of them at each of its runs, about 60 ns.
    private static let mostWaiting = 128
    /// TLS keeps what came in buffers that no descriptor tells of: there libmicrohttpd's wish to run again must be
    /// plain, which `run()` explains.
    var mayWait: Bool { !isSecure && waiting < Daemon.mostWaiting }

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
        guard handle != nil else { throw isSecure ? HTTPServerError.unusableCertificate : .notStarted }
    }

    deinit { stop() }

    func start(_ server: HTTPServer) {
        guard let handle else { return }
        self.server = server
        watch = server.loop.watch(hermes_mhd_epoll(handle), .read) { [unowned self] _ in self.needsRun = true }
        intake = server.loop.beforeTurnEnd { [unowned self] in if self.needsRun { self.run() } }
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

    /// Has the daemon run before the loop waits.
    func runSoon() {
        needsRun = true
        server?.loop.takeInSoon()
    }

    private func run() {
        guard let handle else { return }
        needsRun = false
        isRunning = true
        MHD_run(handle)
        isRunning = false
        var timeout: UInt64 = 0
        guard MHD_get_timeout(handle, &timeout) == .YES, timeout == 0 else { return }
        // Connections have more to do (a pipelined request, say) though no descriptor says so; or only those that wait
        // for their handlers, which libmicrohttpd counts too. What it may leave undone without having called us is a
        // request line of more than half its buffer: that waits for the tick, at worst.
        if waiting == 0 || hasMoved { runSoon() } else { startTicking() }
        hasMoved = false
    }

    /// Within libmicrohttpd's run something moved that may move on at once: a body, or a stream.
    var hasMoved = false

    private func startTicking() {
        guard ticker == nil, let server else { return }
        ticker = server.loop.schedule(after: 1_000_000) { [unowned self] in
            self.ticker = nil
            self.ticks &+= 1
            self.needsRun = true
        }
    }

    func stop() {
        watch?.cancel()
        intake?.cancel()
        ticker?.cancel()
        watch = nil
        intake = nil
        ticker = nil
        guard let handle else { return }
        self.handle = nil
        MHD_stop_daemon(handle)
        server = nil
    }

    // MARK: called back

    fileprivate func began(_ target: UnsafePointer<CChar>?, _ handle: OpaquePointer) -> UnsafeMutableRawPointer? {
        guard let context = hermes_mhd_context(handle), let server else { return nil }
        let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        let exchange = Exchange(
            daemon: self, server: server, connection: connection, handle: handle, target: target)
        // libmicrohttpd would take the query's arguments apart next, which nobody asks it for; of more than it has memory
        // for it says so, forgets that it has, and waits for a head that it cannot read. It finds none.
        if let target, let query = strchr(target, Int32(UInt8(ascii: "?"))) { query[1] = 0 }
        return Unmanaged.passRetained(exchange).toOpaque()
    }

    fileprivate func opened() -> UnsafeMutableRawPointer? {
        guard let adding else { return nil }
        connectionCount += 1
        return Unmanaged.passRetained(adding).toOpaque()
    }

    fileprivate func closed(_ context: UnsafeMutableRawPointer) {
        connectionCount -= 1
        let connection = Unmanaged<Connection>.fromOpaque(context).takeRetainedValue()
        if let exchange = connection.exchange {
            // libmicrohttpd has not told its end.
            exchange.dropped()
            Unmanaged.passUnretained(exchange).release()
        }
        connection.closed()
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
        // Each connection has a pool, and it is cleared after each answer: no larger than it must be.
        add(.CONNECTION_MEMORY_LIMIT, limits.memory, nil)
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
    let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
    return exchange.proceed(method, version, data, &size.pointee) ? .YES : .NO
}

private let requestEnded:
    @convention(c) (
        UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        MHD_RequestTerminationCode
    ) -> Void = { _, _, context, code in
        guard let context, let pointer = context.pointee else { return }
        context.pointee = nil
        Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue().ended(
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
