import CLinux
import Core
import Glibc

/// One client's connection, and what is expected of it by when.
final class Connection {
    enum Phase {
        /// Nothing has been asked yet.
        case firstHead
        /// Between two requests.
        case idle
        case head
        case body
        /// The handler is at work; the client waits.
        case handling
        /// An answer is on its way out.
        case sending
    }

    let descriptor: Int32
    let address: PeerAddress
    /// The place among the server's connections.
    var position = -1
    /// The request in progress. (Not weak: that would make each of its retains slow. It is taken back at its end.)
    var responder: HTTPResponder?
    private(set) var phase = Phase.firstHead
    private let server: HTTPServer
    private var deadline: UInt64 = 0
    private var since: UInt64 = 0
    private var acknowledged: UInt64 = 0
    private var watch: Loop.Watch?
    private var peerIsGone = false
    private var isUpgraded = false
    /// What the connection was handed over to.
    private(set) weak var upgradedConnection: UpgradedConnection?

    init(server: HTTPServer, descriptor: Int32, address: PeerAddress) {
        self.server = server
        self.descriptor = descriptor
        self.address = address
    }

    /// - Parameter deadline: when the client is too late; 0 for never.
    func expect(_ phase: Phase, by deadline: UInt64) {
        guard !isUpgraded else { return }
        self.phase = phase
        self.deadline = deadline
        since = server.loop.now
        if phase != .handling { unwatch() }
    }

    func closed() {
        unwatch()
        if !isUpgraded { server.removed(self) }
    }

    /// Has libmicrohttpd end the connection, which it does when it sees the socket's end.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The socket belongs to an `UpgradedConnection` from now on, which counts until `upgradedClosed()`.
    func upgraded(_ upgradedConnection: UpgradedConnection) {
        isUpgraded = true
        self.upgradedConnection = upgradedConnection
        deadline = 0
        unwatch()
    }

    func upgradedClosed() {
        guard isUpgraded else { return }
        server.removed(self)
    }

    /// - Parameter late: how much later than it should the server looks.
    func lookAfter(now: UInt64, late: UInt64) {
        if isUpgraded { return }
        if deadline != 0 { deadline &+= late }
        if phase == .handling, !peerIsGone, watch == nil, now &- since >= server.limits.watchAfter { watchForPeer() }
        guard deadline != 0, now >= deadline else { return }
        var acknowledged: UInt64 = 0
        var received: UInt64 = 0
        if hermes_tcp_progress(descriptor, &acknowledged, &received) == 0 {
            switch phase {
            case .firstHead where received == 0:
                // Opened ahead of need, as browsers do: that is idle, not slow.
                return expect(.idle, by: since &+ server.limits.idleTimeout)
            case .sending where acknowledged != self.acknowledged:
                self.acknowledged = acknowledged
                deadline = now &+ server.limits.idleTimeout
                return
            default: break
            }
        }
        deadline = 0
        shutDown()
        // One that is suspended would not see it.
        responder?.clientHasGone()
    }

    private func watchForPeer() {
        watch = server.loop.watch(descriptor, .peerClosed) { [unowned self] _ in
            unwatch()
            peerIsGone = true
            responder?.clientHasGone()
        }
    }

    private func unwatch() {
        watch?.cancel()
        watch = nil
    }
}
