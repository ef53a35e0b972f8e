import Postgres
import Store
import Wire

/// A request to the API after its keys have been read: what a route needs, and nothing of HTTP.
struct Request {
    var method: String
    /// The path behind the mount path, split at `/`, decoded.
    var path: [String]
    /// Of the URL; for an overridden method, of the body.
    var parameters: [(key: String, value: JSON)]
    var body: JSONObject
    var viewer: Viewer
    var caller: Caller
    /// The transaction of the batch that this request is a part of.
    var transaction: Transaction?
}

/// What a request says of who sends it, before any of it is looked up.
struct Caller {
    var key: Viewer.Key = .none
    var sessionToken: String?
    var installationId: String?
    /// `X-Parse-Request-Id`.
    var requestId: String?
}
