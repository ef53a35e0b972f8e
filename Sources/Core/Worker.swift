import CCrypto

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
    ///
    /// - Parameter runsCode: its thread runs what the worker hands over to `CodeThreads` itself, as long as that is
    ///   quickly done. Code that takes long keeps the thread, and another one becomes the worker's: whatever belongs to
    ///   such a worker must not care which thread it is on.
    public init(index: Int = 0, name: String = "worker", runsCode: Bool = false) {
        let executor = LoopExecutor()
        self.executor = executor
        self.index = index
        self.loop = Loop(executor: executor)
        Self.startThread(of: self, name: "\(name)-\(index)", runsCode: runsCode)
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

    private static func startThread(of worker: Worker, name: String, runsCode: Bool) {
        _ = openSSLStays
        let executor = worker.executor
        if runsCode {
            executor.beginErrands { mark in
                _ = Thread.start(name) { if executor.takePlace(mark) { carry(worker) } }
            }
        }
        let bound = Semaphore()
        let started = Thread.start(name) {
            executor.bindToCurrentThread()
            bound.signal()
            carry(worker)
        }
        precondition(started, "a worker's thread could not be started")
        bound.wait()
    }

    /// The calling thread is the worker's, and keeps it alive, until its loop has stopped or another one has its place.
    private static func carry(_ worker: Worker) {
        worker.assumeIsolated { worker in worker.loop.run(worker) }
        worker.executor.unbindFromCurrentThread()
    }
}
