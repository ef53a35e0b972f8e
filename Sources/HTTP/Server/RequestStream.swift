import Core

/// The pieces of a streamed request body on their way from libmicrohttpd to the handler. At most `capacity` bytes wait
/// here; while it is full the connection is suspended, and TCP holds the client back.
final class RequestStream {
    private let capacity: Int
    private var waiting: [UInt8] = []
    private var hasEnded = false
    private var failure: (any Error)?
    private var reader: Waiter?
    /// Lets libmicrohttpd go on; until the end.
    private var exchange: Exchange?

    init(capacity: Int, exchange: Exchange) {
        self.capacity = capacity
        self.exchange = exchange
    }

    /// Takes as much as there is room for, and tells how much that was.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, capacity - waiting.count)
        if count > 0 {
            waiting.append(contentsOf: bytes[..<count])
            wakeReader()
        }
        return count
    }

    func end(_ failure: (any Error)? = nil) {
        guard !hasEnded else { return }
        hasEnded = true
        self.failure = failure
        exchange = nil
        wakeReader()
    }

    func next() async throws -> [UInt8]? {
        while waiting.isEmpty {
            if let failure { throw failure }
            if hasEnded { return nil }
            let waiter = Waiter()
            reader = waiter
            try await waiter.wait()
        }
        let piece = waiting
        waiting = []
        exchange?.streamHasRoom()
        return piece
    }

    private func wakeReader() {
        reader?.resume()
        reader = nil
    }
}
