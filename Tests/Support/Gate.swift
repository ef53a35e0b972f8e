import Glibc

/// Blocks threads, as code does that waits for a file or another program, until it is opened.
/// - Safety: `sem_t` is made for use from several threads.
public final class Gate: @unchecked Sendable {
    /// One for each thread that comes to it.
    public let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    public init() {
        (arrivals, arrived) = AsyncStream.makeStream()
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Blocks the calling thread.
    public func pass() {
        arrived.yield()
        while sem_wait(semaphore) != 0 {}
        // For the next one.
        open()
    }

    public func open() { sem_post(semaphore) }
}
