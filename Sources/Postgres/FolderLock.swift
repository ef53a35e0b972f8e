import Glibc
import Synchronization

/// A folder's lock file, held by one program at a time; the system lets go of it when the program ends, however.
final class FolderLock: Sendable {
    private let descriptor: Mutex<Int32>

    init(path: String, folder: String) throws {
        let file = open(path, O_RDWR | O_CREAT | Int32(O_CLOEXEC), 0o600)
        guard file >= 0 else {
            throw PrivateCluster.Failure("\(path) can't be opened: \(String(cString: strerror(errno))).")
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            var content = [UInt8](repeating: 0, count: 32)
            let count = max(0, pread(file, &content, content.count, 0))
            close(file)
            let holder = String(decoding: content[..<count].prefix { $0 != 10 }, as: UTF8.self)
            throw PrivateCluster.Failure(
                "The data folder \(folder) is in use by another Hermes (process \(holder)). Stop that one, or choose "
                    + "another folder.")
        }
        let content = "\(getpid())\n"
        ftruncate(file, 0)
        _ = content.withCString { pwrite(file, $0, strlen($0), 0) }
        descriptor = Mutex(file)
    }

    deinit { release() }

    func release() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }
}
