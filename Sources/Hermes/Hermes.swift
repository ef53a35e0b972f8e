internal import Cloud
internal import Synchronization
internal import Wire

/// An application on Hermes: what it adds to the server, and the server.
///
///     let app = Hermes()
///     app.beforeSave(Tema.self) { request in
///         guard request.object.Tema?.count ?? 0 >= 6 else { throw ParseError(142, "El tema es demasiado corto.") }
///         if request.isNew { request.object.comentarios = 0 }
///     }
///     try await app.run()
///
/// Hooks, functions and jobs run several at a time; what blocks its thread, or computes for long, keeps nobody else
/// waiting. Each may take 10 s (option `cloudTimeLimit`, or its own `timeLimit`); then, and as soon as its client has
/// gone, its task is cancelled and its transaction undone. Hooks of one event run in the order in which they were
/// registered.
///
/// Register everything before the server starts: what is registered later counts from the next start.
public final class Hermes: Sendable {
    private let registered = Mutex(CloudCode())
    /// Options as the application wants them where nobody has told them.
    let preferred = Mutex<[String: Value]>([:])

    /// An application that adds nothing yet.
    public init() {}

    var code: CloudCode { registered.withLock { $0 } }

    func register(_ change: (inout CloudCode) -> Void) { registered.withLock { change(&$0) } }
}

/// Where a hook runs.
public enum HookPlace: Sendable {
    /// By itself: what it writes is kept whatever becomes of the write that called it.
    case outside
    /// In the transaction of the write that called it, which is begun for it: all that it reads and writes is kept or
    /// undone with that write, and the object is locked meanwhile. Costs two statements more.
    case transaction
}

extension CloudHandler {
    /// Turns the application's errors into the server's.
    init(_ name: String, timeLimit: Duration?, body: @escaping @Sendable (CloudCall) async throws -> CloudAnswer) {
        self.init(name) { call in
            do { return try await body(call) } catch let error as ParseError { throw error.wire }
        }
        needsUser = false
        needsObject = false
        self.timeLimit = timeLimit.map { $0.seconds }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
