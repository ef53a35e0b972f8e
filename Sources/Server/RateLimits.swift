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

        private let path: [Segment]
        /// The same by the name that its class has in paths.
        private let plainPath: [Segment]
        let option: ServerOptions.RateLimit
        /// Names the limit alike on all nodes.
        let name: String

        init(_ option: ServerOptions.RateLimit) {
            self.option = option
            let segments = option.requestPath.split(separator: "/").map(String.init)
            path = segments.map(Limit.segment)
            plainPath = RouteTable.plainPath(segments).map(Limit.segment)
            // As many, and as long: two limits may stand for one path.
            name = """
                \(option.requestPath) \(option.requestMethods.joined(separator: "|")) \(option.zone.rawValue) \
                \(option.requestCount ?? 0) \(option.requestTimeWindow ?? 0)
                """
        }

        private static func segment(_ text: String) -> Segment {
            if text.hasPrefix(":") { return text.hasSuffix("?") ? .maybe : .any }
            if text.hasPrefix("*") || text == "(.*)" { return .rest }
            return .text(text.lowercased())
        }

        /// Whoever takes another path to the same objects is counted with the rest.
        func counts(_ method: String, _ segments: [String]) -> Bool {
            guard option.requestMethods.isEmpty || option.requestMethods.contains(method) else { return false }
            return Limit.fits(segments, path) || Limit.fits(RouteTable.plainPath(segments), plainPath)
        }

        private static func fits(_ segments: [String], _ path: [Segment]) -> Bool {
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
            let address = caller.address?.network.description ?? "unknown"
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
