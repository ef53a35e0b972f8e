import CMicrohttpd
import Core
import Glibc

/// A connection that speaks another protocol since its 101: a non-blocking socket, to be watched with `Loop.watch`.
/// On HTTPS it is a local socket whose other end libmicrohttpd encrypts. Counts as a connection until `close()`.
public final class UpgradedConnection {
    /// Belongs to this object; -1 after `close()`.
    public private(set) var descriptor: Int32
    /// What the client sent behind its request already.
    public let received: [UInt8]
    public var remoteAddress: PeerAddress { connection.address }
    /// Called once when the server stops accepting: the time to say good-bye and `close()`. Where that has not happened
    /// when the server's patience ends, it closes the socket itself. Called at once when set too late.
    public var onStop: (() -> Void)? {
        didSet { if isStopping { tellStop() } }
    }
    private var isStopping = false
    private let connection: Connection
    private let isSecure: Bool
    private let end: () -> Void

    /// nil when the process has no descriptor left: the connection is ended then.
    init?(connection: Connection, socket: Int32, isSecure: Bool, received: [UInt8], end: @escaping () -> Void) {
        // A plain socket is taken away from libmicrohttpd, with the memory that it keeps for each connection.
        let own = isSecure ? socket : fcntl(socket, F_DUPFD_CLOEXEC, 0)
        if !isSecure { end() }
        guard own >= 0 else { return nil }
        self.connection = connection
        self.isSecure = isSecure
        self.received = received
        self.end = end
        descriptor = own
        connection.upgraded(self)
    }

    deinit { close() }

    /// Closes the socket; cancel its watch before. Safe to call again.
    public func close() {
        guard descriptor >= 0 else { return }
        if isSecure { end() } else { Glibc.close(descriptor) }
        descriptor = -1
        connection.upgradedClosed()
    }

    func serverStopsAccepting() {
        isStopping = true
        tellStop()
    }

    private func tellStop() {
        guard let handler = onStop else { return }
        onStop = nil
        handler()
    }

    func stop() {
        serverStopsAccepting()
        close()
    }
}

/// An upgrade between its answer and the moment when libmicrohttpd hands the socket over.
final class UpgradeRequest {
    private let waiter = Waiter()
    private var opened: UpgradedConnection?

    func makeResponse() -> OpaquePointer? {
        MHD_create_response_for_upgrade(
            { _, _, responder, extra, extraSize, socket, handle in
                guard let responder, let handle else { return }
                let received = Array(UnsafeRawBufferPointer(start: extra, count: extra == nil ? 0 : extraSize))
                Unmanaged<Exchange>.fromOpaque(responder).takeUnretainedValue().upgraded(
                    socket, received: received, handle)
            }, nil)
    }

    func connection() async throws -> UpgradedConnection {
        try await waiter.wait()
        guard let opened else { throw HTTPServerError.clientGone }
        self.opened = nil
        return opened
    }

    func succeed(_ opened: UpgradedConnection) {
        self.opened = opened
        waiter.resume()
    }

    func fail() { waiter.resume(throwing: HTTPServerError.clientGone) }
}
