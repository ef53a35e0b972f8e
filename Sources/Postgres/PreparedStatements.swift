/// Which statements one connection has prepared, under which names; the one unused for longest goes first.
struct PreparedStatements {
    private final class Entry {
        let name: String
        var lastUse: UInt64 = 0
        var isConfirmed = false
        init(name: String) { self.name = name }
    }
    private let limit: Int
    /// No other connection has it: where a pooler mixes sessions up, a name must lead to nothing rather than to another
    /// connection's statement.
    private let prefix = "h" + String(UInt64.random(in: 0...UInt64.max), radix: 36) + "_"
    private var entries: [Statement: Entry] = [:]
    private var uses: UInt64 = 0
    private var names = 0
    private var dropped: [String] = []

    init(limit: Int) { self.limit = max(limit, 1) }

    enum Found {
        case prepared(name: String)
        /// To be prepared now, under this name.
        case new(name: String)
        /// Its Parse is on the way and may yet fail: what is sent meanwhile must not rely on it.
        case uncertain
    }

    mutating func find(_ statement: Statement) -> Found {
        uses += 1
        if let entry = entries[statement] {
            entry.lastUse = uses
            return entry.isConfirmed ? .prepared(name: entry.name) : .uncertain
        }
        if entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            drop(oldest.key)
        }
        names += 1
        let entry = Entry(name: "\(prefix)\(names)")
        entry.lastUse = uses
        entries[statement] = entry
        return .new(name: entry.name)
    }

    /// The Parse of a statement was answered.
    mutating func settle(_ statement: Statement, name: String, succeeded: Bool) {
        guard let entry = entries[statement], entry.name == name else { return }
        if succeeded { entry.isConfirmed = true } else { entries[statement] = nil }
    }

    /// Forgets a statement that the server can't use any more: all of them when it has forgotten this one (DISCARD,
    /// DEALLOCATE ALL).
    mutating func forget(_ statement: Statement, name: String, serverForgot: Bool) {
        guard entries[statement]?.name == name else { return }
        if serverForgot {
            entries = entries.filter { !$0.value.isConfirmed }
            dropped.removeAll()
        } else {
            drop(statement)
        }
    }

    /// Forgets a statement; the server is told with the next one.
    private mutating func drop(_ statement: Statement) {
        if let entry = entries.removeValue(forKey: statement) { dropped.append(entry.name) }
    }

    /// Names to deallocate now.
    mutating func takeDropped() -> [String] {
        guard !dropped.isEmpty else { return [] }
        defer { dropped.removeAll() }
        return dropped
    }
}
