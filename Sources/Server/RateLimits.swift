import Options
import Postgres
import Store
import Wire

/// `rateLimit`: how often routes may be asked for, counted in the database for all nodes together.
struct RateLimits: Sendable {
    private struct Limit: Sendable {
        enum Segment: Sendable {
            case text(String)
            /// `:name`: any one.
            case any
            /// `*name`: all that follow, one at least.
            case rest
        }

        let path: [Segment]
        let option: ServerOptions.RateLimit
        /// Names the limit alike on all nodes.
        let name: String

        init(_ option: ServerOptions.RateLimit) {
            self.option = option
            path = option.requestPath.lowercased().split(separator: "/").map { segment in
                if segment.hasPrefix(":") { return .any }
                if segment.hasPrefix("*") || segment == "(.*)" { return .rest }
                return .text(String(segment))
            }
            name = "\(option.requestPath) \(option.requestMethods.joined(separator: "|")) \(option.zone.rawValue)"
        }

        func counts(_ method: String, _ segments: [String]) -> Bool {
            guard option.requestMethods.isEmpty || option.requestMethods.contains(method) else { return false }
            for (index, segment) in path.enumerated() {
                switch segment {
                case .rest: return segments.count > index
                case .any: if segments.count <= index { return false }
                case .text(let text):
                    if segments.count <= index || segments[index].lowercased() != text { return false }
                }
            }
            return segments.count == path.count
        }
    }

    private let limits: [Limit]

    init(_ options: [ServerOptions.RateLimit]) { limits = options.map(Limit.init) }

    /// One request, or a part of a batch.
    struct Counted {
        let method: String
        let path: [String]
        let ignoresSession: Bool
        var isPartOfBatch = false
    }

    private static let count = Statement(
        """
        INSERT INTO "_hermes_rate_limits" AS r (key, count, resets_at)
        VALUES ($1::text, $2::int8, now() + $3::float8 * interval '1 millisecond')
        ON CONFLICT (key) DO UPDATE SET
            count = CASE WHEN r.resets_at <= now() THEN excluded.count ELSE r.count + excluded.count END,
            resets_at = CASE WHEN r.resets_at <= now() THEN excluded.resets_at ELSE r.resets_at END
        RETURNING count, ceil(extract(epoch FROM resets_at - now()))::int8
        """)

    static let forget = Statement("DELETE FROM \"_hermes_rate_limits\" WHERE resets_at < now() - interval '1 minute'")

    /// Counts requests before anything of them is done.
    ///
    /// - Parameters:
    ///   - viewer: nil where the session that came along is none: the address is counted then.
    /// - Throws: 100 (429) for what is one too many.
    func check(_ requests: [Counted], _ caller: Caller, _ viewer: Viewer?, _ database: Database) async throws {
        guard !limits.isEmpty else { return }
        for limit in limits {
            let option = limit.option
            if caller.key != .none, !option.includeMasterKey { continue }
            if caller.address?.isLoopback == true, !option.includeInternalRequests { continue }
            let counted = requests.filter { limit.counts($0.method, $0.path) }
            guard let first = counted.first else { continue }
            let address = caller.address?.description ?? "unknown"
            let session = first.ignoresSession ? nil : viewer?.session
            let who: String
            switch option.zone {
            case .global: who = "all"
            case .ip: who = "ip \(address)"
            case .session: who = session.map { "session \($0.objectId)" } ?? "ip \(address)"
            case .user: who = session == nil ? "ip \(address)" : "user \(viewer?.userId ?? "")"
            }
            let rows = try await database.write(
                RateLimits.count,
                [
                    .text(Digest.sha256("\(limit.name) \(who)")), .int(Int64(counted.count)),
                    .double(option.requestTimeWindow ?? 0),
                ])
            guard rows.int(0, 0) <= Int64(option.requestCount ?? .max) else {
                throw ParseError(
                    100, option.errorResponseMessage, status: first.isPartOfBatch ? nil : 429,
                    retryAfter: Int(rows.int(0, 1)))
            }
        }
    }
}
