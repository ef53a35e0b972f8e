import CMicrohttpd
import Core
import Glibc

/// Where a handler sends its answer: once, whole, as a stream, or as a change of protocol. A handler that ends without
/// having answered has 500 answered for it. An answer that comes too late, because the server has refused the request's
/// body or the client has gone, is dropped.
public struct HTTPResponder {
    let exchange: Exchange

    public var request: HTTPRequest { exchange.request }
    /// The loop that the request lives on.
    public var loop: Loop { exchange.server.loop }
    /// Whether an answer has been given, be it by the handler or by the server in its place.
    public var hasAnswered: Bool { if case .awaited = exchange.answering { false } else { true } }
    /// Whether the client has closed its connection, or half of it, before it had the whole answer. It is noticed
    /// while a request is read or an answer is written, and for a request that runs for longer than
    /// `Limits.watchAfter`.
    public var isClientGone: Bool { exchange.isClientGone }
    /// Called once when the client has gone before it had its answer, outside of any task: the place to cancel a
    /// database statement. Called at once when set too late.
    public var onClientGone: (() -> Void)? {
        get { exchange.onClientGone }
        nonmutating set { exchange.onClientGone = newValue }
    }

    /// Cancels the handler's task, and with it the database statement that it waits for, when the client has gone
    /// before it had its answer.
    public func cancelWhenClientIsGone() { exchange.cancelsWhenClientIsGone = true }

    /// Answers with a whole body. Headers go out as given, with Date, Content-Length and what concerns the connection.
    /// A text body of `Limits.compressFrom` bytes or more is compressed where the client accepts gzip.
    public func respond(status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []) {
        guard exchange.takesAnswer() else { return }
        let limits = exchange.server.limits
        if body.count >= limits.compressFrom, Compressor.isWorthwhile(headers), acceptsGzip,
            let packed = body.withUnsafeBytes({ exchange.server.compressor.gzip($0) }),
            let response = ResponseBody.makeResponse(packed, limits.answerBudget)
        {
            MHD_add_response_header(response, "Content-Encoding", "gzip")
            MHD_add_response_header(response, "Vary", "Accept-Encoding")
            return exchange.answer(status, headers, response)
        }
        guard let response = ResponseBody.makeResponse(body, limits.answerBudget) else {
            return exchange.giveUp()
        }
        exchange.answer(status, headers, response)
    }

    private var acceptsGzip: Bool {
        guard let accepted = request.header("Accept-Encoding") else { return false }
        return Compressor.isAccepted(accepted)
    }

    /// Begins an answer whose body comes piece by piece; `length` is its size in bytes where it is known, otherwise it
    /// goes out chunked. Nothing is written for HEAD, whose connection ends when the length is not known. It begins to
    /// go out when the request has all come: what is left of a streamed request's body is discarded.
    public func respondStreaming(
        status: Int = 200, headers: [(String, String)] = [], length: Int? = nil
    ) -> ResponseWriter {
        let writer = ResponseWriter(
            capacity: exchange.server.limits.streamBuffer, discards: request.method == "HEAD", exchange: exchange)
        guard exchange.takesAnswer() else {
            writer.fail()
            return writer
        }
        guard let response = writer.makeResponse(length: length) else {
            writer.fail()
            exchange.giveUp()
            return writer
        }
        exchange.answer(status, headers, response, writer: writer)
        return writer
    }

    /// Switches to another protocol with 101, for `Upgrade: websocket` say; the caller has checked the request's
    /// headers and gives its own (`Sec-WebSocket-Accept`).
    /// - Throws: `HTTPServerError.cannotUpgrade` on HTTP/1.0, while the request's body still comes, and where the
    ///   request has been answered; `clientGone`; `CancellationError`.
    public func upgrade(to name: String, headers: [(String, String)] = []) async throws -> UpgradedConnection {
        let upgrade = UpgradeRequest()
        guard case .complete = exchange.reading, !request.isHTTP10, exchange.takesAnswer(),
            let response = upgrade.makeResponse()
        else { throw HTTPServerError.cannotUpgrade }
        MHD_add_response_header(response, "Upgrade", name)
        exchange.answer(101, headers, response, upgrade: upgrade)
        return try await upgrade.connection()
    }
}

/// A whole body on its way out: libmicrohttpd reads it where it lies.
final class ResponseBody {
    private enum Memory {
        case array([UInt8])
        /// Of malloc.
        case buffer(UnsafeMutableRawBufferPointer)
    }

    private let memory: Memory
    private let count: Int
    private let budget: MemoryBudget?

    private init(_ memory: Memory, count: Int, _ budget: MemoryBudget?) {
        self.memory = memory
        self.count = count
        self.budget = count >= ResponseBody.countedFrom ? budget : nil
        self.budget?.add(count)
    }

    deinit {
        budget?.giveBack(count)
        if case .buffer(let bytes) = memory { free(bytes.baseAddress) }
    }

    /// Below this a copy costs less than what keeps the original.
    private static let copiedBelow = 1024
    /// From so many bytes on a body counts in the budget for all answers.
    private static let countedFrom = 1 << 20

    static func makeResponse(_ bytes: [UInt8], _ budget: MemoryBudget? = nil) -> OpaquePointer? {
        guard bytes.count >= copiedBelow else {
            return bytes.withUnsafeBytes { bytes in
                // libmicrohttpd copies, and does not write to what it was given.
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
            }
        }
        // The elements of a native array lie in one allocation, which lives as long as somebody holds it and is not
        // changed while it is shared: the body holds it, and changes nothing.
        let body = ResponseBody(.array(bytes), count: bytes.count, budget)
        return body.response(bytes.withUnsafeBytes { $0.baseAddress })
    }

    /// Takes over `bytes`, which malloc has given.
    static func makeResponse(_ bytes: UnsafeMutableRawBufferPointer, _ budget: MemoryBudget) -> OpaquePointer? {
        ResponseBody(.buffer(bytes), count: bytes.count, budget).response(bytes.baseAddress)
    }

    private func response(_ start: UnsafeRawPointer?) -> OpaquePointer? {
        let held = Unmanaged.passRetained(self)
        let response = MHD_create_response_from_buffer_with_free_callback_cls(
            count, UnsafeMutableRawPointer(mutating: start),
            { body in
                guard let body else { return }
                Unmanaged<ResponseBody>.fromOpaque(body).release()
            }, held.toOpaque())
        if response == nil { held.release() }
        return response
    }
}
