internal import Cloud
internal import Wire

/// The start of a server, with the master's rights.
public final class StartRequest: Request {
    /// What it was called with.
    public let details: RequestDetails

    init(_ call: CloudCall, name: String) { details = RequestDetails(call, name: name) }

    public var isMaster: Bool { true }
}

extension Hermes {
    /// Runs at each start of a server, when classes are there and before it listens: makes what has to be there, such as
    /// roles. Several servers of one application may start at the same time, and each runs it: what it does must bear
    /// that. Where it throws, the server does not start. It may take ten minutes.
    public func atStart(_ body: @escaping @Sendable (StartRequest) async throws -> Void) {
        let handler = CloudHandler("start", timeLimit: .seconds(600)) { call in
            let request = StartRequest(call, name: "start")
            try await body(request)
            return request.details.answer()
        }
        register { $0.starts.append(handler) }
    }

    /// Says which language a user reads, `es`: mails about the account and the pages that they lead to are in it. Without
    /// an answer they are in the language that the browser or the client asks for.
    public func language(_ body: @escaping @Sendable (Pointer<User>, Database) async throws -> String?) {
        let handler = CloudHandler("language", timeLimit: nil) { call in
            let details = RequestDetails(call, name: "language")
            let user = Pointer<User>(call.payload["user"]?.string ?? "")
            return CloudAnswer(try await body(user, details.database(.master)).map { .string($0) })
        }
        register { $0.language = handler }
    }

    /// Has the server note with which sessions requests come, so that ``Database/present(_:within:)`` can tell who is
    /// there. Costs one write for each session in ten seconds.
    public func notesPresence() { register { $0.notesPresence = true } }

    /// Options as the application wants them where nobody has told them: names and values as in a configuration file.
    public func prefers(_ options: [String: Value]) {
        preferred.withLock { $0.merge(options) { _, new in new } }
    }
}

extension Request {
    /// The first of these languages that the client asks for (`Accept-Language`, best first): two letters each. nil where
    /// it asks for none of them.
    public func language(among known: [String]) -> String? {
        AskedLanguages.first(details.call.languages, among: known)
    }

    /// Under which clients reach the API: `https://example.com/parse`.
    public var serverURL: String { details.call.publicURL }

    /// What clients send as `X-Parse-Application-Id`.
    public var applicationId: String { details.call.appId }

    /// Under which browsers reach the pages of the application: the same without its path, `https://example.com`.
    public var siteURL: String {
        let url = serverURL
        guard let scheme = url.firstRange(of: "://"), let slash = url[scheme.upperBound...].firstIndex(of: "/") else {
            return url
        }
        return String(url[..<slash])
    }
}

enum AskedLanguages {
    /// - Parameter header: `es-ES,es;q=0.9,en;q=0.5`.
    static func first(_ header: String?, among known: [String]) -> String? {
        var asked: [(language: String, quality: Double)] = []
        for part in (header ?? "").split(separator: ",") {
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " } }
            guard let tag = pieces.first else { continue }
            let quality = pieces.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let language = tag.prefix { $0 != "-" }.lowercased()
            if quality > 0, known.contains(language) { asked.append((language, quality)) }
        }
        return asked.enumerated().min { one, other in
            (-one.element.quality, one.offset) < (-other.element.quality, other.offset)
        }?.element.language
    }
}
