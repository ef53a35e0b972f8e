import Options
import Store
import Wire

/// A request to the API after its keys have been read: what a route needs, and nothing of HTTP.
struct Request {
    var method: String
    /// The path behind the mount path, split at `/`, decoded.
    var path: [String]
    /// The segments of the path that stand for something: the class, the object's id.
    var arguments: [String] = []
    /// Of the URL; for an overridden method, of the body.
    var parameters: [(key: String, value: JSON)]
    var body: JSONObject
    var caller: Caller
    /// Who asks, and where what is asked for runs.
    var operation: Operation
    /// The next piece of a body that is taken piece by piece; nil at its end. nil itself for every other route.
    var nextChunk: (() async throws -> [UInt8]?)?

    var viewer: Viewer { operation.viewer }
    /// Of a route whose path ends in one.
    var objectId: String { arguments.last ?? "" }
}

/// What a request says of who sends it, before any of it is looked up.
struct Caller {
    var key: Viewer.Key = .none
    var sessionToken: String?
    var installationId: String?
    /// `X-Parse-Cloud-Context` or `_context`: what the caller hands to hooks.
    var context = JSONObject()
    /// `X-Parse-Request-Id`.
    var requestId: String?
    /// Where the request comes from: the peer, or whom a proxy that is believed names.
    var client = ""
    /// The same as a number, worked out where a limit asks for it.
    var address: Address? { Address(client) }
}
