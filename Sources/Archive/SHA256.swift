import CCrypto

/// SHA-256 of bytes that come piece by piece.
final class SHA256 {
    private let context: OpaquePointer

    init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL computes no SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        EVP_DigestUpdate(context, start, bytes.count)
    }

    /// The digest as 64 hexadecimal digits. Call it once.
    func finish() -> String {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var size: UInt32 = 0
        EVP_DigestFinal_ex(context, &digest, &size)
        let digits = Array("0123456789abcdef".utf8)
        let text = digest.prefix(Int(size)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    static func of(_ bytes: [UInt8]) -> String {
        let digest = SHA256()
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }
}
