import Options

/// The headers that let pages of other origins call the API (https://fetch.spec.whatwg.org/#http-cors-protocol).
///
/// Every answer carries them, refusals too: a browser shows a page nothing of an answer without them.
struct CORS: Sendable {
    /// For requests of origins that are not listed, and for those without an origin.
    private let standard: [(String, String)]
    /// For each listed origin, where there are several.
    private let byOrigin: [String: [(String, String)]]

    init(_ options: ServerOptions) {
        let usual = [
            "X-Parse-Master-Key", "X-Parse-REST-API-Key", "X-Parse-Javascript-Key", "X-Parse-Application-Id",
            "X-Parse-Client-Version", "X-Parse-Session-Token", "X-Requested-With", "X-Parse-Revocable-Session",
            "X-Parse-Request-Id", "Content-Type", "Pragma", "Cache-Control",
        ]
        let headers = [
            ("Access-Control-Allow-Methods", "GET,PUT,POST,DELETE,OPTIONS"),
            ("Access-Control-Allow-Headers", (usual + options.allowHeaders).joined(separator: ", ")),
            ("Access-Control-Expose-Headers", "X-Parse-Job-Status-Id, X-Parse-Push-Status-Id"),
        ]
        let origins = options.allowOrigin.contains("*") ? ["*"] : options.allowOrigin
        // Where the answer depends on who asks, caches must know.
        let vary = origins.count > 1 ? [("Vary", "Origin")] : []
        let answer = { (origin: String) in [("Access-Control-Allow-Origin", origin)] + vary + headers }
        // As in Parse Server, other origins are told the first of the list, which is not theirs.
        standard = origins.first.map(answer) ?? headers
        byOrigin =
            origins.count > 1
            ? Dictionary(origins.map { ($0, answer($0)) }, uniquingKeysWith: { first, _ in first }) : [:]
    }

    /// Whether `headers(origin:)` looks at the origin at all.
    var asksForOrigin: Bool { !byOrigin.isEmpty }

    /// - Parameter origin: the request's `Origin`.
    func headers(origin: String?) -> [(String, String)] { origin.flatMap { byOrigin[$0] } ?? standard }
}
