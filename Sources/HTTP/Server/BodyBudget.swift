import Synchronization

/// How many bytes of request bodies may lie in memory at once, over all workers: one body's limit times the number of
/// connections would be more than any machine has.
///
/// What counts are bytes that have come, not those that a head promises, so that nobody reserves room by a promise.
/// The larger a body already is, the earlier it finds no room: small requests go on while large uploads fill it.
public final class BodyBudget: Sendable {
    /// Bytes.
    public let limit: Int
    private let taken = Atomic<Int>(0)

    public init(limit: Int) { self.limit = limit }

    /// Bytes that bodies hold now.
    public var held: Int { taken.load(ordering: .relaxed) }

    func hasRoom(for count: Int) -> Bool { count <= limit - held }

    /// Takes `count` bytes for a body that holds `own` bytes already; false when there is no room.
    func take(_ count: Int, own: Int) -> Bool {
        let sum = taken.wrappingAdd(count, ordering: .relaxed).newValue
        guard sum <= limit - own else {
            giveBack(count)
            return false
        }
        return true
    }

    func giveBack(_ count: Int) { taken.wrappingSubtract(count, ordering: .relaxed) }
}
