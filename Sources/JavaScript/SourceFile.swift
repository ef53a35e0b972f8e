import Glibc

/// Files of cloud code on the disk.
enum SourceFile {
    static var workingFolder: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    /// The text of a file; nil where there is none that can be read.
    static func read(_ path: String) -> String? {
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
        return String(decoding: bytes, as: UTF8.self)
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

    /// Without symbolic links and dots; the path itself where there is nothing.
    static func realPath(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}
