import Cloud
import HTTP
import Store
import Wire

/// Pages of an application, for browsers: they lie outside of the API's path, and need no key.
extension API {
    /// nil where the path is no page's.
    func page(_ http: HTTPRequest, client: String) async -> Answer? {
        cloud.refresh()
        guard !cloud.code.pages.isEmpty else { return nil }
        let method = http.method == "HEAD" ? "GET" : http.method
        let path = http.path.split(separator: "/").map { String(percentDecoding: $0, plusIsSpace: false) ?? String($0) }
        for page in cloud.code.pages where page.method == method {
            guard let arguments = page.match(path) else { continue }
            return await answer(page, arguments, http, client)
        }
        return nil
    }

    /// What a browser is shown where nobody has the path; nil for whoever asks for no page.
    func lostPage(_ http: HTTPRequest, client: String) async -> Answer? {
        guard http.header("Accept")?.contains("text/html") == true,
            let page = cloud.code.pages.first(where: \.isForTheLost)
        else { return nil }
        return await answer(page, JSONObject(), http, client)
    }

    private func answer(_ page: CloudPage, _ arguments: JSONObject, _ http: HTTPRequest, _ client: String) async
        -> Answer
    {
        var answer: Answer
        do {
            var info = RequestInfo()
            info.id = http.id
            info.address = client
            info.language = http.header("Accept-Language")
            info.headers = CloudDispatch.headers(http)
            info.isForPage = true
            let cookies = cookies(http)
            let operation = store.operation(as: try await viewer(cookies), request: info)
            var payload = try await cloud.payload(page.handler, operation)
            payload["method"] = .string(page.method)
            payload["path"] = .string(http.path)
            payload["arguments"] = .object(arguments)
            payload["query"] = .object(object(RequestBody.pairs(http.query ?? "")))
            payload["form"] = .object(try form(http))
            payload["cookies"] = .object(object(cookies))
            let made = try await cloud.call(page.handler, payload, in: operation)
            answer = self.answer(made)
        } catch {
            let (said, _) = errors.parseError(error)
            let (failure, _) = errors.answer(said)
            if let made = cloud.code.failedPage?(failure.status, said.message, http.header("Accept-Language")) {
                answer = self.answer(made)
            } else {
                answer = Answer(status: failure.status, body: Array("\(said.message)\n".utf8))
                answer.headers = [("Content-Type", "text/plain; charset=utf-8")]
            }
            answer.headers += failure.headers
        }
        for (name, value) in [
            ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"),
            ("Cache-Control", "private, no-cache"),
        ] where !answer.headers.contains(where: { $0.0.lowercased() == name.lowercased() }) {
            answer.headers.append((name, value))
        }
        return answer
    }

    private func answer(_ made: CloudAnswer) -> Answer {
        Answer(
            status: made.status ?? 200, headers: made.headers.map { ($0.name, $0.value) },
            body: Array((made.body?.string ?? "").utf8))
    }

    /// Whose session the cookie holds. One that has ended counts as none: its browser cannot know.
    private func viewer(_ cookies: [(String, String)]) async throws -> Viewer {
        guard let name = cloud.code.sessionCookie, let token = cookies.first(where: { $0.0 == name })?.1, !token.isEmpty
        else { return Viewer() }
        do {
            let viewer = try await accounts.viewer(token: token, installationId: nil)
            if cloud.code.notesPresence { await presence.note(viewer, store.database) }
            return viewer
        } catch let error as ParseError where error.code == 209 { return Viewer() }
    }

    private func object(_ pairs: [(String, String)]) -> JSONObject {
        var object = JSONObject()
        for (name, value) in pairs where object[name] == nil { object[name] = .string(value) }
        return object
    }

    private func form(_ http: HTTPRequest) throws -> JSONObject {
        guard http.method == "POST", !http.body.isEmpty else { return JSONObject() }
        return try RequestBody.members(http, as: .fields)
    }

    private func cookies(_ http: HTTPRequest) -> [(String, String)] {
        (http.header("Cookie") ?? "").split(separator: ";").compactMap { part in
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { return nil }
            return (String(sides[0].drop { $0 == " " }), String(sides[1]))
        }
    }
}
