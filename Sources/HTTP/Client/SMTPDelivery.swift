import CCurl
import Core
import Glibc
import Synchronization

/// One mail on its way to an SMTP server, by libcurl on a thread of its own: libcurl waits for the answer to QUIT
/// without giving its thread back, which no loop may suffer.
public final class SMTPDelivery: Sendable {
    private let server: SMTPServer
    private let sender: String
    private let recipient: String
    private let message: [UInt8]
    private let result = Mutex<Result<String, SMTPFailure>?>(nil)
    private let isCancelled = Atomic(false)
    /// Resumed when there is a result; one for the task that wants it, one for whoever waits though that is cancelled.
    private let ended = Waiter()
    private let endedForAll = Waiter()

    private init(_ message: [UInt8], from sender: String, to recipient: String, by server: SMTPServer) {
        self.server = server
        self.sender = sender
        self.recipient = recipient
        self.message = message
    }

    /// Hands a mail over.
    ///
    /// When the task is cancelled the delivery is broken off within about a second, unless it was done: what this
    /// returns or throws is always how it ended.
    ///
    /// - Parameters:
    ///   - message: header and body, lines ended by CR LF.
    ///   - sender: the envelope's, an address in ASCII without brackets.
    ///   - recipient: the same.
    /// - Returns: the server's last reply, such as `250 2.0.0 Ok: queued as 4QZ`.
    /// - Throws: `SMTPFailure`; `CancellationError` where it was broken off.
    public static func send(
        _ message: [UInt8], from sender: String, to recipient: String, by server: SMTPServer
    ) async throws -> String {
        HTTPClient.prepareLibrary
        let delivery = SMTPDelivery(message, from: sender, to: recipient, by: server)
        startThread { delivery.run() }
        do { try await delivery.ended.wait() } catch {
            delivery.isCancelled.store(true, ordering: .relaxed)
            // A detached task is not cancelled with this one.
            await Task.detached { try? await delivery.endedForAll.wait() }.value
        }
        switch delivery.result.withLock({ $0 }) {
        case .success(let reply): return reply
        case .failure(let failure):
            if delivery.isCancelled.load(ordering: .relaxed) { throw CancellationError() }
            throw failure
        case nil: throw CancellationError()
        }
    }

    private func run() {
        let conversation = Conversation(message, isCancelled: { self.isCancelled.load(ordering: .relaxed) })
        end(conversation.hold(from: sender, to: recipient, with: server))
        // Only now the connection is given up: what was accepted is known before QUIT is said.
        conversation.close()
    }

    private func end(_ ending: Result<String, SMTPFailure>) {
        result.withLock { $0 = ending }
        ended.resume()
        endedForAll.resume()
    }
}

/// libcurl's easy handle for one mail, and what is said on it. Stays on one thread.
private final class Conversation {
    private let easy = curl_easy_init()
    private let message: [UInt8]
    private let isCancelled: () -> Bool
    private var sent = 0
    /// The server has asked for the message.
    private var isMessageWanted = false
    private var lastReply = ""
    /// More lines of the last reply are to come.
    private var isReplyOpen = false
    private var recipients: UnsafeMutablePointer<curl_slist>?
    /// Where libcurl tells more than its code: which fault of a certificate it is.
    private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(_ message: [UInt8], isCancelled: @escaping () -> Bool) {
        self.message = message
        self.isCancelled = isCancelled
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit { words.deallocate() }

    func close() {
        // libcurl says QUIT and would wait for minutes for the answer to it; so there is none to wait for.
        hermes_curl_stop_hearing(easy)
        curl_easy_cleanup(easy)
        curl_slist_free_all(recipients)
    }

    func hold(from sender: String, to recipient: String, with server: SMTPServer) -> Result<String, SMTPFailure> {
        guard easy != nil else { return .failure(SMTPFailure(kind: .server, description: "no memory")) }
        configure(server)
        text(CURLOPT_MAIL_FROM, "<\(sender)>")
        recipients = curl_slist_append(nil, "<\(recipient)>")
        hermes_curl_set_pointer(easy, CURLOPT_MAIL_RCPT, recipients)
        setCallbacks()
        let result = curl_easy_perform(easy)
        guard result != CURLE_OK else { return .success(lastReply) }
        return .failure(failure(result))
    }

    private func configure(_ server: SMTPServer) {
        text(CURLOPT_URL, server.url)
        text(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        text(CURLOPT_PROXY, "")
        number(CURLOPT_NOSIGNAL, 1)
        hermes_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words)
        number(CURLOPT_QUICK_EXIT, 1)
        let milliseconds = { (time: UInt64) in max(1, Int(clamping: time / 1_000_000)) }
        number(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(server.connectTimeout))
        number(CURLOPT_TIMEOUT_MS, milliseconds(server.timeout))
        number(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, milliseconds(server.timeout) / 1000))
        if let authorities = server.certificateAuthorities { text(CURLOPT_CAINFO, authorities) }
        switch server.encryption {
        case .immediate: break
        case .startTLS: number(CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue))
        case .opportunistic:
            number(CURLOPT_USE_SSL, Int(CURLUSESSL_TRY.rawValue))
            number(CURLOPT_SSL_VERIFYPEER, 0)
            number(CURLOPT_SSL_VERIFYHOST, 0)
        }
        number(CURLOPT_UPLOAD, 1)
        hermes_curl_set_size(easy, CURLOPT_INFILESIZE_LARGE, message.count)
    }

    private func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        hermes_curl_set_pointer(easy, CURLOPT_READDATA, this)
        hermes_curl_set_data_callback(easy, CURLOPT_READFUNCTION) { buffer, size, count, this in
            guard let buffer, let this else { return 0 }
            let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
            return Unmanaged<Conversation>.fromOpaque(this).takeUnretainedValue().fill(room)
        }
        hermes_curl_set_pointer(easy, CURLOPT_HEADERDATA, this)
        // All that the server says comes here, line after line.
        hermes_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { line, size, count, this in
            guard let line, let this else { return 0 }
            let bytes = UnsafeRawBufferPointer(start: line, count: size * count)
            Unmanaged<Conversation>.fromOpaque(this).takeUnretainedValue().hear(bytes)
            return bytes.count
        }
        hermes_curl_set_progress(
            easy,
            { this, _, _, _, _ in
                guard let this else { return 0 }
                return Unmanaged<Conversation>.fromOpaque(this).takeUnretainedValue().isCancelled() ? 1 : 0
            }, this)
    }

    private func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
        isMessageWanted = true
        let count = min(room.count, message.count - sent)
        room.copyBytes(from: message[sent..<sent + count])
        sent += count
        return count
    }

    /// Keeps a reply as it may be shown: its lines as one, at most 300 characters, nothing that terminals obey.
    private func hear(_ bytes: UnsafeRawBufferPointer) {
        // The good-bye to libcurl's QUIT says nothing: what was said before it is why.
        if bytes.starts(with: "221".utf8) { return }
        let text = String(decoding: bytes.prefix(1200), as: UTF8.self).unicodeScalars
        var line = String(text.map { $0.properties.generalCategory == .control ? " " : Character($0) })
        while line.last == " " { line.removeLast() }
        lastReply = String((isReplyOpen ? "\(lastReply) \(line.dropFirst(4))" : line).prefix(300))
        isReplyOpen = line.dropFirst(3).first == "-"
        // After a refusal libcurl says QUIT, and would wait for the answer as long as for any other before it tells.
        if line.first == "4" || line.first == "5" { number(CURLOPT_SERVER_RESPONSE_TIMEOUT, 5) }
    }

    private func failure(_ result: CURLcode) -> SMTPFailure {
        let words = String(cString: words.pointee == 0 ? curl_easy_strerror(result) : UnsafePointer(words))
        let code = Int(lastReply.prefix(3)) ?? 0
        // libcurl ends with CURLE_SEND_ERROR where MAIL, RCPT or DATA are refused. What is said before those is about
        // us, not about the mail; so is 530, 534, 535 or 538 whenever it comes: RFC 4954.
        let isAboutTheMail = isMessageWanted || result == CURLE_SEND_ERROR
        let isAboutUs = [421, 530, 534, 535, 538].contains(code)
        guard isAboutTheMail, !isAboutUs, code >= 400, code < 600 else {
            let said = lastReply.isEmpty ? "" : "; the server's last words: \(lastReply)"
            return SMTPFailure(kind: .server, description: words + said)
        }
        return SMTPFailure(kind: code < 500 ? .notNow : .refused, description: lastReply)
    }

    private func text(_ option: CURLoption, _ value: String) { hermes_curl_set_text(easy, option, value) }
    private func number(_ option: CURLoption, _ value: Int) { hermes_curl_set_long(easy, option, value) }
}

/// Starts a thread that ends with `body`; where the system gives none, `body` runs on Swift's pool.
private func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(body))
    let result = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }, start.toOpaque())
    if result == 0 {
        pthread_detach(thread)
    } else {
        start.release()
        Task.detached { body() }
    }
}
