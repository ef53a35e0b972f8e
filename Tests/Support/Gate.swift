import Core

/// Blocks threads, as code does that waits for a file or another program, until it is opened.
public final class Gate: Sendable {
    /// One for each thread that comes to it.
    public let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let semaphore = Semaphore()

    public init() { (arrivals, arrived) = AsyncStream.makeStream() }

    /// Blocks the calling thread.
    public func pass() {
        arrived.yield()
        semaphore.wait()
        // For the next one.
        open()
    }

    public func open() { semaphore.signal() }
}
