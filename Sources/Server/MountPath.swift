/// The path under which the API is served.
struct MountPath {
    private let segments: [Substring.UTF8View]

    init(_ path: String) { segments = MountPath.parts(path) }

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
        let parts = MountPath.parts(path)
        guard parts.starts(with: segments, by: { $0.elementsEqual($1) }) else { return nil }
        var rest: [String] = []
        for part in parts.dropFirst(segments.count) {
            guard part.contains(UInt8(ascii: "%")) else {
                rest.append(String(Substring(part)))
                continue
            }
            guard let decoded = String(percentDecoding: Substring(part)) else { return nil }
            rest.append(decoded)
        }
        return rest
    }

    private static func parts(_ path: String) -> [Substring.UTF8View] { path.utf8.split(separator: UInt8(ascii: "/")) }
}
