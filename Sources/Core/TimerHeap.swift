/// The timers of one loop, earliest first: a heap with four children a node, in which each timer knows its position,
/// so that one that is cancelled leaves at once. Setting, firing and cancelling cost O(log n). Deadlines stand beside
/// the timers, which spares a look at each timer that is compared.
struct TimerHeap {
    private struct Entry {
        var deadline: UInt64
        var timer: Loop.Timer
    }
    private var heap: [Entry] = []

    var count: Int { heap.count }

    mutating func insert(_ timer: Loop.Timer) {
        let entry = Entry(deadline: timer.deadline, timer: timer)
        heap.append(entry)
        siftUp(entry, from: heap.count - 1)
    }

    mutating func remove(_ timer: Loop.Timer) {
        let position = timer.position
        timer.position = -1
        let last = heap.removeLast()
        guard last.timer !== timer else { return }
        if position > 0, last.deadline < heap[(position - 1) / 4].deadline {
            siftUp(last, from: position)
        } else {
            siftDown(last, from: position)
        }
    }

    mutating func removeAll() {
        for entry in heap {
            entry.timer.position = -1
            entry.timer.handler = nil
            entry.timer.loop = nil
        }
        heap.removeAll()
    }

    mutating func popDue(_ now: UInt64) -> Loop.Timer? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        remove(first.timer)
        return first.timer
    }

    /// For `epoll_wait`: -1 without timers, else rounded up, so that a timer never fires early.
    func millisecondsToNext() -> Int32 {
        guard let first = heap.first else { return -1 }
        let now = Loop.monotonicNow()
        guard first.deadline > now else { return 0 }
        return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
    }

    /// Moves the hole at `start` up to where `entry` belongs, and puts it there.
    private mutating func siftUp(_ entry: Entry, from start: Int) {
        var hole = start
        while hole > 0 {
            let parent = (hole - 1) / 4
            guard entry.deadline < heap[parent].deadline else { break }
            place(heap[parent], at: hole)
            hole = parent
        }
        place(entry, at: hole)
    }

    /// Moves the hole at `start` down to where `entry` belongs, and puts it there.
    private mutating func siftDown(_ entry: Entry, from start: Int) {
        var hole = start
        while true {
            let first = 4 * hole + 1
            guard first < heap.count else { break }
            var least = first
            var leastDeadline = heap[first].deadline
            var child = first + 1
            let end = min(first + 4, heap.count)
            while child < end {
                if heap[child].deadline < leastDeadline {
                    least = child
                    leastDeadline = heap[child].deadline
                }
                child += 1
            }
            guard leastDeadline < entry.deadline else { break }
            place(heap[least], at: hole)
            hole = least
        }
        place(entry, at: hole)
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        heap[position] = entry
        entry.timer.position = position
    }
}
