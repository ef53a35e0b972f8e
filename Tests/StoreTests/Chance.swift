/// Choices from a seed (splitmix64, https://prng.di.unimi.it/splitmix64.c), so that a failing case can be made again.
struct Chance: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func oneIn(_ bound: Int) -> Bool { below(bound) == 0 }
    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
    mutating func some<Element>(_ list: [Element], oneIn bound: Int) -> [Element] { list.filter { _ in oneIn(bound) } }
    mutating func list<Element>(_ most: Int, _ make: (inout Chance) -> Element) -> [Element] {
        (0..<below(most + 1)).map { _ in make(&self) }
    }
}
