/// Which statements one connection has prepared, under which names; the one unused for longest goes first.
struct PreparedStatements {
    private final class Entry {
        let name: String
        var lastUse: UInt64 = 0
        var isConfirmed = false
        init(name: String) { self.name = name }
    }
    private let limit: Int
    private var entries: [Statement: Entry] = [:]
    private var uses: UInt64 = 0
    private var names = 0
    private var dropped: [String] = []

    init(limit: Int) { self.limit = max(limit, 1) }

    /// The statement's name on the server; `isNew` where it must be prepared first.
    mutating func find(_ statement: Statement) -> (name: String, isNew: Bool) {
        uses += 1
        if let entry = entries[statement] {
            entry.lastUse = uses
            return (entry.name, false)
        }
        if entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            drop(oldest.key)
        }
        names += 1
        let entry = Entry(name: "s\(names)")
        entry.lastUse = uses
        entries[statement] = entry
        return (entry.name, true)
    }

    /// The server has prepared it.
    func confirm(_ statement: Statement) { entries[statement]?.isConfirmed = true }

    /// Forgets a statement whose Parse did not come to pass.
    mutating func dropUnlessConfirmed(_ statement: Statement) {
        if let entry = entries[statement], !entry.isConfirmed { entries[statement] = nil }
    }

    /// Forgets a statement; the server is told with the next one.
    mutating func drop(_ statement: Statement) {
        if let entry = entries.removeValue(forKey: statement) { dropped.append(entry.name) }
    }

    /// The server has forgotten them all.
    mutating func forgetAll() {
        entries.removeAll()
        dropped.removeAll()
    }

    /// Names to deallocate now.
    mutating func takeDropped() -> [String] {
        guard !dropped.isEmpty else { return [] }
        defer { dropped.removeAll() }
        return dropped
    }
}
