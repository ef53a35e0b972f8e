import HTTP
import Postgres
import Schema
import Wire

/// What a route answers.
struct Answer {
    enum Body {
        /// Written when it is sent: behind the commit of the batch that it is a part of.
        case json((inout JSONWriter) -> Void)
        /// Bytes, a stream, or another protocol.
        case content(HTTPAnswer.Content)
    }

    var status = 200
    var headers: [(String, String)] = []
    var body: Body

    init(status: Int = 200, headers: [(String, String)] = [], content: HTTPAnswer.Content) {
        self.status = status
        self.headers = headers
        body = .content(content)
    }

    init(status: Int = 200, headers: [(String, String)] = [], body: [UInt8]) {
        self.init(status: status, headers: headers, content: .whole(body))
    }

    init(status: Int = 200, json: JSON) { self.init(status: status, body: json.bytes) }

    /// What `write` writes.
    init(status: Int = 200, headers: [(String, String)] = [], _ write: @escaping (inout JSONWriter) -> Void) {
        self.status = status
        self.headers = headers
        body = .json(write)
    }

    static var empty: Answer { Answer(json: [:]) }

    /// The whole body; nil where it comes piece by piece.
    var bytes: [UInt8]? {
        switch body {
        case .content(.whole(let bytes)): return bytes
        case .json(let write):
            var out = JSONWriter()
            write(&out)
            return out.finish()
        case .content: return nil
        }
    }

    /// Sends it; answers how many bytes the body has, as far as that is known.
    func send(_ responder: HTTPResponder) async -> Int {
        if let bytes {
            responder.respond(status: status, headers: headers, body: bytes)
            return bytes.count
        }
        guard case .content(let content) = body else { return 0 }
        await responder.send(HTTPAnswer(status: status, headers: headers, content))
        if case .stream(let length?, _) = content { return length }
        return 0
    }
}

/// Errors become HTTP here, and nowhere else.
struct ErrorAnswer {
    /// Knows which fields an index is of.
    let schema: SchemaCache

    func answer(_ error: any Error) -> (Answer, isDefect: Bool) {
        let (error, isDefect) = parseError(error)
        var members = JSONObject()
        if let code = error.code { members["code"] = .number(Double(code)) }
        members["error"] = error.thrown ?? .string(error.message)
        var answer = Answer(status: status(error), json: .object(members))
        if let seconds = error.retryAfter { answer.headers.append(("Retry-After", "\(seconds)")) }
        return (answer, isDefect)
    }

    private func status(_ error: ParseError) -> Int {
        if let status = error.status { return status }
        switch error.code {
        case 1: return 500
        case 101: return 404
        default: return 400
        }
    }

    /// What a client is told; PostgreSQL's own words never.
    func parseError(_ error: any Error) -> (ParseError, isDefect: Bool) {
        switch error {
        case let error as ParseError: return (error, error.code == 1)
        case let error as PostgresError: return map(error)
        case is CancellationError:
            return (ParseError(1, "The request was given up.", status: 503, retryAfter: 1), false)
        default: return (ParseError(1, "An internal server error occurred"), true)
        }
    }

    /// The fields of the index that stood in the way; their values stay unsaid.
    private func fields(_ error: PostgresError) -> [String]? {
        guard let table = error.table, let index = error.constraint else { return nil }
        return schema.fields(ofIndex: index, table: table)
    }

    private func map(_ error: PostgresError) -> (ParseError, Bool) {
        switch error.kind {
        case .parameter:
            return (ParseError(111, "Text cannot hold the character U+0000, nor a request more than 1 GB."), false)
        case .resultTooLarge:
            return (
                ParseError(
                    102, "The answer would be too large. Ask for fewer objects at once (limit) or fewer fields (keys)."),
                false
            )
        case .noRoom:
            return (
                ParseError(
                    1, "The server holds as many large answers as it can. Try again in a moment.", status: 503,
                    retryAfter: 1), false
            )
        case .server: break
        default: return (unreachable(error), false)
        }
        switch error.sqlState {
        case "23505":
            let fields = fields(error).map { " (\($0.joined(separator: ", ")))" } ?? ""
            return (ParseError(137, "A duplicate value for a field with unique values was provided\(fields)"), false)
        case "2201B": return (ParseError(102, "The regular expression cannot be read."), false)
        case "HP111": return (ParseError(111, "schema mismatch: \(error.message)"), false)
        case "22003", "22P03", "22008":
            return (ParseError(111, "A number or a date is out of range."), false)
        case "22021", "22P05": return (ParseError(111, "Text cannot hold the character U+0000."), false)
        case "57014":
            return (
                ParseError(102, "The query took too long and was stopped. Ask for less, or add an index."), false
            )
        case "54000" where error.constraint != nil:
            let fields = fields(error)?.joined(separator: ", ") ?? "a field"
            return (
                ParseError(111, "A value of \(fields) is too long for its index, which takes about 2,700 bytes."), false
            )
        case "54000", "54001", "54011", "54023", "53400", "2202E":
            return (ParseError(102, "The query is too large. Ask for less at once."), false)
        case "40001", "40P01", "55P03":
            return (
                ParseError(
                    1, "Others are changing the same objects. Try again in a moment.", status: 503, retryAfter: 1),
                false
            )
        case "42P01", "42703", "0A000", "26000":
            // The schema changed under the statement; where it was changed by hand, that stays so.
            DatabaseTroubles.shared.note(error)
            return (
                ParseError(1, "The schema has just changed. Try again.", status: 503, retryAfter: 1), false
            )
        default:
            if ["08", "57", "53"].contains(error.sqlState.prefix(2)) || error.isReadOnlyServer {
                return (unreachable(error), false)
            }
            return (ParseError(1, "An internal server error occurred"), true)
        }
    }

    /// There may be another server at the same address soon, or room on its disk.
    private func unreachable(_ error: PostgresError) -> ParseError {
        DatabaseTroubles.shared.note(error)
        return ParseError(
            1, "The database cannot be reached now. Try again in a moment.", status: 503, retryAfter: 1)
    }
}
