import Options
import Store
import Wire

/// `rateLimit`: how often routes may be asked for, counted in the database for all nodes together.
struct RateLimits: Sendable {
    private struct Limit: Sendable {
        enum Segment: Sendable {
            case text(String)
            /// `:name`: any one.
            case any
            /// `:name?`, at the end: one or none.
            case maybe
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
                if segment.hasPrefix(":") { return segment.hasSuffix("?") ? .maybe : .any }
                if segment.hasPrefix("*") || segment == "(.*)" { return .rest }
                return .text(String(segment))
            }
            // As many, and as long: two limits may stand for one path.
            name = """
                \(option.requestPath) \(option.requestMethods.joined(separator: "|")) \(option.zone.rawValue) \
                \(option.requestCount ?? 0) \(option.requestTimeWindow ?? 0)
                """
        }

        func counts(_ method: String, _ segments: [String]) -> Bool {
            guard option.requestMethods.isEmpty || option.requestMethods.contains(method) else { return false }
            for (index, segment) in path.enumerated() {
                switch segment {
                case .rest: return segments.count > index
                case .maybe: return segments.count <= index + 1
                case .any: if segments.count <= index { return false }
                case .text(let text):
                    if segments.count <= index || segments[index].lowercased() != text { return false }
                }
            }
            return segments.count == path.count
        }
    }

    private let limits: [Limit]

    init(_ options: [ServerOptions.RateLimit]) {
        var names: Set<String> = []
        // What stands there twice counts once.
        limits = options.map(Limit.init).filter { names.insert($0.name).inserted }
    }

    /// One request, or a part of a batch.
    struct Counted {
        let method: String
        let path: [String]
        let ignoresSession: Bool
        var isPartOfBatch = false
    }

    /// Counts requests before anything of them is done.
    ///
    /// - Parameters:
    ///   - viewer: nil where the session that came along is none: the address is counted then.
    /// - Throws: 100 (429) for what is one too many.
    func check(_ requests: [Counted], _ caller: Caller, _ viewer: Viewer?, _ store: Store) async throws {
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
            let asked = try await RateCount.add(
                counted.count, to: "\(limit.name) \(who)", within: (option.requestTimeWindow ?? 0) / 1000,
                in: store.operation(as: .master))
            guard asked.count <= option.requestCount ?? .max else {
                throw ParseError(
                    100, option.errorResponseMessage, status: first.isPartOfBatch ? nil : 429,
                    retryAfter: asked.secondsLeft)
            }
        }
    }
}
