import CLinux
import Glibc

/// Gathers lines and writes them from a thread of its own, many with one call. Holds at most 4 MiB: when the reader of
/// the log falls behind further, lines are dropped and their number is written instead.
///
/// - Safety: `@unchecked Sendable` holds because everything mutable is touched with `mutex` locked; the descriptor
///   never changes.
final class LogSink: @unchecked Sendable {
    private let descriptor: Int32
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var waiting: [UInt8] = []
    private var dropped = 0
    private var isWriting = false
    private var isStarted = false
    private let capacity = 4 << 20
    /// What was written last.
    let ring = LogRing()

    init(descriptor: Int32) {
        self.descriptor = descriptor
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    // The thread holds the sink, so that one which was started lives as long as the process.
    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        changed.deallocate()
    }

    func write(_ line: [UInt8]) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if !isStarted { start() }
        guard waiting.count + line.count <= capacity else {
            dropped += 1
            return
        }
        let wasEmpty = waiting.isEmpty
        waiting.append(contentsOf: line)
        if wasEmpty { pthread_cond_broadcast(changed) }
    }

    /// Waits until all is written; for five seconds at most, since whoever reads the log may have stopped to.
    func flush() {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_sec += 5
        pthread_mutex_lock(mutex)
        while !waiting.isEmpty || isWriting {
            guard pthread_cond_timedwait(changed, mutex, &end) == 0 else { break }
        }
        pthread_mutex_unlock(mutex)
    }

    private func start() {
        isStarted = true
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                hermes_name_this_thread("log")
                Unmanaged<LogSink>.fromOpaque(argument).takeUnretainedValue().run()
                return nil
            }, argument.toOpaque())
        precondition(result == 0, "the log's thread could not be started")
        pthread_detach(thread)
    }

    private func run() {
        // What a full disk did not take, and whether it took the last line in part.
        var lost = 0
        var isTorn = false
        pthread_mutex_lock(mutex)
        while true {
            while waiting.isEmpty { pthread_cond_wait(changed, mutex) }
            // Woken for each line, this thread would take as much of the processor as what logs.
            pthread_mutex_unlock(mutex)
            usleep(5000)
            pthread_mutex_lock(mutex)
            var lines = waiting
            waiting = []
            if dropped > 0 {
                lines.append(contentsOf: "(\(dropped) lines of the log were dropped here)\n".utf8)
                dropped = 0
            }
            isWriting = true
            pthread_mutex_unlock(mutex)
            ring.append(lines)
            let notice = lost > 0 ? "\(isTorn ? "\n" : "")(\(lost) lines of the log could not be written here)\n" : ""
            let bytes = Array(notice.utf8) + lines
            let written = write(all: bytes)
            if written > 0 { isTorn = bytes[written - 1] != UInt8(ascii: "\n") }
            if written >= notice.utf8.count { lost = 0 }
            lost += bytes[max(written, notice.utf8.count)...].count { $0 == UInt8(ascii: "\n") }
            pthread_mutex_lock(mutex)
            isWriting = false
            pthread_cond_broadcast(changed)
        }
    }

    /// - Returns: How many bytes went out: fewer where the disk is full, or nobody reads the log any more.
    private func write(all bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { bytes in
            var rest = UnsafeRawBufferPointer(rebasing: bytes[...])
            while let start = rest.baseAddress, rest.count > 0 {
                let count = Glibc.write(descriptor, start, rest.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    guard errno == EAGAIN else { break }
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    Glibc.poll(&poll, 1, -1)
                    continue
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return bytes.count - rest.count
        }
    }
}
