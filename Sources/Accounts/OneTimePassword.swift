import Store

/// Time-based one-time passwords, RFC 6238, as authenticator programs make them: HMAC-SHA1, 30 seconds.
struct OneTimePassword: Sendable {
    /// Seconds that one holds.
    static let period: Int64 = 30

    let key: [UInt8]
    let digits: Int

    /// - Parameter secret: base 32 (RFC 4648), whatever the case, with or without padding and spaces.
    init?(secret: String, digits: Int) {
        var (bits, count) = (UInt32(0), 0)
        var key: [UInt8] = []
        for character in secret.utf8 where character != UInt8(ascii: " ") && character != UInt8(ascii: "=") {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
            default: return nil
            }
            (bits, count) = (bits << 5 | UInt32(value), count + 5)
            guard count >= 8 else { continue }
            count -= 8
            key.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        guard !key.isEmpty else { return nil }
        self.key = key
        self.digits = digits
    }

    /// The password of a step: a whole number of periods since 1970.
    func password(at step: Int64) -> String {
        let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * Int64($0))) }
        let digest = Digest.hmacSHA1(counter, key: key)
        let offset = Int(digest[digest.count - 1] & 0x0f)
        let number = digest[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let text = String(number % (0..<digits).reduce(UInt32(1)) { power, _ in power * 10 })
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    /// The step that a password is of: the one of `seconds` since 1970, or one beside it, since clocks differ and people
    /// type slowly. nil: it is of none.
    func step(of password: String, at seconds: Int64) -> Int64? {
        let now = seconds / OneTimePassword.period
        // All are looked at, so that the time tells nothing.
        return [now, now - 1, now + 1].filter { Secret.matches(password, self.password(at: $0)) }.first
    }
}
