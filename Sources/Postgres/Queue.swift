/// First in, first out, in one array: taking the first costs a step of the start, and the room is used again.
struct Queue<Element> {
    private var storage: [Element?] = []
    private var start = 0

    var count: Int { storage.count - start }
    var isEmpty: Bool { start == storage.count }

    /// The first element, to be changed in place. Setting it to nil is not for removing it.
    var first: Element? {
        get { isEmpty ? nil : storage[start] }
        _modify {
            if isEmpty {
                var none: Element?
                yield &none
            } else {
                yield &storage[start]
            }
        }
    }

    /// The last element, as `first`.
    var last: Element? {
        get { isEmpty ? nil : storage[storage.count - 1] }
        _modify {
            if isEmpty {
                var none: Element?
                yield &none
            } else {
                yield &storage[storage.count - 1]
            }
        }
    }

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
