import Postgres
import Synchronization
import Wire

/// The application's parameters, which clients read by `/config`: rows that all nodes share, as this node remembers
/// them.
final class GlobalConfig: Sendable {
    private static let channel = "hermes_config"

    struct Content: Sendable {
        var params = JSONObject()
        /// By parameter, whether it is for the master key alone.
        var masterKeyOnly = JSONObject()
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
        var params: [(key: String, value: JSON)] = []
        var marks: [(key: String, value: JSON)] = []
        for row in 0..<rows.count {
            let name = rows.string(row, 0)
            params.append((name, try JSONParser.parse(rows.json(row, 1))))
            marks.append((name, .bool(rows.bool(row, 2))))
        }
        return Content(params: JSONObject(params), masterKeyOnly: JSONObject(marks))
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
