import CLinux
import Glibc

/// Starts threads.
enum Thread {
    /// Runs `body` on a thread of its own, that ends when `body` returns.
    ///
    /// - Parameter name: as `top -H` shows it; its first 15 bytes are kept.
    /// - Returns: whether the system has given it one.
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        // Recursive work (parsing, planning) is bounded by limits, so the usual 8 MiB are plenty.
        pthread_attr_setstacksize(&attributes, 8 << 20)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let start = Unmanaged.passRetained(Start(name: String(name.prefix(15)), body: body))
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                hermes_name_this_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        pthread_attr_destroy(&attributes)
        if result != 0 { start.release() }
        return result == 0
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
