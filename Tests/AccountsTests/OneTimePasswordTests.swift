import Testing

@testable import Accounts

@Suite struct OneTimePasswordTests {
    /// RFC 6238, appendix B: the secret is the ASCII text 12345678901234567890.
    @Test(
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)])
    func passwordsAreTheStandards(_ seconds: Int64, _ password: String) throws {
        let secret = try #require(OneTimePassword(secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", digits: 8))
        #expect(secret.password(at: seconds / 30) == password)
        let short = try #require(OneTimePassword(secret: "gezd gnbv gy3t qojq gezd gnbv gy3t qojq====", digits: 6))
        #expect(short.password(at: seconds / 30) == password.suffix(6))
    }

    @Test func aPasswordHoldsOneStepAroundItsOwn() throws {
        let secret = try #require(OneTimePassword(secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", digits: 6))
        let password = secret.password(at: 1000)
        for (seconds, step) in [
            (29_969, nil), (29_970, 1000), (30_000, 1000), (30_059, 1000), (30_060, nil),
        ] as [(Int64, Int64?)] { #expect(secret.step(of: password, at: seconds) == step, "\(seconds)") }
    }

    @Test(arguments: ["", "===", "01890189", "ñandú", "A"]) func whatIsNoBase32IsNoSecret(_ text: String) {
        #expect(OneTimePassword(secret: text, digits: 6) == nil)
    }
}
