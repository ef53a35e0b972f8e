import CLinux
import Glibc

/// Signals as events of a loop: the handler is ordinary code on the worker's thread.
///
/// A signalfd would need every thread to block the signals, and the one that dispatch leaves the main thread in blocks
/// none. So a C handler writes to a pipe, which the loop watches.
public final class SignalSource {
    private let signals: [Int32]
    private var ends: [Int32] = [-1, -1]
    private var watch: Loop.Watch?

    /// A write to a connection that the peer has closed becomes an error of that write, not the end of the process.
    public static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// Calls `handler` with the number of each of `signals` that comes, until `cancel()`. One source for a signal.
    public init(_ signals: [Int32], loop: Loop, handler: @escaping (Int32) -> Void) {
        self.signals = signals
        let made =
            pipe(&ends) == 0
            && ends.allSatisfy {
                fcntl($0, F_SETFD, FD_CLOEXEC) == 0 && fcntl($0, F_SETFL, O_NONBLOCK) == 0
            }
        precondition(made, "no descriptor left for signals")
        let readEnd = ends[0]
        watch = loop.watch(readEnd, .read) { _ in
            var number: UInt8 = 0
            while read(readEnd, &number, 1) == 1 { handler(Int32(number)) }
        }
        for signal in signals { hermes_catch_signal(signal, ends[1]) }
    }

    deinit { cancel() }

    /// The signals have their default effects again.
    public func cancel() {
        guard let watch else { return }
        for signal in signals { hermes_catch_signal(signal, -1) }
        watch.cancel()
        self.watch = nil
        for end in ends { close(end) }
    }
}
