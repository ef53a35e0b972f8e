import Wire

/// One route of the API: where it leads, who may take it, how its body comes, what it does.
struct Route: Sendable {
    enum Gate: Sendable {
        /// Whoever has the application's id; what the caller may do is for the store to say.
        case anybody
        /// The master key, or the read-only one where the route writes nothing: else 403.
        case master
        /// The same, refused with 119.
        case masterByCode
    }

    enum Body: Sendable {
        /// JSON, or a form, whole in memory.
        case object
        /// JSON, or a form of any kind; what the URL says beside it is text.
        case fields
        /// Taken piece by piece by the handler.
        case stream
        /// Whatever comes is not looked at.
        case none
    }

    typealias Handler = @Sendable (API, Request) async throws -> Answer

    let method: String
    /// Names in lower case; nil stands for any segment, which the handler gets as an argument.
    let segments: [String?]
    let gate: Gate
    let writes: Bool
    let body: Body
    /// Can be a part of a batch that is one transaction.
    let isTransactional: Bool
    /// A session's token that comes along is not looked at.
    let ignoresSession: Bool
    /// Of a route of objects: of which class they are.
    let objects: Objects?

    enum Objects: Sendable {
        case any
        case of(String)
    }

    let handler: Handler

    /// - Parameter pattern: `classes/:class/:id`: a segment that begins with a colon is any.
    init(
        _ method: String, _ pattern: String, _ gate: Gate = .anybody, writes: Bool, body: Body = .object,
        isTransactional: Bool = false, ignoresSession: Bool = false, objects: Objects? = nil,
        _ handler: @escaping Handler
    ) {
        self.method = method
        segments = pattern.split(separator: "/").map { $0.hasPrefix(":") ? nil : String($0) }
        self.gate = gate
        self.writes = writes
        self.body = body
        self.isTransactional = isTransactional
        self.ignoresSession = ignoresSession
        self.objects = objects
        self.handler = handler
    }

    /// The class whose objects the route is about.
    func className(_ arguments: [String]) -> String? {
        switch objects {
        case nil: nil
        case .any: arguments.first
        case .of(let className): className
        }
    }

    /// The segments of a path that stand for something; nil when the path leads elsewhere.
    func arguments(_ path: [String]) -> [String]? {
        guard path.count == segments.count else { return nil }
        var arguments: [String] = []
        for (segment, given) in zip(segments, path) {
            if let segment {
                guard segment == given || segment == given.lowercased() else { return nil }
            } else {
                arguments.append(given)
            }
        }
        return arguments
    }
}

/// The routes, found by the first segment of a path. Names of routes match without regard to case; those of classes
/// do not.
struct RouteTable: Sendable {
    private let byName: [String: [Route]]

    init(_ routes: [Route]) {
        byName = Dictionary(grouping: routes) { $0.segments.first.flatMap { $0 } ?? "" }
    }

    struct Match {
        let route: Route
        let arguments: [String]
    }

    /// nil: there is no such route.
    func match(_ method: String, _ path: [String]) -> Match? {
        guard let first = path.first, let routes = byName[first] ?? byName[first.lowercased()] else { return nil }
        for route in routes where route.method == method {
            if let arguments = route.arguments(path) { return Match(route: route, arguments: arguments) }
        }
        return nil
    }
}
