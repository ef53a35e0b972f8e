import Cloud
import Core
import Postgres
import Synchronization
import Wire

/// The webhooks that are registered: rows that all nodes share. Each node has the code that calls them in its registry,
/// and reads the rows again when one of them has changed.
final class HookTable: Sendable {
    private static let channel = "hermes_hooks"

    private struct State {
        /// Counts what makes a reading that is under way too old.
        var generation: UInt64 = 0
        var known: [Webhook] = []
    }

    private let webhooks: Webhooks
    private let registry: CloudRegistry
    private let state = Mutex(State())

    init(options: WebhookOptions, registry: CloudRegistry) {
        webhooks = Webhooks(options)
        self.registry = registry
    }

    func stop() async { await webhooks.stop() }

    // MARK: following

    /// Follows what other nodes change. One worker does it for the node.
    func follow(_ database: Database) {
        let again = { [self, weak database] in
            guard let database else { return }
            refresh(database)
        }
        database.listen(channel: HookTable.channel, handler: { _ in again() }, onConnected: again)
    }

    private func refresh(_ database: Database) {
        changed()
        database.loop.spawn { [self] in
            // Where the database cannot be reached, the connection that listens will be made anew, which leads here.
            for attempt in 1... {
                do { return try await reload(database) } catch {
                    guard attempt < 10, !(error is CancellationError) else { return }
                    Log.shared.warning("webhooks could not be read; it is tried again", ["error": "\(error)"])
                    try? await database.loop.sleep(nanoseconds: 1_000_000_000)
                }
            }
        }
    }

    private func changed() { state.withLock { $0.generation += 1 } }

    /// Reads all of them, until nothing has changed meanwhile, and has them called from now on.
    func reload(_ database: Database) async throws {
        while true {
            let generation = state.withLock { $0.generation }
            let read = try await list(database)
            let isCurrent = state.withLock { state in
                guard state.generation == generation else { return false }
                guard state.known != read else { return true }
                state.known = read
                // Here, so that of two that read, the later one's stays.
                registry.set(webhooks.code(read), of: .webhooks)
                return true
            }
            if isCurrent { return }
        }
    }

    // MARK: rows

    private static let readAll = Statement(
        #"SELECT "kind", "className", "name", "url" FROM "_Hooks" ORDER BY "kind", "className", "name""#)
    private static let insert = Statement(
        """
        INSERT INTO "_Hooks" ("kind", "className", "name", "url") VALUES ($1::text, $2::text, $3::text, $4::text)
        ON CONFLICT DO NOTHING RETURNING pg_notify('\(channel)', '')
        """)
    private static let update = Statement(
        """
        UPDATE "_Hooks" SET "url" = $4::text WHERE "kind" = $1::text AND "className" = $2::text AND "name" = $3::text
        RETURNING pg_notify('\(channel)', '')
        """)
    private static let delete = Statement(
        """
        DELETE FROM "_Hooks" WHERE "kind" = $1::text AND "className" = $2::text AND "name" = $3::text
        RETURNING pg_notify('\(channel)', '')
        """)

    /// All that are registered, as the database has them.
    func list(_ database: Database) async throws -> [Webhook] {
        let rows = try await database.read(HookTable.readAll)
        return (0..<rows.count).compactMap { row in
            guard let kind = Webhook.Kind(row: rows.string(row, 0), rows.string(row, 1), rows.string(row, 2)) else {
                return nil
            }
            return try? Webhook(kind, url: rows.string(row, 3))
        }
    }

    /// False where there is one already.
    func add(_ webhook: Webhook, _ database: Database) async throws -> Bool {
        try await change(HookTable.insert, webhook.kind, [.text(webhook.url)], database)
    }

    /// False where there is none.
    func replace(_ webhook: Webhook, _ database: Database) async throws -> Bool {
        try await change(HookTable.update, webhook.kind, [.text(webhook.url)], database)
    }

    /// False where there is none.
    func remove(_ kind: Webhook.Kind, _ database: Database) async throws -> Bool {
        try await change(HookTable.delete, kind, [], database)
    }

    private func change(
        _ statement: Statement, _ kind: Webhook.Kind, _ more: [Parameter], _ database: Database
    ) async throws -> Bool {
        let (name, className, event) = kind.row
        let rows = try await database.write(statement, [.text(name), .text(className), .text(event)] + more)
        guard rows.count > 0 else { return false }
        // Whoever was told that it is registered may rely on it.
        changed()
        try await reload(database)
        return true
    }
}

extension Webhook.Kind {
    fileprivate init?(row kind: String, _ className: String, _ name: String) {
        switch kind {
        case "function": self = .function(name)
        case "job": self = .job(name)
        default:
            guard let event = TriggerKind(rawValue: name) else { return nil }
            self = .trigger(Trigger(event, on: className))
        }
    }

    fileprivate var row: (kind: String, className: String, name: String) {
        switch self {
        case .function(let name): ("function", "", name)
        case .job(let name): ("job", "", name)
        case .trigger(let trigger): ("trigger", trigger.className, trigger.kind.rawValue)
        }
    }
}
