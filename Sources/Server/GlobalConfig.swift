import Postgres
import Synchronization
import Wire

/// The application's parameters, which clients read by `/config`: rows that all nodes share, as this node remembers
/// them.
final class GlobalConfig: Sendable {
    private static let channel = "hermes_config"

    struct Content: Sendable {
        let params: JSONObject
        /// By parameter, whether it is for the master key alone.
        let masterKeyOnly: JSONObject
        /// What the master key is answered, and what all others are: written once, read by every client at its start.
        let answer: [UInt8]
        let openAnswer: [UInt8]

        init(_ all: [(name: String, value: JSON, masterKeyOnly: Bool)]) {
            func members(_ some: [(name: String, value: JSON, masterKeyOnly: Bool)]) -> JSONObject {
                let params = JSONObject(some.map { (key: $0.name, value: $0.value) })
                let marks = JSONObject(some.map { (key: $0.name, value: .bool($0.masterKeyOnly)) })
                return JSONObject([("params", .object(params)), ("masterKeyOnly", .object(marks))])
            }
            let everything = members(all)
            params = everything["params"]?.object ?? JSONObject()
            masterKeyOnly = everything["masterKeyOnly"]?.object ?? JSONObject()
            answer = JSON.object(everything).bytes
            openAnswer = JSON.object(members(all.filter { !$0.masterKeyOnly })).bytes
        }

        /// As hooks are told it.
        var json: JSON { ["params": .object(params), "masterKeyOnly": .object(masterKeyOnly)] }
    }

    /// What is to become of the parameters.
    struct Change {
        var set: [(name: String, value: JSON, masterKeyOnly: Bool)] = []
        var delete: [String] = []
        /// Of parameters whose values stay.
        var mark: [(name: String, masterKeyOnly: Bool)] = []
    }

    private struct State {
        /// Counts what makes a reading that is under way too old to be remembered.
        var epoch: UInt64 = 0
        var content: Content?
    }

    private let state = Mutex(State())

    // MARK: following

    /// Follows what other nodes change. Each worker does.
    func follow(_ database: Database) {
        database.listen(channel: GlobalConfig.channel) { [self] _ in
            forget()
        } onConnected: { [self] in
            forget()
        }
    }

    private func forget() {
        state.withLock { state in
            state.epoch += 1
            state.content = nil
        }
    }

    // MARK: rows

    private static let readAll = Statement(
        #"SELECT "name", "value", "masterKeyOnly" FROM "_GlobalConfig" ORDER BY "name""#)
    private static let change = Statement(
        """
        WITH put AS (
            INSERT INTO "_GlobalConfig" ("name", "value", "masterKeyOnly")
            SELECT e ->> 0, e -> 1, (e ->> 2)::boolean FROM jsonb_array_elements($1::jsonb) AS e ORDER BY 1
            ON CONFLICT ("name") DO UPDATE SET "value" = excluded."value", "masterKeyOnly" = excluded."masterKeyOnly"
        ), gone AS (
            DELETE FROM "_GlobalConfig" WHERE "name" = ANY ($2::text[])
        ), marked AS (
            UPDATE "_GlobalConfig" AS known SET "masterKeyOnly" = (e ->> 1)::boolean
            FROM jsonb_array_elements($3::jsonb) AS e WHERE known."name" = e ->> 0
        )
        SELECT pg_notify('\(channel)', '')
        """)

    /// The parameters: the remembered ones while nobody can have changed them unheard, else the database's.
    func read(_ database: Database) async throws -> Content {
        let (known, epoch) = state.withLock { ($0.content, $0.epoch) }
        if let known, database.isListening { return known }
        let content = try await reread(database)
        state.withLock { if $0.epoch == epoch { $0.content = content } }
        return content
    }

    /// The database's.
    func reread(_ database: Database) async throws -> Content {
        let rows = try await database.read(GlobalConfig.readAll)
        return Content(
            try (0..<rows.count).map { row in
                (rows.string(row, 0), try JSONParser.parse(rows.json(row, 1)), rows.bool(row, 2))
            })
    }

    /// All of it or nothing.
    func apply(_ change: Change, _ database: Database) async throws {
        let set = JSON.array(change.set.map { [.string($0.name), $0.value, .bool($0.masterKeyOnly)] })
        let mark = JSON.array(change.mark.map { [.string($0.name), .bool($0.masterKeyOnly)] })
        _ = try await database.write(
            GlobalConfig.change, [.utf8(set.bytes), .textArray(change.delete), .utf8(mark.bytes)])
        // Whoever was told that it is set may rely on it.
        forget()
    }
}
