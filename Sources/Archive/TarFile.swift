import Glibc
import Wire

/// A backup's outer form: a tar archive (POSIX ustar) of a few files, the last of which lists the SHA-256 of all
/// others as `sha256sum` does. `tar -xf` takes it apart, `sha256sum -c SHA256SUMS` checks it, without Hermes.
///
/// Headers are made of name, size and time alone, so that a reader can compare them byte for byte: not one byte of the
/// file can be altered unnoticed. https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06
enum TarFile {
    static let block = 512
    static let sums = "SHA256SUMS"

    /// The header of a member, for its owner's eyes only. Sizes from 8 GiB on are written as GNU tar does.
    static func header(_ name: String, size: Int, seconds: Int64) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: block)
        func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
            for (index, byte) in bytes.enumerated() { header[offset + index] = byte }
        }
        func octal(_ value: Int64, _ width: Int) -> [UInt8] {
            let digits = String(value, radix: 8)
            return Array((String(repeating: "0", count: max(0, width - digits.count)) + digits).utf8)
        }
        put(name.utf8.prefix(100), at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        if size < 1 << 33 {
            put(octal(Int64(size), 11), at: 124)
        } else {
            header[124] = 0x80
            for index in 0..<8 { header[135 - index] = UInt8(truncatingIfNeeded: size >> (8 * index)) }
        }
        put(octal(max(0, seconds), 11), at: 136)
        put([UInt8](repeating: UInt8(ascii: " "), count: 8), at: 148)
        header[156] = UInt8(ascii: "0")
        put("ustar".utf8, at: 257)
        put("00".utf8, at: 263)
        put(octal(header.reduce(0) { $0 + Int64($1) }, 6), at: 148)
        header[154] = 0
        return header
    }

    /// Zeros between a member and the next header.
    static func padding(_ size: Int) -> Int { (block - size % block) % block }

    /// What a header says, where it is one of ours.
    static func read(_ header: [UInt8]) -> (name: String, size: Int, seconds: Int64)? {
        let name = String(decoding: header[0..<100].prefix { $0 != 0 }, as: UTF8.self)
        var size = 0
        if header[124] == 0x80 {
            for index in 128..<136 {
                guard size < 1 << 48 else { return nil }
                size = size << 8 | Int(header[index])
            }
        } else {
            guard let value = Int(String(decoding: header[124..<135], as: UTF8.self), radix: 8) else { return nil }
            size = value
        }
        guard size >= 0, let seconds = Int64(String(decoding: header[136..<147], as: UTF8.self), radix: 8),
            self.header(name, size: size, seconds: seconds) == header
        else { return nil }
        return (name, size, seconds)
    }
}

/// Writes a backup under another name; `commit` gives it its own. Blocking. Gone without a trace where it is not
/// committed.
final class TarWriter {
    let path: String
    private let draft: String
    private let descriptor: Int32
    private let seconds: Int64
    private var sums: [(name: String, digest: String)] = []
    private(set) var size = 0
    private var isCommitted = false
    /// The member that is being written, and where its header goes.
    private var open: (name: String, place: Int, digest: SHA256)?

    /// - Parameter seconds: since 1970: the time that the members bear.
    init(_ path: String, seconds: Int64) throws(ArchiveFailure) {
        self.path = path
        self.seconds = seconds
        draft = "\(path).partial-\(getpid())"
        descriptor = Glibc.open(draft, O_RDWR | O_CREAT | O_EXCL | Int32(O_CLOEXEC), 0o600)
        guard descriptor >= 0 else { throw ArchiveFailure("\(draft) can't be made: \(reason())") }
    }

    deinit {
        close(descriptor)
        if !isCommitted { unlink(draft) }
    }

    func add(_ name: String, _ content: [UInt8]) throws(ArchiveFailure) {
        try write(TarFile.header(name, size: content.count, seconds: seconds))
        try write(content)
        try pad(content.count)
        sums.append((name, SHA256.of(content)))
    }

    /// Begins a member whose size nobody knows before: `append` what it holds, then `end` it.
    func begin(_ name: String) throws(ArchiveFailure) {
        open = (name, size, SHA256())
        try write([UInt8](repeating: 0, count: TarFile.block))
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(ArchiveFailure) {
        open?.digest.update(bytes)
        try write(bytes)
    }

    func end() throws(ArchiveFailure) {
        guard let (name, place, digest) = open else { return }
        open = nil
        let length = size - place - TarFile.block
        try pad(length)
        let header = TarFile.header(name, size: length, seconds: seconds)
        let count = header.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(place)) }
        guard count == header.count else { throw ArchiveFailure("\(draft) can't be written: \(reason())") }
        sums.append((name, digest.finish()))
    }

    /// Writes the list of digests and the end, sees to it that all is on disk, and gives the file its name.
    func commit() throws(ArchiveFailure) {
        let list = sums.map { "\($0.digest)  \($0.name)\n" }.joined()
        try add(TarFile.sums, Array(list.utf8))
        try write([UInt8](repeating: 0, count: 2 * TarFile.block))
        guard fsync(descriptor) == 0, rename(draft, path) == 0 else {
            throw ArchiveFailure("\(path) can't be written: \(reason())")
        }
        isCommitted = true
        let folder = Glibc.open(Paths.folder(of: path), O_RDONLY | O_DIRECTORY | Int32(O_CLOEXEC))
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private func pad(_ size: Int) throws(ArchiveFailure) {
        try write([UInt8](repeating: 0, count: TarFile.padding(size)))
    }

    private func write(_ bytes: [UInt8]) throws(ArchiveFailure) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(ArchiveFailure) in try write(bytes) }
        }
        try result.get()
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveFailure) {
        guard Descriptor.write(descriptor, bytes) else {
            throw ArchiveFailure("\(draft) can't be written: \(reason())")
        }
        size += bytes.count
    }
}

/// Reads a backup. Blocking.
final class TarReader {
    struct Member: Equatable {
        let name: String
        let offset: Int
        let size: Int
        let seconds: Int64
    }

    let path: String
    let size: Int
    let members: [Member]
    private let descriptor: Int32

    /// Opens a file and reads its headers. Throws where it is no backup, or was cut off or altered between members.
    init(_ path: String) throws(ArchiveFailure) {
        self.path = path
        descriptor = open(path, O_RDONLY | Int32(O_CLOEXEC))
        guard descriptor >= 0 else { throw ArchiveFailure("\(path) can't be read: \(reason())") }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw ArchiveFailure("\(path) is not a file")
        }
        size = Int(information.st_size)
        do { members = try Self.members(descriptor, size, path) } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    private static func members(_ descriptor: Int32, _ size: Int, _ path: String) throws(ArchiveFailure) -> [Member] {
        let cutOff = ArchiveFailure("\(path) was cut off or altered: use another copy. Nothing was written.")
        var members: [Member] = []
        var offset = 0
        while true {
            guard let header = read(descriptor, offset, TarFile.block) else {
                throw members.isEmpty ? ArchiveFailure("\(path) is not a backup made by hermes backup") : cutOff
            }
            if members.last?.name == TarFile.sums {
                guard size == offset + 2 * TarFile.block,
                    read(descriptor, offset, 2 * TarFile.block)?.allSatisfy({ $0 == 0 }) == true
                else { throw cutOff }
                return members
            }
            guard let (name, length, seconds) = TarFile.read(header) else {
                throw members.isEmpty ? ArchiveFailure("\(path) is not a backup made by hermes backup") : cutOff
            }
            offset += TarFile.block
            members.append(Member(name: name, offset: offset, size: length, seconds: seconds))
            let padding = TarFile.padding(length)
            guard offset + length + padding <= size,
                padding == 0 || read(descriptor, offset + length, padding)?.allSatisfy({ $0 == 0 }) == true
            else { throw cutOff }
            offset += length + padding
        }
    }

    subscript(name: String) -> Member? { members.first { $0.name == name } }

    /// A small member, whole.
    func content(_ member: Member) throws(ArchiveFailure) -> [UInt8] {
        guard member.size <= 64 << 20, let content = Self.read(descriptor, member.offset, member.size) else {
            throw ArchiveFailure("\(path) can't be read: \(reason())")
        }
        return content
    }

    /// A piece of a member, up to a megabyte.
    func piece(of member: Member, from offset: Int) throws(ArchiveFailure) -> [UInt8] {
        let count = min(1 << 20, member.size - offset)
        guard let piece = Self.read(descriptor, member.offset + offset, count) else {
            throw ArchiveFailure("\(path) can't be read: \(reason())")
        }
        return piece
    }

    /// A member piece by piece.
    func read(_ member: Member, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { room.deallocate() }
        var done = 0
        while done < member.size {
            let count = pread(
                descriptor, room.baseAddress, min(room.count, member.size - done), off_t(member.offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ArchiveFailure("\(path) can't be read: \(reason())") }
            try body(UnsafeRawBufferPointer(rebasing: room[..<count]))
            done += count
        }
    }

    /// Throws unless every member is as its digest says. Reads the whole file.
    ///
    /// - Parameter reached: called with the number of bytes read so far.
    func check(_ reached: (Int) throws -> Void) throws {
        var list = ""
        var done = 0
        for member in members where member.name != TarFile.sums {
            let digest = SHA256()
            try read(member) { bytes in
                digest.update(bytes)
                done += bytes.count
                try reached(done)
            }
            list += "\(digest.finish())  \(member.name)\n"
        }
        guard let sums = members.last, try content(sums) == Array(list.utf8) else {
            throw ArchiveFailure("\(path) was altered: its checksums are wrong. Use another copy. Nothing was written.")
        }
    }

    private static func read(_ descriptor: Int32, _ offset: Int, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress.map { $0 + done }, count - done, off_t(offset + done))
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return nil }
            done += got
        }
        return bytes
    }
}

/// The system's words for what went wrong last.
func reason() -> String { String(cString: strerror(errno)) }

enum Descriptor {
    /// Writes all of it; false where that can't be.
    static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

enum Paths {
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
