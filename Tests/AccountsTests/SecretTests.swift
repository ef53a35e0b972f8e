import Accounts
import Testing

@Suite struct SecretTests {
    @Test(
        arguments: [
            ("secret", "secret", true), ("Secret", "secret", false), ("secre", "secret", false),
            ("secrets", "secret", false), ("", "secret", false), ("ñandú", "ñandú", true), ("", "", false),
            ("", nil, false), ("x", nil, false),
        ] as [(String, String?, Bool)])
    func aSecretEqualsItselfAlone(_ given: String, _ secret: String?, _ matches: Bool) {
        #expect(Secret.matches(given, secret) == matches)
    }

    /// Texts that Swift takes for equal may differ in their bytes: for a secret those count.
    @Test func bytesCountNotLetters() {
        #expect(!Secret.matches("e\u{301}", "é"))
    }
}
