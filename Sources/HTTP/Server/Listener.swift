import CLinux
import Core
import Glibc
import Synchronization

/// A listening socket of the process. Accepts on one worker, and deals each connection to the worker that has the
/// fewest, so that the few connections of a reverse proxy are spread too. Bounds connections in all and by address:
/// those over a bound are closed at once.
public final class Listener: Sendable {
    private struct State {
        var seats: [Seat] = []
        var total = 0
        var byHost: [PeerAddress.Host: Int] = [:]
    }

    /// One worker's server.
    ///
    /// - Safety: `server` is reached only from calls posted to `executor`, which is the thread it lives on.
    private final class Seat: @unchecked Sendable {
        let executor: LoopExecutor
        let server: HTTPServer
        /// Guarded by the listener's mutex.
        var count = 0
        init(executor: LoopExecutor, server: HTTPServer) {
            self.executor = executor
            self.server = server
        }
    }

    /// The host as given, and the port that is listened on: chosen by the system when 0 was asked for.
    public let host: String
    public let port: Int
    private let descriptor: Int32
    private let connections: Int
    private let connectionsPerAddress: Int
    private let state = Mutex(State())
    private let isClosed = Atomic(false)

    /// Binds, and lets connections queue up until `start`.
    /// - Parameters:
    ///   - host: a numeric address (`127.0.0.1`, `0.0.0.0`, `::`) or a name, of which the first address is taken.
    ///   - port: 0 for one that is free.
    /// - Throws: `HTTPServerError.cannotListen`.
    public init(host: String = "127.0.0.1", port: Int, limits: HTTPServer.Limits = .init()) throws {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &list)
        guard result == 0, let address = list?.pointee else {
            throw HTTPServerError.cannotListen("\(host):\(port): \(String(cString: gai_strerror(result)))")
        }
        defer { freeaddrinfo(list) }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.ai_family, kind, 0)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
        guard descriptor >= 0, bind(descriptor, address.ai_addr, address.ai_addrlen) == 0,
            listen(descriptor, 4096) == 0
        else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw HTTPServerError.cannotListen("\(host):\(port): \(reason)")
        }
        // Inherited by what is accepted, which saves a call for each.
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        self.descriptor = descriptor
        self.host = host
        self.port = Listener.boundPort(descriptor) ?? port
        connections = limits.connections
        connectionsPerAddress = limits.connectionsPerAddress
    }

    deinit { if !isClosed.load(ordering: .relaxed) { close(descriptor) } }

    /// Adds a worker's server to those that get connections. Call it on that worker.
    public func add(_ server: HTTPServer) {
        let seat = Seat(executor: server.loop.executor, server: server)
        server.onConnectionClosed = { [weak self, weak seat] address in self?.closed(address, seat) }
        state.withLock { $0.seats.append(seat) }
    }

    /// Accepts on the worker of `loop`, until `stop(on:)`.
    public func start(on loop: Loop) {
        loop.keep(Acceptor(listener: self, loop: loop))
    }

    /// Stops listening. Call it on the worker that `start` was called on; connections that are open stay.
    public func stop(on loop: Loop) {
        loop.releaseAll(Acceptor.self) { acceptor in acceptor.listener === self }
        if !isClosed.exchange(true, ordering: .relaxed) { close(descriptor) }
        // They hold the servers.
        state.withLock { $0.seats.removeAll() }
    }

    /// Open connections, in all.
    public var connectionCount: Int { state.withLock { $0.total } }

    private func closed(_ address: PeerAddress, _ seat: Seat?) {
        state.withLock { state in
            seat?.count -= 1
            state.total -= 1
            guard let count = state.byHost[address.host.network] else { return }
            state.byHost[address.host.network] = count > 1 ? count - 1 : nil
        }
    }

    private static func boundPort(_ descriptor: Int32) -> Int? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? Int(PeerAddress(storage).port) : nil
    }

    /// Accepts all that wait, but no more than a bounded number a turn.
    /// - Returns: false when the process has no descriptor left, so that accepting should rest for a while.
    fileprivate func accept() -> Bool {
        for _ in 0..<256 {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let socket = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    hermes_accept(descriptor, $0, &length)
                }
            }
            guard socket >= 0 else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOMEM, ENOBUFS: return false
                default: return true
                }
            }
            deal(socket, PeerAddress(storage))
        }
        return true
    }

    /// How many connections one address may have when there are `total`.
    private func share(_ total: Int) -> Int {
        guard connectionsPerAddress < connections, total >= connections - connections / 4 else {
            return connectionsPerAddress
        }
        return min(connectionsPerAddress, connections - total)
    }

    private func deal(_ socket: Int32, _ address: PeerAddress) {
        let seat: Seat? = state.withLock { state in
            let fromHost = state.byHost[address.host.network] ?? 0
            guard state.total < connections, fromHost < share(state.total),
                let seat = state.seats.min(by: { $0.count < $1.count })
            else { return nil }
            seat.count += 1
            state.total += 1
            state.byHost[address.host.network] = fromHost + 1
            return seat
        }
        guard let seat else {
            close(socket)
            return
        }
        if seat.executor.isCurrent {
            seat.server.add(connection: socket, from: address)
        } else {
            seat.executor.post { seat.server.add(connection: socket, from: address) }
        }
    }
}

/// The listener's part that lives on a worker.
private final class Acceptor {
    let listener: Listener
    private var watch: Loop.Watch?
    /// When the log is told again that no descriptor is left, in the loop's time.
    private var quietUntil: UInt64 = 0

    init(listener: Listener, loop: Loop) {
        self.listener = listener
        watch = nil
        watch = loop.watch(listener.watched, .read) { [unowned self, unowned loop] _ in
            guard !self.listener.accept() else { return }
            self.tellOfWantingDescriptors(loop.now)
            // Level-triggered: without a rest it would spin.
            self.watch?.update([])
            loop.schedule(after: 50_000_000) { [weak self] in self?.watch?.update(.read) }
        }
    }

    deinit { watch?.cancel() }

    /// Clients that wait are told nothing, so the log is: at once, and every ten seconds as long as it lasts.
    private func tellOfWantingDescriptors(_ now: UInt64) {
        guard now >= quietUntil else { return }
        quietUntil = now &+ 10_000_000_000
        Log.shared.error(
            "new connections wait: the system gives this process no more open files (ulimit -n, LimitNOFILE)",
            ["connections": .int(listener.connectionCount)])
    }
}

extension Listener {
    fileprivate var watched: Int32 { descriptor }
}
