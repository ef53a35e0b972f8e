import CMicrohttpd
import Core
import Glibc

/// The body of an answer that is written piece by piece. At most about `Limits.streamBuffer` bytes wait here: `write`
/// returns when there is room again, so that a slow client slows its writer down.
public final class ResponseWriter {
    private let capacity: Int
    private let discards: Bool
    private var waiting: [UInt8] = []
    private var offset = 0
    private var hasFinished = false
    private var hasFailed = false
    private var isReaderSuspended = false
    private var room: Waiter?
    /// Until the end.
    private var exchange: Exchange?

    init(capacity: Int, discards: Bool, exchange: Exchange) {
        self.capacity = capacity
        self.discards = discards
        self.exchange = exchange
    }

    /// Sends `bytes`; waits while the client is behind.
    /// - Throws: `HTTPServerError.clientGone`, `CancellationError`.
    public func write(_ bytes: [UInt8]) async throws {
        if hasFailed { throw HTTPServerError.clientGone }
        guard !discards, !hasFinished, !bytes.isEmpty else { return }
        waiting.append(contentsOf: bytes)
        wakeReader()
        while waiting.count - offset > capacity {
            let waiter = Waiter()
            room = waiter
            try await waiter.wait()
            if hasFailed { throw HTTPServerError.clientGone }
        }
    }

    /// The body is complete. A body that is not finished when its handler ends is broken off, which the client notices.
    public func finish() {
        guard !hasFinished else { return }
        hasFinished = true
        wakeReader()
    }

    var hasBytes: Bool { waiting.count > offset }

    func handlerEnded() {
        guard !hasFinished else { return }
        fail()
    }

    /// The client has gone, or the body will not be completed.
    func fail() {
        guard !hasFailed else { return }
        hasFailed = true
        room?.resume()
        room = nil
        wakeReader()
        exchange = nil
    }

    private func wakeReader() {
        guard isReaderSuspended else { return }
        isReaderSuspended = false
        exchange?.writerHasMore()
    }

    func makeResponse(length: Int?) -> OpaquePointer? {
        let size = length.map { UInt64($0) } ?? UInt64.max
        // The response holds the writer until libmicrohttpd lets go of it.
        let argument = Unmanaged.passRetained(self)
        let response = MHD_create_response_from_callback(
            size, 32 << 10,
            { writer, _, buffer, capacity in
                guard let writer, let buffer else { return ResponseWriter.brokenOff }
                return Unmanaged<ResponseWriter>.fromOpaque(writer).takeUnretainedValue().read(buffer, capacity)
            }, argument.toOpaque(),
            { writer in
                guard let writer else { return }
                Unmanaged<ResponseWriter>.fromOpaque(writer).takeRetainedValue().fail()
            })
        if response == nil { argument.release() }
        // libmicrohttpd 0.9.75 sends a last chunk for HEAD too, which the client would take for the next answer.
        if discards, length == nil { hermes_mhd_end_with_connection(response) }
        return response
    }

    /// libmicrohttpd's MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR.
    private static let ended = -1
    private static let brokenOff = -2

    private func read(_ buffer: UnsafeMutablePointer<CChar>, _ size: Int) -> Int {
        exchange?.writerWasRead()
        let count = min(size, waiting.count - offset)
        guard count > 0 else {
            if hasFinished { return ResponseWriter.ended }
            guard !hasFailed, let exchange else { return ResponseWriter.brokenOff }
            isReaderSuspended = true
            exchange.writerIsBehind()
            return 0
        }
        waiting.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(buffer, start + offset, count) }
        }
        offset += count
        if offset == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            offset = 0
        }
        if waiting.count - offset <= capacity {
            room?.resume()
            room = nil
        }
        return count
    }
}
