import Options
import Testing
import Wire

@Suite struct TrustProxyTests {
    private let proxy = Address("10.0.0.1")!
    private let client = Address("203.0.113.9")!
    private let header = ["198.51.100.1, 203.0.113.9"]

    @Test func onlyTrustedProxiesAreBelieved() throws {
        #expect(TrustProxy.none.client(peer: proxy, forwardedFor: header) == proxy)
        #expect(TrustProxy.hops(1).client(peer: proxy, forwardedFor: header) == client)
        #expect(TrustProxy.all.client(peer: proxy, forwardedFor: header) == Address("198.51.100.1"))
        let named = try ServerOptions(flags: [("trust-proxy", "loopback,uniquelocal")]).trustProxy
        #expect(named.client(peer: proxy, forwardedFor: header) == client)
        #expect(named.client(peer: client, forwardedFor: header) == client)
        #expect(TrustProxy.all.client(peer: proxy, forwardedFor: ["nonsense"]) == proxy)
        #expect(TrustProxy.hops(1).client(peer: proxy, forwardedFor: ["[2001:db8::1]:80"]) == Address("2001:db8::1"))
        #expect(TrustProxy.hops(1).client(peer: proxy, forwardedFor: ["203.0.113.9:4711"]) == client)
        #expect(TrustProxy.hops(1).client(peer: proxy, forwardedFor: []) == proxy)
    }

    /// A proxy may add its line behind the client's own instead of lengthening it: what the client wrote is no proof.
    @Test func aLineOfTheClientsOwnForgesNothing() {
        let lines = ["127.0.0.1", "203.0.113.9"]
        #expect(TrustProxy.hops(1).client(peer: proxy, forwardedFor: lines) == client)
        #expect(TrustProxy.hops(2).client(peer: proxy, forwardedFor: ["127.0.0.1", "203.0.113.9, 10.0.0.2"]) == client)
    }

    @Test(
        arguments: [
            ("1", .hops(1)), ("2", .hops(2)), ("0", .none), ("true", .all), ("", .all), ("false", .none), ("no", .none),
        ] as [(String, TrustProxy)])
    func aNumberIsANumberOfProxiesHoweverItIsTold(_ text: String, _ meant: TrustProxy) throws {
        #expect(try ServerOptions(flags: [("trust-proxy", text)]).trustProxy == meant)
        #expect(try ServerOptions(environment: ["HERMES_TRUST_PROXY": text]).trustProxy == meant)
    }

    @Test func inAFileToo() throws {
        func told(_ value: JSON) throws -> TrustProxy {
            try ServerOptions(file: .object(JSONObject([("trustProxy", value)]))).trustProxy
        }
        #expect(try told(1) == .hops(1))
        #expect(try told(true) == .all)
        #expect(try told(["10.0.0.0/8"]) == .addresses(AddressSet(["10.0.0.0/8"])))
        #expect(throws: OptionFault.self) { try told(-1) }
    }
}
