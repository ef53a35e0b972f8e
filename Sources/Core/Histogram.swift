import Synchronization

/// Counts what is observed by size.
///
/// - Safety: `@unchecked Sendable` holds because what changes are atomics behind a pointer that never does.
public final class Histogram: @unchecked Sendable {
    /// From half a millisecond to ten seconds, for what a request takes.
    public static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let bounds: [Double]
    /// One for each bound, and one for what is above all.
    private let counts: UnsafeMutablePointer<Atomic<UInt64>>
    /// In millionths, so that it can be added to atomically.
    private let sum = Atomic<Int>(0)

    init(buckets: [Double]) {
        bounds = buckets
        counts = .allocate(capacity: buckets.count + 1)
        for index in 0...buckets.count { (counts + index).initialize(to: Atomic(0)) }
    }

    deinit {
        counts.deinitialize(count: bounds.count + 1)
        counts.deallocate()
    }

    public func observe(_ value: Double) {
        guard value.isFinite, value.magnitude < 1e12 else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        counts[index].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(Int(value * 1_000_000), ordering: .relaxed)
    }

    /// Observes the time since `start`, a reading of `Loop.monotonicNow()`, in seconds.
    public func observe(since start: UInt64) {
        observe(Double(Loop.monotonicNow() &- start) / 1_000_000_000)
    }

    func write(_ name: String, _ labels: String, to text: inout String) {
        let prefix = labels.isEmpty ? "" : labels + ","
        var total: UInt64 = 0
        for (index, bound) in bounds.enumerated() {
            total += counts[index].load(ordering: .relaxed)
            text += "\(name)_bucket{\(prefix)le=\"\(Metrics.text(bound))\"} \(total)\n"
        }
        total += counts[bounds.count].load(ordering: .relaxed)
        text += "\(name)_bucket{\(prefix)le=\"+Inf\"} \(total)\n"
        let whole = Double(sum.load(ordering: .relaxed)) / 1_000_000
        text += "\(name)_sum\(Metrics.braces(labels)) \(Metrics.text(whole))\n"
        text += "\(name)_count\(Metrics.braces(labels)) \(total)\n"
    }
}
