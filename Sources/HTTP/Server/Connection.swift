import CLinux
import CMicrohttpd
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
        /// Handed over to an `UpgradedConnection`.
        case upgraded
        case closed
    }

    /// -1 once it is no longer ours: closed, or handed over. Its number may be another's by then.
    private(set) var descriptor: Int32
    let address: PeerAddress
    /// The place among the server's connections.
    var position = -1
    /// The request in progress. (Not weak: that would make each of its retains slow. It is taken back at its end.)
    var exchange: Exchange?
    /// The headers of that request.
    var head = Head()
    private(set) var phase = Phase.firstHead
    let server: HTTPServer
    private var deadline: UInt64 = 0
    private var since: UInt64 = 0
    private var acknowledged: UInt64 = 0
    private var watch: Loop.Watch?
    private var peerIsGone = false
    /// Whether it was looked, in this phase, if the client has ended its side.
    private var hasLooked = false
    /// What the connection was handed over to.
    private(set) weak var upgradedConnection: UpgradedConnection?

    init(server: HTTPServer, descriptor: Int32, address: PeerAddress) {
        self.server = server
        self.descriptor = descriptor
        self.address = address
    }

    /// - Parameter deadline: when the client is too late; 0 for never.
    func expect(_ phase: Phase, by deadline: UInt64) {
        switch self.phase {
        case .upgraded, .closed: return
        default: self.phase = phase
        }
        self.deadline = deadline
        hasLooked = false
        since = server.loop.now
        if phase != .handling { unwatch() }
    }

    /// libmicrohttpd is about to close the socket.
    func closed() {
        unwatch()
        descriptor = -1
        guard phase != .upgraded else { return }
        phase = .closed
        server.removed(self)
    }

    /// Has libmicrohttpd end the connection, which it does when it sees the socket's end.
    func shutDown() {
        guard descriptor >= 0 else { return }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Answers past libmicrohttpd, which has sent nothing of an answer yet and is about to close the connection. What
    /// does not fit into the socket's buffer is lost.
    func sendLast(_ status: Int, _ headers: [(String, String)], _ body: [UInt8]) {
        let reason = MHD_get_reason_phrase_for(UInt32(clamping: status)).map { String(cString: $0) } ?? ""
        var head = "HTTP/1.1 \(status) \(reason)\r\nConnection: close\r\nContent-Length: \(body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        let bytes = Array((head + "\r\n").utf8) + body
        _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// The socket belongs to an `UpgradedConnection` from now on, which counts until `upgradedClosed()`.
    func upgraded(_ upgradedConnection: UpgradedConnection) {
        unwatch()
        descriptor = -1
        phase = .upgraded
        deadline = 0
        self.upgradedConnection = upgradedConnection
    }

    func upgradedClosed() {
        guard phase == .upgraded else { return }
        phase = .closed
        server.removed(self)
    }

    /// The server takes no more requests.
    func serverStopsAccepting() {
        if let upgradedConnection { return upgradedConnection.serverStopsAccepting() }
        if exchange == nil { shutDown() }
    }

    /// - Parameter late: how much later than it should the server looks.
    func lookAfter(now: UInt64, late: UInt64) {
        if descriptor < 0 { return }
        if deadline != 0 { deadline &+= late }
        if phase == .handling, !peerIsGone, watch == nil, now &- since >= server.limits.watchAfter { watchForPeer() }
        if !hasLooked, now &- since >= server.limits.watchAfter { lookForEnd() }
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
        exchange?.clientHasGone()
    }

    /// libmicrohttpd is told once of what came and that nothing more will, reads the one, and waits for the other until
    /// the connection's time is up.
    private func lookForEnd() {
        hasLooked = true
        switch phase {
        case .idle, .head, .body:
            var byte: UInt8 = 0
            if recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0 { shutDown() }
        default: break
        }
    }

    private func watchForPeer() {
        watch = server.loop.watch(descriptor, .peerClosed) { [unowned self] _ in
            unwatch()
            peerIsGone = true
            exchange?.clientHasGone()
        }
    }

    private func unwatch() {
        watch?.cancel()
        watch = nil
    }
}
