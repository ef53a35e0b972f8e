/// First in, first out, in one array: taking the first costs a step of the start, and the room is used again.
struct Queue<Element> {
    private var storage: [Element?] = []
    private var start = 0

    var count: Int { storage.count - start }
    var isEmpty: Bool { start == storage.count }
    var first: Element? { isEmpty ? nil : storage[start] }

    mutating func append(_ element: Element) { storage.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[start]
        storage[start] = nil
        start += 1
        if start == storage.count {
            storage.removeAll(keepingCapacity: start <= 1024)
            start = 0
        } else if start > 256, start * 2 > storage.count {
            storage.removeFirst(start)
            start = 0
        }
        return element
    }

    /// Changes the first element in place.
    mutating func updateFirst(_ body: (inout Element) -> Void) {
        guard var element = first else { return }
        storage[start] = nil
        body(&element)
        storage[start] = element
    }

    mutating func updateLast(_ body: (inout Element) -> Void) {
        guard !isEmpty, var element = storage[storage.count - 1] else { return }
        storage[storage.count - 1] = nil
        body(&element)
        storage[storage.count - 1] = element
    }

    /// All elements, first to last.
    var elements: [Element] { storage[start...].compactMap { $0 } }

    mutating func removeAll() -> [Element] {
        let all = elements
        storage.removeAll()
        start = 0
        return all
    }

    mutating func removeAll(where condition: (Element) -> Bool) {
        storage = elements.filter { !condition($0) }
        start = 0
    }

    mutating func prepend(contentsOf others: [Element]) {
        storage = others + elements
        start = 0
    }
}
