import CCurl
import Core
import Glibc

/// Requests to other servers from one worker, over libcurl's multi-socket interface: libcurl tells which sockets and
/// when, the loop watches them. Connections are kept and used again. Lives on its worker; not `Sendable`.
///
/// HTTPS certificates are verified against the system's authorities. HTTP/2 is used where TLS negotiates it. Proxies
/// are taken from the environment (`https_proxy`), as every program that uses libcurl does.
public final class HTTPClient {
    private let loop: Loop
    private let multi: UnsafeMutableRawPointer?
    private var sockets: [Int32: Loop.Watch] = [:]
    private var timer: Loop.Timer?
    private var transfers: [ObjectIdentifier: Transfer] = [:]
    private var isClosed = false
    /// A file of PEM certificates to trust instead of the system's.
    public var certificateAuthorities: String?

    /// - Parameter connectionsPerHost: further requests to a host wait for one of its connections.
    public init(loop: Loop, connectionsPerHost: Int = 16) {
        HTTPClient.prepareLibrary
        self.loop = loop
        multi = curl_multi_init()
        hermes_curl_multi_set_callbacks(multi, socketChanged, timerChanged, Unmanaged.passUnretained(self).toOpaque())
        _ = hermes_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connectionsPerHost)
        _ = hermes_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 64)
    }

    /// Not safe to call from several threads at once; a global's initialiser runs once.
    static let prepareLibrary: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

    deinit { close() }

    /// Ends what runs, with `CancellationError`, and closes all connections.
    public func close() {
        for transfer in transfers.values { finish(transfer, throwing: CancellationError()) }
        timer?.cancel()
        timer = nil
        if !isClosed { curl_multi_cleanup(multi) }
        isClosed = true
        for watch in sockets.values { watch.cancel() }
        sockets = [:]
    }
    /// Sends a request and waits for the whole answer, of whatever status.
    /// - Throws: `HTTPClientError`; `CancellationError` as soon as the task is cancelled, which ends the request.
    public func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        guard !isClosed else { throw CancellationError() }
        let transfer = try Transfer(request, authorities: certificateAuthorities)
        transfers[ObjectIdentifier(transfer)] = transfer
        curl_multi_add_handle(multi, transfer.easy)
        do {
            try await transfer.waiter.wait()
        } catch {
            finish(transfer, throwing: error)
            throw error
        }
        return transfer.response()
    }

    private func finish(_ transfer: Transfer, throwing error: (any Error)?) {
        guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        curl_multi_remove_handle(multi, transfer.easy)
        transfer.waiter.resume(throwing: error)
    }

    private func collectFinished() {
        var result = CURLE_OK
        while let easy = hermes_curl_multi_finished(multi, &result) {
            guard let context = hermes_curl_private(easy) else { continue }
            let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            finish(transfer, throwing: transfer.error(result))
        }
    }

    // MARK: called by libcurl

    fileprivate func watch(_ socket: Int32, _ what: Int32) {
        var interest: Loop.Readiness = []
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        if what == CURL_POLL_REMOVE {
            sockets.removeValue(forKey: socket)?.cancel()
        } else if let watch = sockets[socket] {
            watch.update(interest)
        } else {
            sockets[socket] = loop.watch(socket, interest) { [unowned self] readiness in
                self.act(socket, readiness)
            }
        }
    }

    private func act(_ socket: Int32, _ readiness: Loop.Readiness) {
        var bits: Int32 = 0
        if readiness.contains(.read) { bits |= CURL_CSELECT_IN }
        if readiness.contains(.write) { bits |= CURL_CSELECT_OUT }
        if !readiness.isDisjoint(with: .failed) { bits |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, bits, &running)
        collectFinished()
    }

    fileprivate func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0 else { return }
        // Not within this call, even for 0: libcurl must not be entered again from its own callback.
        timer = loop.schedule(after: UInt64(milliseconds) * 1_000_000) { [unowned self] in
            self.timer = nil
            var running: Int32 = 0
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
            self.collectFinished()
        }
    }
}

private let socketChanged: curl_socket_callback = { _, socket, what, client, _ in
    guard let client else { return 0 }
    Unmanaged<HTTPClient>.fromOpaque(client).takeUnretainedValue().watch(socket, what)
    return 0
}

private let timerChanged: curl_multi_timer_callback = { _, milliseconds, client in
    guard let client else { return 0 }
    Unmanaged<HTTPClient>.fromOpaque(client).takeUnretainedValue().setTimer(milliseconds)
    return 0
}
