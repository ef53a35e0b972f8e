import CCrypto

/// New object ids: letters and digits from a cryptographic source.
public enum ObjectIdentifiers {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    public static func make(_ size: Int = 10) -> String {
        var id: [UInt8] = []
        id.reserveCapacity(size)
        while id.count < size {
            // Bytes of 248 and above would make some letters likelier than others.
            for byte in Random.bytes(size + 6) where byte < 248 && id.count < size {
                id.append(letters[Int(byte) % letters.count])
            }
        }
        return String(decoding: id, as: UTF8.self)
    }
}

/// OpenSSL's cryptographic random numbers.
public enum Random {
    public static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let result = RAND_bytes(buffer.baseAddress, Int32(count))
            // Without random numbers there are no secrets: better to stop than to hand out guessable ones.
            precondition(result == 1, "the system gives no random numbers")
            filled = count
        }
    }

    /// `count` bytes as hexadecimal digits.
    public static func hexadecimal(_ count: Int) -> String { Digest.hexadecimal(bytes(count)) }
}
