import CCrypto

/// Proves to a webhook who calls it, and when: `t=1767225600,v1=5257a8…`.
///
/// `v1` is the HMAC-SHA256 (RFC 2104), in hexadecimal, of the time, a dot and the body, under the option `webhookKey`.
/// A webhook that computes the same and finds the time recent knows that the call comes from this server, unaltered,
/// and is none that was recorded and sent again.
struct WebhookSignature {
    let value: String

    /// - Parameter time: seconds since 1970.
    init(_ body: [UInt8], key: String, time: Int) {
        let signed = Array("\(time).".utf8) + body
        let key = Array(key.utf8)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var size: UInt32 = 0
        let result = HMAC(EVP_sha256(), key, Int32(clamping: key.count), signed, signed.count, &digest, &size)
        // Better not to call than to call with a signature that anybody could make.
        precondition(result != nil, "OpenSSL computes no HMAC-SHA256")
        let digits = Array("0123456789abcdef".utf8)
        let hexadecimal = digest.prefix(Int(size)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        value = "t=\(time),v1=" + String(decoding: hexadecimal, as: UTF8.self)
    }
}
