import Core
import HTTP
import Wire

extension HTTPServer {
    /// What the HTTP room refuses before a route sees it (413, 431, 400…) looks as an answer of the API does: a browser
    /// shows a page nothing of it without the CORS headers.
    func answerRefusals(_ cors: CORS) {
        refusalAnswer = { request, refusal in
            var headers = cors.headers(origin: cors.asksForOrigin ? request.header("Origin") : nil)
            headers.append(("Content-Type", "application/json; charset=utf-8"))
            let json: JSON = ["error": .string(refusal.message)]
            return (headers, json.bytes)
        }
    }
}
