import Glibc

/// How much memory the process holds, by the kernel's count.
enum ProcessMemory {
    private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Bytes that lie in memory; 0 where the kernel does not say.
    static func resident() -> Int {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = read(file, &text, text.count)
        guard count > 0 else { return 0 }
        // Its second figure: pages.
        let figures = String(decoding: text[..<count], as: UTF8.self).split(separator: " ")
        return figures.count > 1 ? (Int(figures[1]) ?? 0) * pageSize : 0
    }
}
