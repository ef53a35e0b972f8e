internal import Cloud
internal import Store
internal import Wire

/// A browser asks for a page. There is no session, but where a cookie holds it: ``Hermes/sessionCookie(_:)``.
public final class PageRequest: Request {
    /// What it was called with.
    public let details: RequestDetails

    init(_ call: CloudCall, name: String) { details = RequestDetails(call, name: name) }

    /// `GET` or `POST`.
    public var method: String { details.call.payload["method"]?.string ?? "" }
    /// As it was asked for, without the query.
    public var path: String { details.call.payload["path"]?.string ?? "" }
    /// What stands in the path for its `:name`s, decoded.
    public var arguments: [String: String] { texts("arguments") }
    /// The query, decoded; of a name that comes twice the first.
    public var query: [String: String] { texts("query") }
    /// The form of a POST.
    public var form: [String: String] { texts("form") }
    public var cookies: [String: String] { texts("cookies") }

    private func texts(_ name: String) -> [String: String] {
        let members = details.call.payload[name]?.object?.members ?? []
        return Dictionary(members.map { ($0.key, $0.value.string ?? "") }, uniquingKeysWith: { first, _ in first })
    }
}

/// What a browser gets.
public struct Page: Sendable {
    /// HTTP's.
    public var status = 200
    /// Beside those that every page has: `X-Content-Type-Options: nosniff`, `X-Frame-Options: DENY`,
    /// `Referrer-Policy: same-origin`, `Cache-Control: private, no-cache`; one of these names takes its place.
    public var headers: [(name: String, value: String)] = []
    public var body: String

    /// A text of a type: `text/css; charset=utf-8`.
    public init(_ body: String, type: String, status: Int = 200) {
        self.body = body
        self.status = status
        headers = [("Content-Type", type)]
    }

    /// A page that loads nothing from anywhere, and runs no script, unless the site's own.
    ///
    /// - Parameters:
    ///   - html: the whole page. What comes from people must be escaped: `escapedForHTML` of a text does it.
    ///   - style: what stands in its `<style>`, to the letter; no other style within the page counts.
    ///   - ownFiles: scripts, styles and pictures that the site itself serves may be loaded
    ///     (``Hermes/file(_:_:type:)``), and scripts may ask the site. What stands within the page is no script even so.
    ///   - status: of the HTTP answer.
    public static func html(_ html: String, style: String = "", ownFiles: Bool = false, status: Int = 200) -> Page {
        var page = Page(html, type: "text/html; charset=utf-8", status: status)
        var styles = ownFiles ? ["'self'"] : []
        if !style.isEmpty { styles.append("'sha256-\(Base64.encode(Page.sha256(style)))'") }
        var rules = ["default-src 'none'", "style-src \(styles.isEmpty ? "'none'" : styles.joined(separator: " "))"]
        if ownFiles { rules += ["script-src 'self'", "img-src 'self'", "connect-src 'self'"] }
        rules += ["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"]
        page.headers.append(("Content-Security-Policy", rules.joined(separator: "; ")))
        return page
    }

    /// Sends the browser elsewhere, with a GET.
    public static func redirect(to url: String) -> Page {
        var page = Page("See Other\n", type: "text/plain; charset=utf-8", status: 303)
        page.headers.append(("Location", url))
        return page
    }

    private static func sha256(_ text: String) -> [UInt8] {
        let digits = Array(Digest.sha256(text).utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

/// A page that could not be made: it took too long, or the database cannot be reached.
public struct PageFailure: Sendable {
    /// HTTP's.
    public let status: Int
    /// What clients of the API would be told, in English.
    public let message: String
    let languages: String?

    /// The first of these languages that the browser asks for, as of a ``Request``.
    public func language(among known: [String]) -> String? { AskedLanguages.first(languages, among: known) }
}

extension String {
    /// As text within HTML, and within quotes in a tag.
    public var escapedForHTML: String { htmlEscaped }
}

extension Hermes {
    /// The cookie that holds the token of a browser's session: pages are then asked with that session, as a client's
    /// request is, and ``Request/user``, ``Request/roles`` and ``Request/asCaller`` are its user's. A session that has
    /// ended counts as none. The pages themselves set the cookie (make it `HttpOnly; SameSite=Lax`), and take no POST
    /// for granted that another site may have caused.
    public func sessionCookie(_ name: String) { register { $0.sessionCookie = name } }

    /// What the server's own pages, to which mails lead, lead on to.
    ///
    /// - Parameters:
    ///   - logIn: the path of the page on which one logs in.
    ///   - recovery: the path of the page on which one asks for a mail to choose another password.
    public func accountPages(logIn: String, recovery: String) {
        register { $0.accountPages = (logIn, recovery) }
    }

    /// A file that the program carries, for browsers: a style sheet, a script, a picture as SVG. Its path has a part of
    /// its digest in it, so that browsers keep it for a year and ask again only when it is another one.
    ///
    /// - Parameters:
    ///   - name: `forum.css`.
    ///   - contents: the file, as text.
    ///   - type: `text/css; charset=utf-8`.
    /// - Returns: the path: `/forum-0a1b2c3d4e5f.css`.
    public func file(_ name: String, _ contents: String, type: String) -> String {
        let digest = String(Digest.sha256(contents).prefix(12))
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let path = "/\(parts.dropLast().joined(separator: "."))-\(digest).\(parts.last ?? "")"
        page("GET", path) { request in
            let isKnown = request.headers["if-none-match"]?.contains("\"\(digest)\"") == true
            var page = Page(isKnown ? "" : contents, type: type, status: isKnown ? 304 : 200)
            page.headers.append(("ETag", "\"\(digest)\""))
            page.headers.append(("Cache-Control", "public, max-age=31536000, immutable"))
            return page
        }
        return path
    }

    /// What a browser is shown where a page fails, in place of the sentence as plain text. It can ask nobody for
    /// anything.
    public func failedPage(_ body: @escaping @Sendable (PageFailure) -> Page) {
        register {
            $0.failedPage = { status, message, languages in
                let page = body(PageFailure(status: status, message: message, languages: languages))
                var answer = CloudAnswer(.string(page.body))
                answer.status = page.status
                answer.headers = page.headers
                return answer
            }
        }
    }

    /// A page for browsers: `/tema/:id`, outside of the API's path. The first page whose path fits is answered.
    ///
    /// - Parameters:
    ///   - method: `GET` (which serves HEAD too) or `POST`.
    ///   - path: a segment after a colon stands for any one: ``PageRequest/arguments``. `/*` is what a browser is shown,
    ///     whatever the method, where neither a page nor the server has the path.
    ///   - timeLimit: how long it may take; nil: as the option `cloudTimeLimit` says, 10 s.
    ///   - body: answers the page. A ``ParseError`` that it throws is answered as plain text, with its status.
    public func page(
        _ method: String, _ path: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (PageRequest) async throws -> Page
    ) {
        let name = "page \(method) \(path)"
        var handler = CloudHandler(name, timeLimit: timeLimit) { call in
            let page = try await body(PageRequest(call, name: name))
            var answer = CloudAnswer(.string(page.body))
            answer.status = page.status
            answer.headers = page.headers
            return answer
        }
        handler.needsUser = false
        let made = CloudPage(method, path, handler: handler)
        register { $0.pages.append(made) }
    }
}
