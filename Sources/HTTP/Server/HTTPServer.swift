import Core
import Glibc

/// HTTP/1.1 for one worker: takes connections that a `Listener` accepted, and calls `handler` for each request.
///
/// Lives on the worker whose loop it was given; not `Sendable`. A request is read, handled and answered there.
public final class HTTPServer {
    public typealias Handler = (HTTPRequest, HTTPResponder) async -> Void

    /// What a client may cost. Times are nanoseconds, sizes bytes.
    public struct Limits: Sendable {
        /// The request line and the headers; more is answered with 431. A connection's memory is 4 KB more, and 16 KB at
        /// least: as much as there is for 12 KB here. It is cleared for each request, and 20,000 connections have it, so
        /// that the default is less than Node's 16 KB; most proxies let no more than 8 KB through. 431 is also answered
        /// where the records that are kept of headers and cookies leave no room for an answer's head: from about 80 of
        /// them on, 32 where the head is of full size.
        public var headSize = 12 << 10
        /// A request's body, unpacked too where it came with gzip or deflate; more is answered with 413. `bodyMode` may
        /// choose another limit for a request.
        public var bodySize = 20 << 20
        /// For all bodies that are collected, of all servers that have these limits together; past it, 503 is answered.
        /// The default, 256 MB, holds a dozen bodies of the largest size.
        public var bodyBudget = MemoryBudget(limit: 256 << 20)
        /// What the whole bodies of answers hold until they are sent, or never will be: from 1 MB on they count here.
        /// None is refused for it; who makes them, of a database's rows say, can look whether there is room first.
        public var answerBudget = MemoryBudget(limit: 256 << 20)
        /// From a connection's first byte to the end of its first head; from a later request line to its head's end.
        public var headTimeout: UInt64 = 10_000_000_000
        /// Without any progress: between requests, while a body comes in, while an answer goes out.
        public var idleTimeout: UInt64 = 60_000_000_000
        /// Bytes a second that a body must bring on average, once `idleTimeout` has passed.
        public var minimumBodyRate = 1_000
        /// Connections of one `Listener` in all, and from one address: an IPv4 address, or an IPv6 network of 64 bits,
        /// which is what one customer gets. The bound for one address leaves room for a reverse proxy, which is one
        /// address. Once three quarters of all are taken, nobody gets more than are left, so that a few addresses
        /// cannot keep the others out; where the two bounds are the same, one address may have them all.
        public var connections = 20_000
        public var connectionsPerAddress = 5_000
        /// A request that runs for longer has its socket watched, to notice that the client has gone.
        public var watchAfter: UInt64 = 100_000_000
        /// Bytes that may wait in memory between a streamed body's writer and its reader.
        public var streamBuffer = 64 << 10
        /// Bodies of at least this size are compressed when the client asks for it.
        public var compressFrom = 1 << 10
        /// zlib's level, 1 (fast) to 9. Of a list of 50 objects, 13.4 KB, level 1 makes 3.2 KB in 110 µs, level 6
        /// 2.9 KB in 215 µs: the time is worth more than the tenth.
        public var compressionLevel: Int32 = 1

        public init() {}

        /// Of each connection, for the head, its records and the answer's head: bytes.
        var memory: Int { max(16 << 10, headSize + 4 << 10) }
    }

    public let limits: Limits
    /// Headers and body of an answer that the server itself gives (`HTTPRefusal`). By default Parse's shape,
    /// `{"error":"…"}`. What libmicrohttpd refuses by itself (a request line that is none, a head far over the limit, a
    /// chunk without a size) carries its own short HTML text instead.
    public var refusalAnswer: (HTTPRequest, HTTPRefusal) -> (headers: [(String, String)], body: [UInt8]) = {
        _, refusal in
        (
            [("Content-Type", "application/json; charset=utf-8")],
            Array("{\"error\":\"\(refusal.message)\"}".utf8)
        )
    }
    /// Told of each request that was answered without the handler, or for it, with the size of that answer's body: to
    /// log and to count. Where libmicrohttpd refused, the size is 0, the request's method may be empty, and its headers
    /// can't be read. Of what it refuses before it has read the request line it does not tell.
    public var onRefusal: ((HTTPRequest, HTTPRefusal, _ bytes: Int) -> Void)?
    /// How a request's body is taken, decided by its head: collected before the handler is called, unless told
    /// otherwise.
    public var bodyMode: (HTTPRequest) -> HTTPRequest.BodyMode = { _ in .collected(limit: nil) }
    /// Told once whenever a connection has ended.
    public var onConnectionClosed: ((PeerAddress) -> Void)?

    /// Open connections, upgraded ones included.
    public private(set) var connectionCount = 0
    /// Requests that are with the handler, or whose answer is on its way.
    public internal(set) var activeRequests = 0
    /// Requests seen since the start.
    public internal(set) var requestCount = 0

    /// Makes the requests' ids.
    let identifiers: RequestIdentifiers
    let loop: Loop
    let handler: Handler
    let compressor: Compressor
    private var daemon: Daemon
    private var retired: [Daemon] = []
    private var connections: [Connection] = []
    private var sweep: Loop.Timer?
    private var sweepDue: UInt64 = 0
    private var emptied: [Waiter] = []
    private(set) var isDraining = false

    /// - Parameter tls: the certificate and key of an HTTPS server; nil for plain HTTP.
    /// - Throws: `HTTPServerError` when libmicrohttpd refuses to start, because of an unusable certificate say.
    public init(loop: Loop, limits: Limits = Limits(), tls: TLS? = nil, handler: @escaping Handler) throws {
        self.loop = loop
        self.limits = limits
        self.handler = handler
        identifiers = RequestIdentifiers()
        compressor = Compressor(level: limits.compressionLevel)
        daemon = try Daemon(limits: limits, tls: tls)
        daemon.start(self)
    }

    /// Serves new connections with another certificate; those that are open keep theirs until they end.
    public func reload(tls: TLS) throws {
        let next = try Daemon(limits: limits, tls: tls)
        next.start(self)
        retired.append(daemon)
        daemon = next
    }

    /// Takes over a connected, non-blocking socket.
    public func add(connection descriptor: Int32, from address: PeerAddress) {
        guard !isDraining else {
            close(descriptor)
            onConnectionClosed?(address)
            return
        }
        let connection = Connection(server: self, descriptor: descriptor, address: address)
        connection.expect(.firstHead, by: loop.now &+ limits.headTimeout)
        connection.position = connections.count
        connections.append(connection)
        connectionCount += 1
        daemon.add(connection)
        scheduleSweep()
    }

    /// Refuses new connections, ends those that are idle, and the others after the answer they wait for.
    public func stopAccepting() {
        guard !isDraining else { return }
        isDraining = true
        for connection in connections { connection.serverStopsAccepting() }
    }

    /// Stops accepting, waits until all connections have ended, at most `nanoseconds`, then ends those that are left.
    /// Requests whose connection is ended so are told by `HTTPResponder.onClientGone`.
    public func drain(atMost nanoseconds: UInt64) async {
        stopAccepting()
        if connectionCount > 0 {
            let waiter = Waiter()
            emptied.append(waiter)
            let timer = loop.schedule(after: nanoseconds) { waiter.resume() }
            try? await waiter.wait()
            timer.cancel()
        }
        stop()
    }

    /// Ends all connections at once and lets go of what the server holds. It can't be used any more. A server that is
    /// not stopped lives as long as the process. Not to be called by a handler before its first wait.
    public func stop() {
        isDraining = true
        sweep?.cancel()
        sweep = nil
        for connection in connections {
            connection.upgradedConnection?.stop()
            connection.exchange?.giveUp()
        }
        for old in retired { old.stop() }
        retired = []
        daemon.stop()
    }

    // MARK: for connections

    func removed(_ connection: Connection) {
        guard connection.position >= 0 else { return }
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.position] = last
            last.position = connection.position
        }
        connection.position = -1
        connectionCount -= 1
        onConnectionClosed?(connection.address)
        if connectionCount == 0 {
            for waiter in emptied { waiter.resume() }
            emptied = []
        }
    }

    // MARK: time limits

    /// One timer looks after all connections, so that a request costs none: it is as late as a quarter of the shortest
    /// limit, and a second at most.
    private func scheduleSweep() {
        guard sweep == nil, connectionCount > 0 else { return }
        let shortest = min(limits.headTimeout, limits.idleTimeout, 2 * limits.watchAfter)
        let interval = max(1_000_000, min(1_000_000_000, shortest / 4))
        sweepDue = Loop.monotonicNow() &+ interval
        sweep = loop.schedule(after: interval) { [unowned self] in self.lookAfterConnections() }
    }

    private func lookAfterConnections() {
        sweep = nil
        // Where the loop itself was held up, the clients are not to blame: they get that time back.
        let late = loop.now > sweepDue + 2_000_000 ? loop.now - sweepDue : 0
        for connection in connections { connection.lookAfter(now: loop.now, late: late) }
        retired.removeAll { old in
            guard old.connectionCount == 0 else { return false }
            old.stop()
            return true
        }
        scheduleSweep()
    }
}

public enum HTTPServerError: Error, Equatable, CustomStringConvertible {
    /// libmicrohttpd did not start: no descriptor is left.
    case notStarted
    /// The same with TLS, where nearly always the certificate or the key is the reason.
    case unusableCertificate
    /// The certificate's or the key's file, with the system's message.
    case unreadable(String)
    /// The address is taken, not local, or not an address; with the system's message.
    case cannotListen(String)
    /// The client has closed its connection, or had it closed for being too slow.
    case clientGone
    /// A streamed body came to more than its limit.
    case bodyTooLarge
    /// The client asked for no upgrade, or has been answered already.
    case cannotUpgrade

    /// For who runs the server.
    public var description: String {
        switch self {
        case .notStarted: "The HTTP server does not start: no file descriptor is left."
        case .unusableCertificate:
            "The certificate and its key can't be used: one of them is no PEM, or they do not belong together."
        case .unreadable(let reason): "Can't read \(reason)"
        case .cannotListen(let reason): "Can't listen on \(reason)."
        case .clientGone: "The client has gone."
        case .bodyTooLarge: "The body is too large."
        case .cannotUpgrade: "The connection can't become another protocol's."
        }
    }
}
