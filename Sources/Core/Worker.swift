import CCrypto
import CLinux
import Glibc

/// One of the program's cores at work: an actor whose executor is an epoll thread of its own.
///
/// A request is born, waits for PostgreSQL and is answered on one worker. What belongs to a worker is kept in
/// classes that are not `Sendable`; the compiler proves that they never leave it.
public actor Worker {
    public nonisolated let executor: LoopExecutor
    /// This worker's position among the workers, from 0.
    public nonisolated let index: Int
    /// Timers, descriptors and end-of-turn work of this worker.
    public let loop: Loop

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Makes a worker and starts its thread, named `name-index`.
    public init(index: Int = 0, name: String = "worker") {
        let executor = LoopExecutor()
        self.executor = executor
        self.index = index
        self.loop = Loop(executor: executor)
        Self.startThread(of: self, name: "\(name)-\(index)")
    }

    /// Runs `body` on this worker. `body` may keep what it makes in `loop.keep(_:)`.
    public func run<Result: Sendable>(
        _ body: @Sendable (isolated Worker, Loop) async throws -> Result
    ) async rethrows -> Result {
        try await body(self, loop)
    }

    /// Ends the thread after the turn that runs now. Jobs enqueued later never run: stop last what others await.
    public func stop() { loop.stop() }

    /// When a program ends, OpenSSL frees what it holds; so does each thread that has used it, when that ends. A worker's
    /// thread that ends at that moment would free the same, and the program would end by a signal. The system takes
    /// memory back without either.
    private static let openSSLStays: Void = { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }()

    private static func startThread(of worker: Worker, name: String) {
        _ = openSSLStays
        // The thread keeps the worker alive until its loop has stopped.
        let started = ThreadStart(worker: worker, name: String(name.prefix(15)))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        // Recursive work (parsing, planning) is bounded by limits, so the usual 8 MiB are plenty.
        pthread_attr_setstacksize(&attributes, 8 << 20)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let argument = Unmanaged.passRetained(started).toOpaque()
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
                hermes_name_this_thread(start.name)
                start.worker.executor.bindToCurrentThread()
                start.bound.signal()
                start.worker.assumeIsolated { worker in worker.loop.run(worker) }
                start.worker.executor.unbindFromCurrentThread()
                return nil
            }, argument)
        precondition(result == 0, "a worker's thread could not be started: \(String(cString: strerror(result)))")
        pthread_attr_destroy(&attributes)
        started.bound.wait()
    }

    private final class ThreadStart: Sendable {
        let worker: Worker
        let name: String
        let bound = Semaphore()
        init(worker: Worker, name: String) {
            self.worker = worker
            self.name = name
        }
    }
}

/// Lets the thread that starts a worker wait until the worker's own thread is known.
/// - Safety: `sem_t` is made for use from several threads.
private final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    init() { sem_init(semaphore, 0, 0) }
    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
    func signal() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}
