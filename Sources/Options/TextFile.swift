import Glibc

/// Small files, read and made as a whole; blocking, for the start.
public enum TextFile {
    static func fault(_ what: String, _ path: String) -> OptionFault {
        OptionFault("\(path) \(what): \(String(cString: strerror(errno)))")
    }

    /// - Throws: `OptionFault` that says why the file can't be read; past 16 MB it is not read.
    public static func read(_ path: String) throws(OptionFault) -> String {
        guard let file = fopen(path, "re") else { throw fault("can't be read", path) }
        defer { fclose(file) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            content += chunk[..<count]
            guard content.count <= 16 << 20 else { throw OptionFault("\(path) is larger than 16 MB") }
            if count == 0 {
                guard ferror(file) == 0 else { throw fault("can't be read", path) }
                return String(decoding: content, as: UTF8.self)
            }
        }
    }

    /// Makes a file that appears whole, on disk, or not at all.
    ///
    /// - Returns: false, and changes nothing, where there is a file of that name already.
    public static func create(_ path: String, _ text: String, mode: mode_t) throws(OptionFault) -> Bool {
        let draft = "\(path).\(UInt64.random(in: 0...UInt64.max))"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | Int32(O_CLOEXEC), mode)
        guard descriptor >= 0 else { throw fault("can't be made", path) }
        defer { unlink(draft) }
        var text = text
        let isWritten = text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return fsync(descriptor) == 0
        }
        guard close(descriptor) == 0, isWritten else { throw fault("can't be written", path) }
        guard link(draft, path) == 0 else {
            if errno == EEXIST { return false }
            throw fault("can't be made", path)
        }
        return true
    }
}
