import CCurl
import Core
import Glibc

/// One request on its way: owns libcurl's easy handle, its list of headers, and what has come back.
final class Transfer {
    /// Bytes of headers, those behind a body included, which libcurl bounds in a head alone.
    private static let maxHeaderSize = 300 << 10

    let easy: UnsafeMutableRawPointer
    let waiter = Waiter()
    private let body: UnsafeMutableRawBufferPointer
    private var list: UnsafeMutablePointer<curl_slist>?
    private let maxResponseSize: Int
    private var received: [UInt8] = []
    private var headers: [(name: String, value: String)] = []
    private var headerSize = 0
    private var isTooLarge = false
    private let refuses: (@Sendable (PeerAddress.Host) -> Bool)?
    private var hasRefused = false

    init(_ request: HTTPClientRequest, authorities: String?) throws {
        guard let easy = curl_easy_init() else { throw HTTPClientError.failed("no memory") }
        self.easy = easy
        maxResponseSize = request.maxResponseSize
        refuses = request.refuses
        body = .allocate(byteCount: max(1, request.body.count), alignment: 1)
        body.copyBytes(from: request.body)
        // Checked after everything is initialised, so that `deinit` frees it.
        let scheme = request.url.prefix(8).lowercased()
        guard scheme.hasPrefix("https://") || scheme.hasPrefix("http://") else {
            throw HTTPClientError.badURL
        }
        try setHeaders(request)
        text(CURLOPT_URL, request.url)
        text(CURLOPT_PROTOCOLS_STR, "http,https")
        text(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        if let authorities { text(CURLOPT_CAINFO, authorities) }
        number(CURLOPT_NOSIGNAL, 1)
        // A request that ends while its host's name is looked up would otherwise wait for the thread that does it.
        number(CURLOPT_QUICK_EXIT, 1)
        number(CURLOPT_FOLLOWLOCATION, request.maxRedirects > 0 ? 1 : 0)
        number(CURLOPT_MAXREDIRS, request.maxRedirects)
        number(CURLOPT_TIMEOUT_MS, max(1, Int(clamping: request.timeout / 1_000_000)))
        setMethod(request)
        let this = Unmanaged.passUnretained(self).toOpaque()
        hermes_curl_set_pointer(easy, CURLOPT_PRIVATE, this)
        hermes_curl_set_pointer(easy, CURLOPT_WRITEDATA, this)
        hermes_curl_set_pointer(easy, CURLOPT_HEADERDATA, this)
        hermes_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { data, size, count, transfer in
            guard let data, let transfer else { return 0 }
            let bytes = UnsafeRawBufferPointer(start: data, count: size * count)
            return Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue().receive(bytes) ? bytes.count : 0
        }
        hermes_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { data, size, count, transfer in
            guard let data, let transfer else { return 0 }
            let bytes = UnsafeRawBufferPointer(start: data, count: size * count)
            return Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue().receiveHeader(bytes) ? bytes.count : 0
        }
        if refuses != nil { checkAddresses(this) }
    }

    /// Has libcurl ask for each socket that it opens.
    private func checkAddresses(_ this: UnsafeMutableRawPointer) {
        text(CURLOPT_PROXY, "")
        hermes_curl_set_socket_opener(
            easy,
            { this, _, address in
                guard let this, let address else { return -1 }
                let transfer = Unmanaged<Transfer>.fromOpaque(this).takeUnretainedValue()
                return transfer.mayConnect(to: address) ? hermes_curl_open_socket(address) : -1
            }, this)
    }

    private func mayConnect(to address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = Int(hermes_curl_address(address, &bytes))
        guard let host = PeerAddress.Host(networkOrder: bytes.prefix(count)), refuses?(host) == false else {
            hasRefused = true
            return false
        }
        return true
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(list)
        body.deallocate()
    }

    private func setHeaders(_ request: HTTPClientRequest) throws {
        // Neither is wanted unless the caller asks: Expect costs a round trip, and libcurl would guess the type.
        var lines = ["Expect:"]
        if !request.headers.contains(where: { $0.0.lowercased() == "content-type" }) { lines.append("Content-Type:") }
        for (name, value) in request.headers {
            guard !(name + value).utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }), !name.isEmpty else {
                throw HTTPClientError.badHeader(name)
            }
            // libcurl's way of sending a header without a value.
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        for line in lines { list = curl_slist_append(list, line) ?? list }
        hermes_curl_set_pointer(easy, CURLOPT_HTTPHEADER, list)
    }

    private func setMethod(_ request: HTTPClientRequest) {
        if request.method == "HEAD" { number(CURLOPT_NOBODY, 1) }
        let mayCarryNone = ["GET", "HEAD", "DELETE", "OPTIONS"].contains(request.method)
        if !request.body.isEmpty || !mayCarryNone {
            number(CURLOPT_POST, 1)
            hermes_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int(request.body.count))
            hermes_curl_set_pointer(easy, CURLOPT_POSTFIELDS, body.baseAddress)
        }
        if request.method != "GET" || !request.body.isEmpty { text(CURLOPT_CUSTOMREQUEST, request.method) }
    }

    private func text(_ option: CURLoption, _ value: String) { hermes_curl_set_text(easy, option, value) }
    private func number(_ option: CURLoption, _ value: Int) { hermes_curl_set_long(easy, option, value) }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard received.count + bytes.count <= maxResponseSize else {
            isTooLarge = true
            return false
        }
        received.append(contentsOf: bytes)
        return true
    }

    private func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerSize += bytes.count
        guard headerSize <= Transfer.maxHeaderSize else {
            isTooLarge = true
            return false
        }
        let line = String(decoding: bytes, as: UTF8.self).trimmingSuffix { $0.isNewline }
        if line.hasPrefix("HTTP/") {
            // Of a redirect or a 100 before it, nothing is kept.
            headers = []
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.append((String(line[..<colon]), String(value)))
        }
        return true
    }

    func error(_ result: CURLcode) -> (any Error)? {
        switch result {
        case CURLE_OK: nil
        case _ where isTooLarge: HTTPClientError.responseTooLarge
        case CURLE_COULDNT_CONNECT where hasRefused: HTTPClientError.addressRefused
        case CURLE_OPERATION_TIMEDOUT: HTTPClientError.timedOut
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: HTTPClientError.badURL
        default: HTTPClientError.failed(String(cString: curl_easy_strerror(result)))
        }
    }

    func response() -> HTTPClientResponse {
        HTTPClientResponse(status: hermes_curl_status(easy), headers: headers, body: received)
    }
}

extension String {
    fileprivate func trimmingSuffix(while shouldGo: (Character) -> Bool) -> Substring {
        var end = endIndex
        while end > startIndex, shouldGo(self[index(before: end)]) { end = index(before: end) }
        return self[..<end]
    }
}
