import Testing

@testable import Cloud

@Suite struct WebhookSignatureTests {
    /// Made with: printf '1767225600.{"a":1}' | openssl dgst -sha256 -hmac secreto
    @Test func itIsTheHMACOfTimeAndBody() {
        let signature = WebhookSignature(Array(#"{"a":1}"#.utf8), key: "secreto", time: 1_767_225_600)
        #expect(signature.value == "t=1767225600,v1=c4e0d20c02e13a074af9f1c4dbfb702b0ffdeb9db4228cab06a78714afb2e3dc")
    }

    @Test func everythingInItCounts() {
        let body = Array("{}".utf8)
        let one = WebhookSignature(body, key: "k", time: 1).value
        #expect(one != WebhookSignature(body, key: "l", time: 1).value)
        #expect(one != WebhookSignature(body + [32], key: "k", time: 1).value)
        #expect(one.dropFirst(4) != WebhookSignature(body, key: "k", time: 2).value.dropFirst(4))
        // Time and body do not run into one another.
        #expect(
            WebhookSignature(Array("23".utf8), key: "k", time: 1).value.dropFirst(4)
                != WebhookSignature(Array("3".utf8), key: "k", time: 12).value.dropFirst(5))
    }
}
