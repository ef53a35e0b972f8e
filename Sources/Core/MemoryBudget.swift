import Synchronization

/// How many bytes of one sort may lie in memory at once, over all workers: request bodies, say, since one body's limit
/// times the number of connections would be more than any machine has.
///
/// What counts are bytes that are there, not those that somebody promises, so that nobody reserves room by a promise.
/// The larger one's own part already is, the earlier it finds no room: small requests go on while large ones fill it,
/// and nobody gets more than half of it.
public final class MemoryBudget: Sendable {
    /// Bytes.
    public let limit: Int
    private let taken = Atomic<Int>(0)

    public init(limit: Int) { self.limit = limit }

    /// Bytes that one may have at most.
    public var share: Int { limit / 2 }

    /// Bytes that are held now. Over the limit where `add` found no room.
    public var held: Int { taken.load(ordering: .relaxed) }

    public func hasRoom(for count: Int) -> Bool { count <= limit - held }

    /// Takes `count` bytes for what holds `own` bytes already; false when there is no room.
    public func take(_ count: Int, own: Int) -> Bool {
        let sum = taken.wrappingAdd(count, ordering: .relaxed).newValue
        guard sum <= limit - own else {
            giveBack(count)
            return false
        }
        return true
    }

    /// Takes `count` bytes that are there already, whether there is room or not.
    public func add(_ count: Int) { taken.wrappingAdd(count, ordering: .relaxed) }

    public func giveBack(_ count: Int) { taken.wrappingSubtract(count, ordering: .relaxed) }
}
