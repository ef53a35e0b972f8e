import Store
import Synchronization
import Wire

/// Who each session token stands for, as all workers of this process remember it.
///
/// What is read from the database enters only if nothing was forgotten since the reading began (`epoch`): else a
/// session that ended in between would come back to life.
public final class ViewerCache: Sendable {
    struct Entry: Sendable {
        let sessionId: String
        let userId: String
        let roles: [String]
        var expiresAt: Timestamp?
    }

    private struct State {
        var epoch: UInt64 = 0
        var byToken: [String: Entry] = [:]
        var byUser: [String: Set<String>] = [:]
        var bySession: [String: String] = [:]

        mutating func remove(_ token: String) {
            guard let entry = byToken.removeValue(forKey: token) else { return }
            bySession[entry.sessionId] = nil
            byUser[entry.userId]?.remove(token)
            if byUser[entry.userId]?.isEmpty == true { byUser[entry.userId] = nil }
        }

        mutating func removeAll() {
            byToken = [:]
            byUser = [:]
            bySession = [:]
        }
    }

    /// Sessions that are remembered at most. When it is full a tenth of them is forgotten, whichever it is, and comes
    /// back as it is used.
    private let capacity: Int
    private let state = Mutex(State())

    public init(capacity: Int = 100_000) { self.capacity = capacity }

    var epoch: UInt64 { state.withLock { $0.epoch } }

    /// How many sessions are remembered, and how many entries all its indexes have together.
    var counts: (sessions: Int, indexed: Int) {
        state.withLock { state in
            (state.byToken.count, state.bySession.count + state.byUser.values.reduce(0) { $0 + $1.count })
        }
    }

    func find(_ token: String) -> Entry? { state.withLock { $0.byToken[token] } }

    func insert(_ entry: Entry, _ token: String, readIn epoch: UInt64) {
        state.withLock { state in
            guard state.epoch == epoch else { return }
            if state.byToken.count >= capacity {
                for token in Array(state.byToken.keys.prefix(max(1, capacity / 10))) { state.remove(token) }
            }
            state.remove(token)
            state.byToken[token] = entry
            state.byUser[entry.userId, default: []].insert(token)
            state.bySession[entry.sessionId] = token
        }
    }

    /// Forgets what a notification names: `user:ID`, `session:ID`, or all for anything else.
    public func forget(_ what: String) {
        state.withLock { state in
            state.epoch += 1
            if what.hasPrefix("user:") {
                for token in state.byUser[String(what.dropFirst(5))] ?? [] { state.remove(token) }
            } else if what.hasPrefix("session:") {
                if let token = state.bySession[String(what.dropFirst(8))] { state.remove(token) }
            } else {
                state.removeAll()
            }
        }
    }
}
