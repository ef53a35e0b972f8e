import Core
import Glibc

/// The end of a pipe to or from another program, on a worker: reading and writing wait without stopping the worker.
final class Pipe {
    private let descriptor: Int32
    private let interest: Loop.Readiness
    private var watch: Loop.Watch?
    private var waiter: Waiter?
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)

    /// Leaves closing the descriptor to the caller, after `end()`.
    init(_ descriptor: Int32, on loop: Loop, writing: Bool = false) {
        self.descriptor = descriptor
        interest = writing ? .write : .read
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        // Larger pieces: fewer turns. Linux' F_SETPIPE_SZ.
        _ = fcntl(descriptor, 1031, 1 << 20)
        watch = loop.watch(descriptor, []) { [weak self] _ in
            self?.watch?.update([])
            self?.waiter?.resume()
        }
    }

    deinit { room.deallocate() }

    func end() {
        watch?.cancel()
        watch = nil
    }

    private func wait() async throws {
        let waiter = Waiter()
        self.waiter = waiter
        defer { self.waiter = nil }
        watch?.update(interest)
        try await waiter.wait()
    }

    /// The next piece, valid until the next call; nil at the end.
    func read() async throws -> UnsafeRawBufferPointer? {
        while true {
            try Task.checkCancellation()
            let count = Glibc.read(descriptor, room.baseAddress, room.count)
            if count > 0 { return UnsafeRawBufferPointer(rebasing: room[..<count]) }
            if count == 0 { return nil }
            if errno == EAGAIN { try await wait() } else if errno != EINTR { throw ArchiveFailure(reason()) }
        }
    }

    /// Writes all of it; false where nobody reads any more.
    func write(_ bytes: [UInt8]) async throws -> Bool {
        var done = 0
        while done < bytes.count {
            try Task.checkCancellation()
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if count >= 0 { done += count; continue }
            if errno == EAGAIN { try await wait() } else if errno != EINTR { return false }
        }
        return true
    }
}

/// Where a program's standard error goes: a file without a name, so that the program never waits for a reader.
final class TextSink {
    let descriptor: Int32
    private let file: UnsafeMutablePointer<FILE>

    init() throws(ArchiveFailure) {
        guard let file = tmpfile() else { throw ArchiveFailure("no temporary file can be made: \(reason())") }
        self.file = file
        descriptor = fileno(file)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { fclose(file) }

    /// What was written since the last look, at most a megabyte.
    func next() -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = max(0, pread(descriptor, &bytes, bytes.count, off_t(seen)))
        seen += count
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private var seen = 0

    /// The last lines that are no mere chatter.
    var text: String {
        seen = 0
        var lines: [Substring] = []
        while true {
            let piece = next()
            guard !piece.isEmpty else { break }
            lines = (lines + piece.split(separator: "\n")).suffix(200)
        }
        let telling = lines.filter { $0.contains("error") || $0.contains("ERROR") || $0.contains("DETAIL") }
        return (telling.isEmpty ? lines : telling).suffix(5).joined(separator: "\n")
    }
}

/// A file of at most 64 kB, whole.
enum SmallFile {
    /// nil where there is none.
    static func read(_ path: String) throws(ArchiveFailure) -> [UInt8]? {
        guard let file = fopen(path, "re") else {
            if errno == ENOENT { return nil }
            throw ArchiveFailure("\(path) can't be read: \(reason())")
        }
        defer { fclose(file) }
        var content = [UInt8](repeating: 0, count: 65536)
        let count = fread(&content, 1, content.count, file)
        return Array(content[..<count])
    }

    /// Makes a file for its owner alone; false where there is one already.
    static func make(_ path: String, _ content: [UInt8]) throws(ArchiveFailure) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | Int32(O_CLOEXEC), 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw ArchiveFailure("\(path) can't be made: \(reason())")
        }
        defer { close(descriptor) }
        guard content.withUnsafeBytes({ Descriptor.write(descriptor, $0) }), fsync(descriptor) == 0 else {
            throw ArchiveFailure("\(path) can't be written: \(reason())")
        }
        return true
    }
}
