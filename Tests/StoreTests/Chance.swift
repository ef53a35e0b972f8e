import TestSupport

/// Choices from a seed.
typealias Chance = SeededGenerator

extension Chance {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func oneIn(_ bound: Int) -> Bool { below(bound) == 0 }
    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
    mutating func some<Element>(_ list: [Element], oneIn bound: Int) -> [Element] { list.filter { _ in oneIn(bound) } }
    mutating func list<Element>(_ most: Int, _ make: (inout Chance) -> Element) -> [Element] {
        (0..<below(most + 1)).map { _ in make(&self) }
    }
}
