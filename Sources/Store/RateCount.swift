import Postgres

/// How often something has happened within a window of time, counted in the database for all nodes together: the
/// window begins with the first time.
public struct RateCount: Sendable {
    /// This time included.
    public let count: Int
    /// Whole seconds until the window ends, at least 1.
    public let secondsLeft: Int

    /// Keys in one order, so that two who count several of them never wait for each other.
    private static let add = Statement(
        """
        INSERT INTO "_hermes_rate_limits" AS r (key, count, resets_at)
        SELECT key, $2::int8, now() + $3::float8 * interval '1 second' FROM unnest($1::text[]) AS k (key) ORDER BY key
        ON CONFLICT (key) DO UPDATE SET
            count = CASE WHEN r.resets_at <= now() THEN excluded.count ELSE r.count + excluded.count END,
            resets_at = CASE WHEN r.resets_at <= now() THEN excluded.resets_at ELSE r.resets_at END
        RETURNING key, count, greatest(1, ceil(extract(epoch FROM resets_at - now())))::int8
        """)
    private static let reset = Statement("DELETE FROM \"_hermes_rate_limits\" WHERE key = $1::text")
    /// Of windows that ended a minute ago or before.
    public static let forget = Statement(
        "DELETE FROM \"_hermes_rate_limits\" WHERE resets_at < now() - interval '1 minute'")

    /// Counts each of some things once more.
    ///
    /// - Parameters:
    ///   - things: what is counted, and whose: such as `mail to ana@example.com`. The database keeps their digests alone.
    ///   - seconds: how long a window is.
    ///   - operation: what it is undone with; `afterwards()` of one for what counts whatever becomes of it.
    /// - Returns: by thing.
    public static func add(
        _ amount: Int = 1, to things: [String], within seconds: Double, in operation: Operation
    ) async throws -> [String: RateCount] {
        let keys = Dictionary(things.map { (Digest.sha256($0), $0) }, uniquingKeysWith: { first, _ in first })
        let rows = try await operation.write(
            add, [.textArray(Array(keys.keys)), .int(Int64(amount)), .double(seconds)])
        var counts: [String: RateCount] = [:]
        for row in 0..<rows.count {
            guard let thing = keys[rows.string(row, 0)] else { continue }
            counts[thing] = RateCount(count: Int(rows.int(row, 1)), secondsLeft: Int(rows.int(row, 2)))
        }
        return counts
    }

    /// The same of one thing.
    public static func add(
        _ amount: Int = 1, to thing: String, within seconds: Double, in operation: Operation
    ) async throws -> RateCount {
        let counts = try await add(amount, to: [thing], within: seconds, in: operation)
        // Whoever asks bounds something by it: an answer that lacks is no zero.
        return counts[thing] ?? RateCount(count: .max, secondsLeft: 1)
    }

    /// Begins again at nothing.
    public static func reset(_ thing: String, in operation: Operation) async throws {
        _ = try await operation.write(reset, [.text(Digest.sha256(thing))])
    }
}
