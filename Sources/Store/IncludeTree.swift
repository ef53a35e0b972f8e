import Wire

/// The paths of `include` as a tree: `autor`, `autor.ciudad` → autor → ciudad.
struct IncludeTree {
    var children: [String: IncludeTree] = [:]
    /// Every pointer of this level (`include=*`).
    var all = false

    var isEmpty: Bool { children.isEmpty && !all }

    init() {}

    init(_ paths: [[String]]) {
        for path in paths { insert(path[...]) }
    }

    private mutating func insert(_ path: ArraySlice<String>) {
        guard let head = path.first else { return }
        if head == "*" {
            all = true
        } else {
            children[head, default: IncludeTree()].insert(path.dropFirst())
        }
    }
}
