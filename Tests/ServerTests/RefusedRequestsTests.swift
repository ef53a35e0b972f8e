import Core
import Options
import TestSupport
import Testing

@testable import Server

/// What the HTTP room refuses before a route sees it.
@Suite struct RefusedRequestsTests {
    @Test func refusalsCarryCORSHeadersAndAreCounted() async throws {
        try await withServer { options in
            options.allowOrigin = ["https://one.example", "https://two.example"]
            options.maxUploadSize = ByteCount(1000)
        } _: { server in
            let port = server.nodes[0].port
            let refused = Metrics.shared.counter(
                "hermes_requests_total", help: "Requests answered, by class of status.", labels: ["status": "4xx"])
            let before = refused.value
            let answers = try await blocking {
                let origin = "Origin: https://two.example"
                let tooLarge = RawConnection(port: port)
                tooLarge.request(
                    "POST", "/parse/classes/Note", headers: [origin], body: String(repeating: "x", count: 1001))
                let longHead = RawConnection(port: port)
                longHead.request(
                    "GET", "/parse/classes/Note", headers: [origin, "X-Long: \(String(repeating: "x", count: 13_000))"])
                return [tooLarge.answer(), longHead.answer()]
            }
            for (answer, status) in zip(answers, [413, 431]) {
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
                #expect(answer.contains("Access-Control-Allow-Origin: https://two.example\r\n"))
                #expect(answer.contains(#"{"error":"The request's "#))
            }
            // Other tests count too.
            #expect(refused.value >= before + 2)
        }
    }
}
