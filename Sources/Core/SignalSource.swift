import CLinux
import Glibc

/// Signals as events of a loop, through a signalfd: the handler is ordinary code on the worker's thread.
///
/// `block(_:)` must have been called by `main` before any other thread was started, since threads inherit the mask:
/// a signal that some thread does not block ends the process instead. Programs that are started from here inherit it
/// too, and must be given an empty one (`posix_spawnattr_setsigmask`).
public final class SignalSource {
    private let descriptor: Int32
    private var watch: Loop.Watch?

    /// Blocks `signals` in the calling thread and those it starts, and ignores SIGPIPE: a write to a connection that
    /// the peer has closed is an error of that write, not the end of the process.
    public static func block(_ signals: [Int32]) {
        signal(SIGPIPE, SIG_IGN)
        var set = signalSet(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Calls `handler` with the number of each of `signals` that comes, until `cancel()`. Signals of one number that
    /// come close together may be told once.
    public init(_ signals: [Int32], loop: Loop, handler: @escaping (Int32) -> Void) {
        var set = SignalSource.signalSet(signals)
        descriptor = signalfd(-1, &set, Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC))
        precondition(descriptor >= 0, "no descriptor left for signals")
        let descriptor = descriptor
        watch = loop.watch(descriptor, .read) { _ in
            var info = signalfd_siginfo()
            while read(descriptor, &info, MemoryLayout<signalfd_siginfo>.size) > 0 {
                handler(Int32(bitPattern: info.ssi_signo))
            }
        }
    }

    deinit { cancel() }

    public func cancel() {
        guard let watch else { return }
        watch.cancel()
        self.watch = nil
        close(descriptor)
    }

    private static func signalSet(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
