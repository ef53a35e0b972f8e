import Synchronization

/// Names for what happens in this process, to find it again in logs: `k3v9qx1m-0-2s`. The first part is drawn at random
/// when the process starts, so that nodes, and a node started anew, give no name twice; the second counts the makers of
/// names within the process, the third what one of them has named. It is no secret.
public struct RequestIdentifiers: Sendable {
    private static let process: String = {
        // 36 to the power of 8: among a thousand processes two share one with a chance of 1 in 5 million.
        let text = String(UInt64.random(in: 0..<2_821_109_907_456), radix: 36)
        return String(repeating: "0", count: 8 - text.utf8.count) + text
    }()
    private static let makers = Atomic<UInt64>(0)

    private let prefix: String

    public init() {
        let maker = RequestIdentifiers.makers.wrappingAdd(1, ordering: .relaxed).oldValue
        prefix = "\(RequestIdentifiers.process)-\(String(maker, radix: 36))-"
    }

    public func text(_ number: UInt64) -> String { prefix + String(number, radix: 36) }
}
