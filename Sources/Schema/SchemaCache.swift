import Synchronization

/// The schema as all workers of this process share it.
///
/// It is right while `isCurrent`: nothing newer is known to exist. Each class has a version that only grows, so that
/// what is heard twice, of others' changes or of one's own, costs nothing the second time.
public final class SchemaCache: Sendable {
    private struct State {
        var snapshot = SchemaSnapshot.empty
        var isCurrent = false
        /// Counts what makes an answer that is still on its way too old to be kept.
        var generation: UInt64 = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// The schema as last read; nil when a newer one is known to exist.
    var current: SchemaSnapshot? { state.withLock { $0.isCurrent ? $0.snapshot : nil } }

    /// Where a reading begins: what is known already, and what `install` wants to hear.
    var beginning: (known: SchemaSnapshot, generation: UInt64) {
        state.withLock { ($0.snapshot, $0.generation) }
    }

    /// A node has given this version to a class, or has deleted the class with it.
    func heard(of className: String, version: Int64) {
        state.withLock { state in
            guard (state.snapshot[className]?.version ?? -1) < version else { return }
            state.isCurrent = false
            state.generation += 1
        }
    }

    /// Changes may have gone unheard: what was read before can't be relied on.
    func missedSome() {
        state.withLock { state in
            state.isCurrent = false
            state.generation += 1
        }
    }

    /// Takes over what was read, unless something was heard since the reading began.
    func install(_ snapshot: SchemaSnapshot, generation: UInt64) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.snapshot = snapshot
            state.isCurrent = true
        }
    }

    /// Takes over what this node has changed itself, after its commit.
    func apply(_ changes: [SchemaChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            // A reading under way may have begun before the commit.
            state.generation += 1
            for change in changes {
                switch (state.snapshot[change.className], change.schema) {
                case (let known?, let schema?):
                    if known.version < schema.version { state.snapshot = state.snapshot.replacing([change]) }
                case (let known?, nil):
                    if known.version < change.version { state.snapshot = state.snapshot.replacing([change]) }
                case (nil, nil): break
                case (nil, _?):
                    // It may have been deleted again by now: only the database knows.
                    state.isCurrent = false
                }
            }
        }
    }
}

/// What one change made of a class; `schema` is nil where it was deleted.
struct SchemaChange: Sendable {
    let className: String
    let version: Int64
    let schema: ClassSchema?
}
