/// The path under which the API is served.
struct MountPath {
    private let segments: [Substring]

    init(_ path: String) { segments = path.split(separator: "/") }

    /// The segments of `path` behind the mount path, decoded; nil when it lies elsewhere. Empty segments do not count.
    func split(_ path: String) -> [String]? {
        let parts = path.split(separator: "/")
        guard parts.count > segments.count || parts.count == segments.count, parts.starts(with: segments) else {
            return nil
        }
        var rest: [String] = []
        for part in parts.dropFirst(segments.count) {
            guard part.utf8.contains(UInt8(ascii: "%")) else {
                rest.append(String(part))
                continue
            }
            guard let decoded = String(percentDecoding: part) else { return nil }
            rest.append(decoded)
        }
        return rest
    }
}
