/// The timers of one loop, earliest first: a binary heap in which each timer knows its position, so that one that is
/// cancelled leaves at once. Setting, firing and cancelling cost O(log n).
struct TimerHeap {
    private var heap: [Loop.Timer] = []

    var count: Int { heap.count }

    mutating func insert(_ timer: Loop.Timer) {
        timer.position = heap.count
        heap.append(timer)
        siftUp(heap.count - 1)
    }

    mutating func remove(_ timer: Loop.Timer) {
        let position = timer.position
        timer.position = -1
        let last = heap.removeLast()
        guard last !== timer else { return }
        heap[position] = last
        last.position = position
        siftUp(position)
        siftDown(last.position)
    }

    mutating func removeAll() {
        for timer in heap {
            timer.position = -1
            timer.handler = nil
            timer.loop = nil
        }
        heap.removeAll()
    }

    mutating func popDue(_ now: UInt64) -> Loop.Timer? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        remove(first)
        return first
    }

    /// For `epoll_wait`: -1 without timers, else rounded up, so that a timer never fires early.
    func millisecondsToNext() -> Int32 {
        guard let first = heap.first else { return -1 }
        let now = Loop.monotonicNow()
        guard first.deadline > now else { return 0 }
        return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
    }

    private mutating func siftUp(_ start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard heap[position].deadline < heap[parent].deadline else { return }
            exchange(position, parent)
            position = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var position = start
        while true {
            var least = position
            for child in [2 * position + 1, 2 * position + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            guard least != position else { return }
            exchange(position, least)
            position = least
        }
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        heap[one].position = one
        heap[other].position = other
    }
}
