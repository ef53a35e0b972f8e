import Hermes

/// Pages by cursor. A cursor leads forward only, so that each page takes along where one came from: `antes` holds the
/// cursors of the pages before, `0` for the first of all.
extension Visit {
    private static let start = "0"
    /// Pages that are remembered: addresses are not to grow without end.
    private static let remembered = 10

    /// Has a page lead to those before and after it.
    ///
    /// - Parameters:
    ///   - path: of the first page.
    ///   - next: the cursor of the page after it; nil on the last.
    func turn(_ leaf: inout Leaf, at path: String, next: String?) {
        let here = query("desde")
        let before = (query("antes") ?? "").split(separator: ".").map(String.init)
        if let next {
            let trail = here.map { before + [$0] } ?? [Visit.start]
            leaf.next = Visit.address(path, next, trail)
        }
        guard here != nil else { return }
        // Who comes by a link of somebody's gets no page before it, but the first one.
        if let last = before.last {
            leaf.previous = last == Visit.start ? path : Visit.address(path, last, before.dropLast())
        }
        if leaf.previous != path { leaf.first = path }
    }

    private static func address(_ path: String, _ cursor: String, _ trail: [String]) -> String {
        let kept = trail.suffix(remembered).joined(separator: ".")
        return "\(path)?desde=\(cursor.inURL)" + (kept.isEmpty ? "" : "&antes=\(kept.inURL)")
    }
}
