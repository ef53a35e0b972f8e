import Synchronization

/// The schema as all workers of this process share it.
///
/// It is right while nothing newer is known to exist. Each class has a version that only grows, so that what is heard
/// twice, of others' changes or of one's own, in whichever order, costs nothing the second time.
public final class SchemaCache: Sendable {
    private struct State {
        var snapshot = SchemaSnapshot.empty
        /// Classes of which a newer version is known to exist.
        var outdated: [String: Int64] = [:]
        /// Anything may have changed.
        var isUncertain = true
        /// Counts what makes an answer that is still on its way too old to be kept.
        var generation: UInt64 = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// The schema as last read; nil when a newer one is known to exist.
    var current: SchemaSnapshot? {
        state.withLock { $0.isUncertain || !$0.outdated.isEmpty ? nil : $0.snapshot }
    }

    /// The fields of an index that PostgreSQL names in an error, by its table's name and its own; nil where it is none
    /// that was asked for. What was read last will do.
    public func fields(ofIndex relation: String, table: String) -> [String]? {
        state.withLock { $0.snapshot }[table]?.fields(ofIndex: relation)
    }

    /// Where a reading begins: what is known already, and what `install` wants to hear.
    var beginning: (known: SchemaSnapshot, generation: UInt64) {
        state.withLock { ($0.snapshot, $0.generation) }
    }

    /// A node has given this version to a class, or has deleted the class with it.
    func heard(of className: String, version: Int64) {
        state.withLock { state in
            guard (state.snapshot[className]?.version ?? -1) < version else { return }
            state.outdated[className] = max(version, state.outdated[className] ?? version)
            state.generation += 1
        }
    }

    /// Changes may have gone unheard: what was read before can't be relied on.
    func missedSome() {
        state.withLock { state in
            state.isUncertain = true
            state.generation += 1
        }
    }

    /// Takes over what was read, unless something was heard since the reading began.
    func install(_ snapshot: SchemaSnapshot, generation: UInt64) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.snapshot = snapshot
            state.isUncertain = false
            state.outdated = [:]
        }
    }

    /// Takes over what this node has changed itself, after its commit.
    func apply(_ changes: [SchemaChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            // A reading under way may have begun before the commit.
            state.generation += 1
            for change in changes {
                guard let known = state.snapshot[change.className] else {
                    // What was made may have been deleted again by now: only the database knows.
                    if change.schema != nil { state.isUncertain = true }
                    continue
                }
                guard known.version < change.version else { continue }
                state.snapshot = state.snapshot.replacing([change])
                if let heard = state.outdated[change.className], heard <= change.version {
                    state.outdated[change.className] = nil
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
