import HTTP
import Options

extension TrustProxy {
    /// Where a request comes from, as far as the proxies before the server are believed.
    func client(of request: HTTPRequest) -> Address? {
        guard let peer = Address(request.remoteAddress.text) else { return nil }
        guard self != .none else { return peer }
        let lines = request.headers.lazy.filter { $0.name.lowercased() == "x-forwarded-for" }.map(\.value)
        return client(peer: peer, forwardedFor: Array(lines))
    }
}
