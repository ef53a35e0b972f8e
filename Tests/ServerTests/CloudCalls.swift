import Cloud
import Synchronization
import Wire

@testable import Server

/// What a handler was told, in the order of the calls.
final class CloudCalls: Sendable {
    private let all = Mutex<[CloudCall]>([])
    var payloads: [JSONObject] { all.withLock { $0.map(\.wholePayload) } }
    var last: JSONObject { payloads.last ?? JSONObject() }
    var count: Int { all.withLock(\.count) }
    func add(_ call: CloudCall) { all.withLock { $0.append(call) } }
}

extension CloudCode {
    /// With one trigger.
    init(
        _ kind: TriggerKind, on className: String = "Temas",
        _ run: @escaping @Sendable (CloudCall) async throws -> CloudAnswer
    ) {
        self.init()
        add(kind, on: className, run)
    }

    mutating func add(
        _ kind: TriggerKind, on className: String, _ run: @escaping @Sendable (CloudCall) async throws -> CloudAnswer
    ) {
        triggers[Trigger(kind, on: className), default: []].append(CloudHandler("prueba", run: run))
    }
}
