/// The path under which the API is served.
struct MountPath {
    private let segments: [[UInt8]]

    init(_ path: String) { segments = path.utf8.split(separator: UInt8(ascii: "/")).map(Array.init) }

    /// The same for the path of a part of a batch, in which `.` and `..` are resolved first, as every client does with
    /// the paths of requests (RFC 3986, 5.2.4).
    func split(batchPath path: String) -> [String]? {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return split(parts.joined(separator: "/"))
    }

    /// The segments of `path` behind the mount path, decoded; nil when it lies elsewhere. Empty segments do not count.
    func split(_ path: String) -> [String]? {
        // Asked for twice for each request, so without what `split` of the standard library allocates.
        var path = path
        return path.withUTF8 { bytes in
            var rest: [String] = []
            rest.reserveCapacity(4)
            var (depth, end) = (0, 0)
            while let start = bytes[end...].firstIndex(where: { $0 != UInt8(ascii: "/") }) {
                end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
                let part = UnsafeBufferPointer(rebasing: bytes[start..<end])
                if depth < segments.count {
                    guard segments[depth].elementsEqual(part) else { return nil }
                    depth += 1
                    continue
                }
                guard let decoded = String(percentDecoding: part) else { return nil }
                rest.append(decoded)
            }
            return depth == segments.count ? rest : nil
        }
    }
}
