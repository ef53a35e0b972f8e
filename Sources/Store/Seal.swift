import CCrypto

/// Keeps a text from those who can read the database: AES-256-GCM under a key that is made of the master key, which is
/// not in there.
public struct Seal: Sendable {
    private let key: [UInt8]
    private static let nonceSize = 12
    private static let tagSize = 16

    public enum Purpose: String, Sendable {
        case mail = "hermes: what mails say, 1"
        case secondFactor = "hermes: second factors, 1"
        case sessionToken = "hermes: tokens of sessions, 1"
    }

    /// What was sealed for one purpose cannot be opened for another.
    public init(_ purpose: Purpose, masterKey: String) {
        key = Digest.hmacSHA256(purpose.rawValue, key: Array(masterKey.utf8))
    }

    /// - Parameter context: what it belongs to; it can be opened with the same only.
    public func seal(_ plain: [UInt8], for context: String) -> [UInt8] {
        let nonce = Random.bytes(Self.nonceSize)
        var sealed = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: Self.tagSize)
        let isDone = withCipher { cipher in
            let aad = Array(context.utf8)
            var count: Int32 = 0
            return EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1
                && EVP_EncryptUpdate(cipher, nil, &count, aad, Int32(aad.count)) == 1
                && EVP_EncryptUpdate(cipher, &sealed, &count, plain, Int32(plain.count)) == 1
                && EVP_EncryptFinal_ex(cipher, nil, &count) == 1
                && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        }
        precondition(isDone, "OpenSSL does not encrypt")
        return nonce + sealed + tag
    }

    /// nil where it was sealed with another key or for something else, or was changed since.
    public func open(_ box: [UInt8], for context: String) -> [UInt8]? {
        guard box.count >= Self.nonceSize + Self.tagSize else { return nil }
        let nonce = Array(box.prefix(Self.nonceSize))
        let sealed = Array(box.dropFirst(Self.nonceSize).dropLast(Self.tagSize))
        var tag = Array(box.suffix(Self.tagSize))
        var plain = [UInt8](repeating: 0, count: sealed.count)
        let isDone = withCipher { cipher in
            let aad = Array(context.utf8)
            var count: Int32 = 0
            return EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1
                && EVP_DecryptUpdate(cipher, nil, &count, aad, Int32(aad.count)) == 1
                && EVP_DecryptUpdate(cipher, &plain, &count, sealed, Int32(sealed.count)) == 1
                && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
                && EVP_DecryptFinal_ex(cipher, nil, &count) == 1
        }
        return isDone ? plain : nil
    }

    private func withCipher(_ body: (OpaquePointer) -> Bool) -> Bool {
        guard let cipher = EVP_CIPHER_CTX_new() else { return false }
        defer { EVP_CIPHER_CTX_free(cipher) }
        return body(cipher)
    }
}
