import Glibc

/// Files of cloud code on the disk.
enum SourceFile {
    static var workingFolder: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    /// The bytes of a file; nil where there is none that can be read.
    static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var about = stat()
        guard fstat(file, &about) == 0, about.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes: [UInt8] = []
        while true {
            let room = 64 << 10
            var chunk = [UInt8](repeating: 0, count: room)
            let count = Glibc.read(file, &chunk, room)
            if count < 0 { if errno == EINTR { continue } else { return nil } }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return bytes
    }

    /// 1 for a file, 2 for a folder, 0 for anything else.
    static func kind(_ path: String) -> Int {
        var about = stat()
        guard stat(path, &about) == 0 else { return 0 }
        switch about.st_mode & S_IFMT {
        case S_IFREG: return 1
        case S_IFDIR: return 2
        default: return 0
        }
    }

    /// Bytes, and milliseconds since 1970 of the last change.
    static func about(_ path: String) -> (size: Int, changed: Int) {
        var about = stat()
        guard stat(path, &about) == 0 else { return (0, 0) }
        return (Int(about.st_size), Int(about.st_mtim.tv_sec) * 1000 + Int(about.st_mtim.tv_nsec) / 1_000_000)
    }

    /// What lies in a folder, in no order.
    static func names(in folder: String) -> [String] {
        guard let open = opendir(folder) else { return [] }
        defer { closedir(open) }
        var names: [String] = []
        while let entry = readdir(open) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Without symbolic links and dots; the path itself where there is nothing.
    static func realPath(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}
