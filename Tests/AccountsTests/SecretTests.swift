import Testing

@testable import Accounts

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

    /// Whatever an answer took, it ends with a step.
    @Test(arguments: [(0, 100), (2, 98), (15, 85), (100, 100), (101, 99), (250, 50)] as [(UInt64, UInt64)])
    func anAnswerEndsWithAStep(_ milliseconds: UInt64, _ rest: UInt64) {
        #expect(EvenTime.rest(after: milliseconds * 1_000_000) == rest * 1_000_000)
    }
}
