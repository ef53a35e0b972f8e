import CCrypto

/// Digests by OpenSSL.
public enum Digest {
    /// SHA-256 of a text's UTF-8, as 64 hexadecimal digits.
    public static func sha256(_ text: String) -> String {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var size: UInt32 = 0
        let bytes = Array(text.utf8)
        let result = EVP_Digest(bytes, bytes.count, &digest, &size, EVP_sha256(), nil)
        // Without digests no secret can be kept: better to stop than to store what anybody could read.
        precondition(result == 1, "OpenSSL computes no SHA-256")
        return hexadecimal(Array(digest.prefix(Int(size))))
    }

    /// HMAC-SHA256 (RFC 2104): 32 bytes.
    public static func hmacSHA256(_ message: String, key: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var size: UInt32 = 0
        let bytes = Array(message.utf8)
        let result = HMAC(EVP_sha256(), key, Int32(clamping: key.count), bytes, bytes.count, &digest, &size)
        precondition(result != nil, "OpenSSL computes no HMAC-SHA256")
        return Array(digest.prefix(Int(size)))
    }

    /// HMAC-SHA1 (RFC 2104): 20 bytes. For one-time passwords alone, which authenticators count so.
    public static func hmacSHA1(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var size: UInt32 = 0
        let result = HMAC(EVP_sha1(), key, Int32(clamping: key.count), message, message.count, &digest, &size)
        precondition(result != nil, "OpenSSL computes no HMAC-SHA1")
        return Array(digest.prefix(Int(size)))
    }

    public static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
