import Postgres
import Wire

/// Requests with an id that were served already are refused (`idempotencyOptions`).
extension API {
    private static let remember = Statement(
        """
        INSERT INTO "_Idempotency" AS seen ("reqId", "expire")
        VALUES ($1::text, now() + $2::double precision * interval '1 second')
        ON CONFLICT ("reqId") DO UPDATE SET "expire" = excluded."expire" WHERE seen."expire" < now()
        RETURNING 1
        """)

    private static let forget = Statement("DELETE FROM \"_Idempotency\" WHERE \"expire\" < now()")

    /// Deletes the ids whose time is over.
    func forgetOldRequests() async throws {
        guard !options.idempotencyOptions.paths.isEmpty else { return }
        _ = try await store.database.write(API.forget, [])
    }

    /// Throws 159 for a POST or PUT whose id has come before, whatever came of it.
    func checkIdempotency(_ request: Request) async throws {
        guard let id = request.caller.requestId, !id.isEmpty, request.method == "POST" || request.method == "PUT" else {
            return
        }
        let paths = options.idempotencyOptions.paths
        guard !paths.isEmpty else { return }
        let path = request.path.joined(separator: "/")
        // As in Parse Server, `classes/Order` stands for the orders one by one too.
        guard paths.contains(where: { $0.matchesStart(of: path) }) else { return }
        guard id.utf8.count <= 255 else { throw ParseError(102, "A request id has at most 255 bytes.") }
        let rows = try await store.database.write(
            API.remember, [.text(id), .double(options.idempotencyOptions.ttl)])
        guard rows.count > 0 else { throw ParseError(159, "Duplicate request") }
    }
}
