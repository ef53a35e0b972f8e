import Cloud
import Core
import Synchronization
import Wire

/// A call on its way through an isolate: whoever asked waits here, and the first end counts.
final class RunningCall: Sendable {
    /// What the script answered, as JSON texts.
    struct Outcome {
        var body: [UInt8]?
        var context: [UInt8]?
        var response: [UInt8]?
    }

    let number: Int
    let key: HandlerKey
    /// For the log and for errors: `main.js beforeSave Temas`.
    let name: String
    let payload: [UInt8]
    let call: CloudCall
    private let result = Mutex<Result<Outcome, ParseError>?>(nil)

    init(number: Int, key: HandlerKey, name: String, call: CloudCall) {
        self.number = number
        self.key = key
        self.name = name
        self.call = call
        var told = call.payload
        if let changes = call.changes { told["changes"] = .object(changes) }
        if call.hasPassword { told["hasPassword"] = true }
        var writer = JSONWriter(room: 1024)
        writer.raw("{")
        writer.members(told)
        if let result = call.result {
            writer.raw(told.isEmpty ? "\"object\":" : ",\"object\":")
            writer.raw(result)
        }
        writer.raw("}")
        payload = writer.finish()
    }

    func end(_ outcome: Result<Outcome, ParseError>) {
        result.withLock { if $0 == nil { $0 = outcome } }
        call.waiter.resume()
    }

    /// - Throws: `ParseError`; `CancellationError` as soon as the task is cancelled; what the call's waiter is resumed
    ///   with.
    func outcome() async throws -> Outcome {
        try await call.waiter.wait()
        guard let result = result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}

/// By what a script's handlers are told apart.
enum HandlerKey: Hashable, Sendable {
    case trigger(Trigger)
    case function(String)
    case job(String)

    /// `beforeSave Temas`, `function abrir`, `job resumen`.
    var description: String {
        switch self {
        case .trigger(let trigger):
            trigger.className.hasPrefix("@") && trigger.className == "@Connect"
                ? trigger.kind.rawValue : "\(trigger.kind.rawValue) \(trigger.className)"
        case .function(let name): "function \(name)"
        case .job(let name): "job \(name)"
        }
    }

    /// As the runtime's scripts call it: `trigger`, `beforeSave`, `Temas`.
    var parts: (sort: String, name: String, className: String) {
        switch self {
        case .trigger(let trigger): ("trigger", trigger.kind.rawValue, trigger.className)
        case .function(let name): ("function", name, "")
        case .job(let name): ("job", name, "")
        }
    }

    init?(sort: String, name: String, className: String) {
        switch sort {
        case "trigger":
            guard let kind = TriggerKind(rawValue: name) else { return nil }
            self = .trigger(Trigger(kind, on: className))
        case "function": self = .function(name)
        case "job": self = .job(name)
        default: return nil
        }
    }
}
