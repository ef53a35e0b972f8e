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
        let expiresAt: Timestamp?
    }

    private struct State {
        var epoch: UInt64 = 0
        var byToken: [String: Entry] = [:]
        var tokens: [String: Set<String>] = [:]
    }

    /// Sessions that are remembered at most; then all are forgotten, and come back as they are used.
    private let capacity: Int
    private let state = Mutex(State())

    public init(capacity: Int = 100_000) { self.capacity = capacity }

    var epoch: UInt64 { state.withLock { $0.epoch } }

    func find(_ token: String) -> Entry? { state.withLock { $0.byToken[token] } }

    func insert(_ entry: Entry, _ token: String, readIn epoch: UInt64) {
        state.withLock { state in
            guard state.epoch == epoch else { return }
            if state.byToken.count >= capacity {
                state.byToken = [:]
                state.tokens = [:]
            }
            state.byToken[token] = entry
            state.tokens["user:" + entry.userId, default: []].insert(token)
            state.tokens["session:" + entry.sessionId, default: []].insert(token)
        }
    }

    /// Forgets what a notification names: `user:ID`, `session:ID`, or all for anything else.
    public func forget(_ what: String) {
        state.withLock { state in
            state.epoch += 1
            guard what.hasPrefix("user:") || what.hasPrefix("session:") else {
                state.byToken = [:]
                state.tokens = [:]
                return
            }
            for token in state.tokens.removeValue(forKey: what) ?? [] { state.byToken[token] = nil }
        }
    }
}
