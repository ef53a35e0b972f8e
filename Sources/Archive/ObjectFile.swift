import Glibc

/// A file of JSON objects, read piece by piece whatever its size: `{"results": […]}` as the hosted Parse made it, a list
/// (`mongoexport --jsonArray`), or one object after another (JSON lines). What stands beside the list is skipped.
///
/// It finds where objects begin and end, and says nothing of what is in them. Blocking.
final class ObjectFile {
    /// Where an object stands: its bytes are `offset..<end` of the file, on `line`, counted from 1.
    struct Place: Equatable {
        var offset: Int
        var line: Int
    }

    /// No object may be longer, in bytes.
    static let longest = 128 << 20

    let path: String
    let size: Int
    private let descriptor: Int32
    /// Where what is read next begins.
    private(set) var place = Place(offset: 0, line: 1)
    /// Within a list, whose end is the end.
    private var isList = false
    private var hasBegun = false
    private var firstPlace = Place(offset: 0, line: 1)

    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    /// Of the buffer, what was read and not used yet.
    private var start = 0
    private var end = 0
    private var isAtEnd = false

    init(_ path: String) throws(ArchiveFailure) {
        self.path = path
        descriptor = open(path, O_RDONLY | Int32(O_CLOEXEC))
        var information = stat()
        guard descriptor >= 0, fstat(descriptor, &information) == 0 else {
            throw ArchiveFailure("\(path) can't be read: \(reason())")
        }
        guard information.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw ArchiveFailure("\(path) is not a file")
        }
        size = Int(information.st_size)
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// A digest of size, beginning and end: what is the same file when an import goes on.
    func fingerprint() throws(ArchiveFailure) -> String {
        let digest = SHA256()
        var chunk = [UInt8](repeating: 0, count: 65536)
        for offset in [0, max(0, size - 65536)] {
            let count = pread(descriptor, &chunk, chunk.count, off_t(offset))
            guard count >= 0 else { throw ArchiveFailure("\(path) can't be read: \(reason())") }
            chunk.withUnsafeBytes { digest.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        return "\(size) \(digest.finish())"
    }

    /// Where what stands before the first object ends.
    func first() throws(ArchiveFailure) -> Place {
        try beginning()
        return firstPlace
    }

    /// Goes to a place where an object ends or begins.
    func go(to place: Place) throws(ArchiveFailure) {
        try beginning()
        (start, end, isAtEnd) = (0, 0, false)
        self.place = place
    }

    /// The next object's bytes, valid until the next call, and where they stand; nil at the end.
    ///
    /// - Throws: where the file ends within an object, or holds something else than objects.
    func next() throws(ArchiveFailure) -> (bytes: UnsafeRawBufferPointer, place: Place)? {
        try beginning()
        // Between objects there are blanks and commas.
        while true {
            guard try fill(1) else { return nil }
            let byte = buffer[start]
            if byte == UInt8(ascii: "{") { break }
            if byte == UInt8(ascii: "]"), isList { return nil }
            guard byte == UInt8(ascii: ",") || ObjectFile.isBlank(byte) else {
                if isList || place == firstPlace {
                    throw ArchiveFailure(
                        "\(path), line \(place.line): here should be an object. It is no export of objects.")
                }
                // A line that is no object is refused like one: with what stands on it.
                return try line()
            }
            skip(1)
        }
        return try object()
    }

    // MARK: finding ends

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private func object() throws(ArchiveFailure) -> (bytes: UnsafeRawBufferPointer, place: Place) {
        var depth = 0
        var isText = false
        var index = start
        var lines = 0
        while true {
            if index == end {
                let seen = index - start
                guard try fill(seen + 1) else {
                    throw ArchiveFailure(
                        "\(path), line \(place.line): the file ends within an object. What stands before it is imported."
                    )
                }
                index = start + seen
            }
            // Most bytes are those of texts: they are passed quickly.
            let bytes = buffer
            let end = end
            scan: while index < end {
                let byte = bytes[index]
                index += 1
                if isText {
                    switch byte {
                    case UInt8(ascii: "\""): isText = false
                    case UInt8(ascii: "\\"):
                        if index == end {
                            index -= 1
                            break scan
                        }
                        index += 1
                    case 0x0A: lines += 1
                    default: break
                    }
                } else {
                    switch byte {
                    case UInt8(ascii: "\""): isText = true
                    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                    case UInt8(ascii: "}"), UInt8(ascii: "]"):
                        depth -= 1
                        if depth == 0 { return take(index - start, lines) }
                    case 0x0A: lines += 1
                    default: break
                    }
                }
            }
            if index < end {
                // A backslash at the end of what was read.
                let seen = index - start
                guard try fill(seen + 2) else {
                    throw ArchiveFailure("\(path), line \(place.line): the file ends within an object.")
                }
                index = start + seen
            }
        }
    }

    private func line() throws(ArchiveFailure) -> (bytes: UnsafeRawBufferPointer, place: Place) {
        var length = 0
        while try fill(length + 1), buffer[start + length] != 0x0A { length += 1 }
        return take(length, 0)
    }

    private func take(_ length: Int, _ lines: Int) -> (bytes: UnsafeRawBufferPointer, place: Place) {
        let found = (UnsafeRawBufferPointer(rebasing: buffer[start..<start + length]), place)
        start += length
        place.offset += length
        place.line += lines
        return found
    }

    private func skip(_ count: Int) {
        for index in start..<start + count where buffer[index] == 0x0A { place.line += 1 }
        start += count
        place.offset += count
    }

    /// Finds out what the file holds, and skips what stands before the first object.
    private func beginning() throws(ArchiveFailure) {
        guard !hasBegun else { return }
        hasBegun = true
        defer { firstPlace = place }
        // A byte order mark.
        if try fill(3), buffer[start] == 0xEF, buffer[start + 1] == 0xBB, buffer[start + 2] == 0xBF { skip(3) }
        while try fill(1), ObjectFile.isBlank(buffer[start]) { skip(1) }
        guard try fill(1) else { return }
        if buffer[start] == UInt8(ascii: "[") {
            isList = true
            return skip(1)
        }
        // {"results":[
        var index = 0
        for expected in ["{", "\"results\"", ":", "["] {
            while try fill(index + 1), ObjectFile.isBlank(buffer[start + index]) { index += 1 }
            for byte in expected.utf8 {
                guard try fill(index + 1), buffer[start + index] == byte else { return }
                index += 1
            }
        }
        isList = true
        skip(index)
    }

    /// Sees to it that `count` bytes can be seen; false where the file has not so many left.
    private func fill(_ count: Int) throws(ArchiveFailure) -> Bool {
        while end - start < count {
            guard !isAtEnd else { return false }
            guard count <= ObjectFile.longest else {
                throw ArchiveFailure(
                    "\(path), line \(place.line): an object is longer than \(ObjectFile.longest >> 20) MB, or a quote or a "
                        + "brace is missing.")
            }
            if buffer.count - start < max(count, 65536) {
                let room =
                    buffer.count >= 2 * max(count, 65536)
                    ? buffer : .allocate(byteCount: max(count * 2, buffer.count * 2), alignment: 16)
                if let from = buffer.baseAddress, let to = room.baseAddress { memmove(to, from + start, end - start) }
                if room.baseAddress != buffer.baseAddress { buffer.deallocate() }
                (buffer, start, end) = (room, 0, end - start)
            }
            let got = pread(
                descriptor, buffer.baseAddress.map { $0 + end }, buffer.count - end,
                off_t(place.offset + end - start))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw ArchiveFailure("\(path) can't be read: \(reason())") }
            if got == 0 { isAtEnd = true }
            end += got
        }
        return true
    }
}
