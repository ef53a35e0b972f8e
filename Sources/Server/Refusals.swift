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

extension Front {
    /// Counts and logs what was answered without it.
    func refused(_ request: HTTPRequest, _ refusal: HTTPRefusal, bytes: Int) {
        count(refusal.status)
        Log.shared.info(
            "request refused",
            [
                "id": .text(request.id), "method": .text(request.method), "path": .text(request.path),
                "status": .int(refusal.status), "bytes": .int(bytes), "client": .text(request.remoteAddress.text),
                "reason": .text(refusal.message),
            ])
    }
}
