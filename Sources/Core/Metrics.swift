import Synchronization

/// The process's figures in Prometheus' text format, version 0.0.4. Instruments are made once and kept by who counts;
/// counting is one atomic addition. Asking for an instrument that exists (same name and labels) returns that one.
public final class Metrics: Sendable {
    public typealias Labels = KeyValuePairs<String, String>

    /// The process's own.
    public static let shared = Metrics()

    private enum Instrument: Sendable {
        case counter(Counter)
        case gauge(Gauge)
        case reading(@Sendable () -> Double)
        case histogram(Histogram)
    }

    private struct Family {
        var kind: String
        var help: String
        var series: [(labels: String, instrument: Instrument)] = []
    }

    private let families = Mutex<[String: Family]>([:])

    public init() {}

    /// Something that only grows: `http_requests_total`.
    public func counter(_ name: String, help: String, labels: Labels = [:]) -> Counter {
        let made = find(name, "counter", help, labels) { .counter(Counter()) }
        guard case .counter(let counter) = made else { preconditionFailure("\(name) is no counter") }
        return counter
    }

    /// Something that goes up and down: `db_connections`.
    public func gauge(_ name: String, help: String, labels: Labels = [:]) -> Gauge {
        let made = find(name, "gauge", help, labels) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = made else { preconditionFailure("\(name) is no gauge") }
        return gauge
    }

    /// A gauge that is read when somebody asks.
    public func reading(_ name: String, help: String, labels: Labels = [:], read: @escaping @Sendable () -> Double) {
        _ = find(name, "gauge", help, labels) { .reading(read) }
    }

    /// How often something took how long: `http_request_seconds`.
    /// - Parameter buckets: upper bounds, ascending, in the unit of what is observed.
    public func histogram(
        _ name: String, help: String, labels: Labels = [:], buckets: [Double] = Histogram.seconds
    ) -> Histogram {
        let made = find(name, "histogram", help, labels) { .histogram(Histogram(buckets: buckets)) }
        guard case .histogram(let histogram) = made else { preconditionFailure("\(name) is no histogram") }
        return histogram
    }

    private func find(
        _ name: String, _ kind: String, _ help: String, _ labels: Labels, _ make: () -> Instrument
    ) -> Instrument {
        let text = Metrics.text(labels)
        return families.withLock { families in
            if let found = families[name]?.series.first(where: { $0.labels == text }) { return found.instrument }
            let instrument = make()
            families[name, default: Family(kind: kind, help: help)].series.append((text, instrument))
            return instrument
        }
    }

    /// All figures as text, by name.
    public func exposition() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(family.kind)\n"
            for (labels, instrument) in family.series {
                switch instrument {
                case .counter(let counter): text += "\(name)\(Metrics.braces(labels)) \(counter.value)\n"
                case .gauge(let gauge): text += "\(name)\(Metrics.braces(labels)) \(gauge.value)\n"
                case .reading(let read): text += "\(name)\(Metrics.braces(labels)) \(Metrics.text(read()))\n"
                case .histogram(let histogram): histogram.write(name, labels, to: &text)
                }
            }
        }
        return text
    }

    static func braces(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

    private static func text(_ labels: Labels) -> String {
        labels.map { name, value in
            let value = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name)=\"\(value)\""
        }.joined(separator: ",")
    }
}

public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)
    public func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    public var value: UInt64 { count.load(ordering: .relaxed) }
}

public final class Gauge: Sendable {
    private let current = Atomic<Int>(0)
    public func add(_ amount: Int) { current.wrappingAdd(amount, ordering: .relaxed) }
    public func set(_ value: Int) { current.store(value, ordering: .relaxed) }
    public var value: Int { current.load(ordering: .relaxed) }
}
